package probe

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/weir-bench/weir/record"
)

// Lines that only these load generators print.
//
//	Running 30s test @ http://10.0.0.2:8080/
//	starting benchmark...
//	transaction type: <builtin: select only>
//	DNS Performance Testing Tool
//	"test","rps","avg_latency_ms","min_latency_ms",…
var (
	wrkHeadRE    = regexp.MustCompile(`(?m)^Running \d+[smh] test @ https?://\S+$`)
	h2loadHeadRE = regexp.MustCompile(`(?m)^starting benchmark\.\.\.$`)
	pgHeadRE     = regexp.MustCompile(`(?m)^transaction type: .*$`)
	dnsHeadRE    = regexp.MustCompile(`(?m)^DNS Performance Testing Tool$`)
	redisHeadRE  = regexp.MustCompile(`(?m)^"test","rps","avg_latency_ms",`)

	wrkLoadRE   = regexp.MustCompile(`(?m)^  \d+ threads and (\d{1,9}) connections$`)
	wrkEndRE    = regexp.MustCompile(`(?m)^Transfer/sec: +\S+B$`)
	wrkPacedRE  = regexp.MustCompile(`(?m)^  Latency Distribution \(HdrHistogram`)
	pgTypeRE    = regexp.MustCompile(`(?m)^transaction type: <builtin: (select only|TPC-B \(sort of\))>$`)
	pgClientsRE = regexp.MustCompile(`(?m)^number of clients: (\d{1,9})$`)
)

// unknownLoad bounds the requests in flight where an output does not.
const unknownLoad = 1 << 20

// loadOf is a statement of a load generator, whose output does not name the server.
func loadOf(tool, kind string, p Probe, out []byte) (Statement, error) {
	r := statement(kind, p, "tcp")
	r.Info.About, r.Info.Method = "", "What the load generator states: answers per second and response times. Its output does not say what served them."
	m, err := p.Parse(Output{Client: out})
	if err != nil { // which begins with the tool, as Read's errors do
		return r, errors.New(strings.TrimPrefix(err.Error(), tool+": "))
	}
	m.Observed = record.Observed{}
	r.Measured = m
	return r, nil
}

// readWrk reads wrk's summary: without --latency, it has no percentiles.
func readWrk(b []byte) ([]Statement, error) {
	return each(sections(b, wrkHeadRE), func(b []byte) (Statement, error) {
		load := wrkLoadRE.FindSubmatch(b)
		switch {
		case wrkPacedRE.Match(b):
			return Statement{}, errors.New("this is wrk2, which sends at a fixed rate: no probe of weir measures that")
		case load == nil || !wrkEndRE.Match(b):
			return Statement{}, errors.New("cut off")
		}
		r, err := loadOf("wrk", "wrk", HTTP{}, b)
		r.Levels["inflight"] = string(load[1])
		return r, err
	})
}

func readH2load(b []byte) ([]Statement, error) {
	return each(sections(b, h2loadHeadRE), func(b []byte) (Statement, error) {
		return loadOf("h2load", "h2load", HTTP{H2: true, InFlight: unknownLoad}, b)
	})
}

// readPGBench reads the two built-in kinds of transactions that weir runs, of pgbench 14 and later, which count the connections' time apart.
func readPGBench(b []byte) ([]Statement, error) {
	return each(sections(b, pgHeadRE), func(b []byte) (Statement, error) {
		kind, clients := pgTypeRE.FindSubmatch(b), pgClientsRE.FindSubmatch(b)
		if kind == nil || clients == nil {
			return Statement{}, fmt.Errorf("%.80q: weir knows pgbench's built-in select-only and TPC-B-like transactions", pgHeadRE.Find(b))
		}
		p, name := PGBench{Connections: int(digits(clients[1])), Write: kind[1][0] == 'T'}, "pgbench-select"
		if p.Write {
			name = "pgbench-tpcb"
		}
		r, err := loadOf("pgbench", name, p, b)
		r.Levels["connections"] = string(clients[1])
		return r, err
	})
}

func readDNSPerf(b []byte) ([]Statement, error) {
	return each(sections(b, dnsHeadRE), func(b []byte) (Statement, error) {
		return loadOf("dnsperf", "dnsperf", DNSPerf{InFlight: unknownLoad}, b)
	})
}

// readRedis reads the rows GET and SET of redis-benchmark --csv, which does not say how many requests a row is of: it has no percentiles
// beyond the median.
func readRedis(b []byte) (out []Statement, _ error) {
	for _, b := range sections(b, redisHeadRE) {
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			return nil, err
		}
		for _, row := range rows[1:] {
			if len(row) != len(redisColumns) || row[0] != "GET" && row[0] != "SET" {
				continue
			}
			p := Redis{Set: row[0] == "SET"}
			r := statement("redis-"+map[bool]string{true: "set", false: "get"}[p.Set], p, "tcp")
			f := &fields{text: map[string]string{}}
			for i, column := range redisColumns {
				f.text[column] = row[i]
			}
			r.add(record.Transactions, "1/s", f.number("rps"))
			r.add(record.RTT, "s", f.number("p50_latency_ms")/1e3)
			r.add(record.RTTMean, "s", f.number("avg_latency_ms")/1e3)
			if f.err != nil {
				return nil, f.err
			}
			out = append(out, r)
		}
	}
	if out == nil {
		return nil, errors.New("no row GET or SET: other commands are no probes of weir, or it was interrupted")
	}
	return out, nil
}
