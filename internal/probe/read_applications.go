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
	redisHeadRE  = regexp.MustCompile(`(?m)^"test","rps","avg_latency_ms",|^(?:.*\r)?(?:====== [A-Z].* ======$|[A-Z].*: \d+\.\d+ requests per second, p50=)`)

	redisTestRE    = regexp.MustCompile(`====== (.*) ======\n`)
	redisQuietRE   = regexp.MustCompile(`^(?:.*\r)?([A-Z].*): (\d+\.\d+) requests per second, p50=(\d+\.\d+) msec *\n`)
	redisClientsRE = regexp.MustCompile(`(?m)^  (\d+) parallel clients$`)
	redisSizeRE    = regexp.MustCompile(`(?m)^  (\d+) bytes payload$`)
	redisRateRE    = regexp.MustCompile(`(?m)^  throughput summary: (\d+\.\d+) requests per second$`)
	redisTimesRE   = regexp.MustCompile(`(?m)^ +avg +min +p50 +p95 +p99 +max\n +(\d+\.\d+) +\d+\.\d+ +(\d+\.\d+) `)

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
		p := HTTP{}
		if m := wrkCount.FindSubmatch(b); m != nil { // heads and bodies: the size of the body alone is not stated
			p.Size = int(digits(m[3]) * prefixed(string(m[4]), 1024) / max(1, digits(m[1])))
		}
		r, err := loadOf("wrk", "wrk", p, b)
		r.Levels["inflight"] = string(load[1])
		return r, err
	})
}

func readH2load(b []byte) ([]Statement, error) {
	return each(sections(b, h2loadHeadRE), func(b []byte) (Statement, error) {
		p, count, data := HTTP{H2: true, InFlight: unknownLoad}, h2loadCount.FindSubmatch(b), h2loadData.FindSubmatch(b)
		if count == nil || data == nil || digits(count[1]) == 0 {
			return loadOf("h2load", "h2load", p, b)
		}
		size := digits(data[1]) / digits(count[1]) // the last answers can have bodies that are cut off
		p.Size = int(size)
		r, err := loadOf("h2load", "h2load", p, b)
		if size == float64(p.Size) {
			r.Levels["size"] = whole(size)
		}
		return r, err
	})
}

// readPGBench reads the two built-in kinds of transactions that weir runs, from pgbench 14 and later, which counts the
// time of connecting separately.
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

// readRedis reads GET and SET of redis-benchmark 6.2 or later: the rows of --csv, which do not say how many requests
// they cover and so have no percentiles beyond the median, or the same numbers of the text, which -q shortens. Progress
// ends in a carriage return.
func readRedis(b []byte) (out []Statement, _ error) {
	for _, b := range sections(b, redisHeadRE) {
		some, err := readRedisText(b)
		if b[0] == '"' {
			some, err = readRedisCSV(b)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	if out == nil {
		return nil, errors.New("no result of GET or SET: no probe of weir measures other commands, or the tool was interrupted")
	}
	return out, nil
}

// redisStatement holds a rate in 1/s and times in ms; no mean is 0.
func redisStatement(command string, rate, p50, mean float64) Statement {
	p := Redis{Set: command == "SET"}
	r := statement("redis-"+strings.ToLower(command), p, "tcp")
	r.add(record.Transactions, "1/s", rate)
	r.add(record.RTT, "s", p50/1e3)
	if mean > 0 {
		r.add(record.RTTMean, "s", mean/1e3)
	}
	return r
}

func readRedisCSV(b []byte) (out []Statement, _ error) {
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, row := range rows[1:] {
		if len(row) != len(redisColumns) || row[0] != "GET" && row[0] != "SET" {
			continue
		}
		f := &fields{text: map[string]string{}}
		for i, column := range redisColumns {
			f.text[column] = row[i]
		}
		out = append(out, redisStatement(row[0], f.number("rps"), f.number("p50_latency_ms"), f.number("avg_latency_ms")))
		if f.err != nil {
			return nil, f.err
		}
	}
	return out, nil
}

// readRedisText reads the text of one command.
func readRedisText(b []byte) ([]Statement, error) {
	if m := redisQuietRE.FindSubmatch(b); m != nil {
		if command := string(m[1]); command == "GET" || command == "SET" {
			return []Statement{redisStatement(command, digits(m[2]), digits(m[3]), 0)}, nil
		}
		return nil, nil
	}
	command := string(submatch(redisTestRE, b))
	rate, times := redisRateRE.FindSubmatch(b), redisTimesRE.FindSubmatch(b)
	switch {
	case command != "GET" && command != "SET":
		return nil, nil
	case rate == nil || times == nil:
		return nil, fmt.Errorf("%s has no summary: cut off, or of a version before 6.2", command)
	}
	r := redisStatement(command, digits(rate[1]), digits(times[2]), digits(times[1]))
	if m := submatch(redisClientsRE, b); m != nil {
		r.Levels["connections"] = string(m)
	}
	if m := submatch(redisSizeRE, b); m != nil {
		r.Levels["size"] = string(m)
	}
	return []Statement{r}, nil
}
