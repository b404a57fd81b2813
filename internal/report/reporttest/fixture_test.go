package reporttest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// The fixture is synthetic: a seeded model of a plausible machine, only to look at reports.
var synthesise = flag.Bool("synthesise", false, "write testdata/results.jsonl again")

// A model holds the medians of one synthetic network.
type model struct {
	tcp, udp, rate, rtt float64 // bit/s, bit/s, packet/s, s
	path, wake          float64 // s, of rtt
	perPacket           float64 // s
	mtu, overhead       string
}

var models = map[string]model{
	"host":          {24.1e9, 9.6e9, 0.92e6, 21e-6, 1.1e-6, 14.5e-6, 1.05e-6, "1500", "0"},
	"bridge":        {22.9e9, 8.1e9, 0.71e6, 26e-6, 4.9e-6, 15.2e-6, 1.38e-6, "1500", "0"},
	"vxlan-overlay": {15.8e9, 4.5e9, 0.43e6, 39e-6, 16e-6, 16.5e-6, 2.31e-6, "1450", "50"},
}

func TestSynthesise(t *testing.T) {
	var b bytes.Buffer
	rnd := rand.New(rand.NewPCG(20240607, 1))
	enc := json.NewEncoder(&b)
	at := time.Date(2024, 6, 7, 9, 0, 0, 0, time.UTC)
	n := 0
	for block := 1; block <= 12; block++ {
		drift := 1 + 0.06*math.Sin(float64(block)/2) // pairing cancels it
		var cells [][2]string
		for _, network := range []string{"host", "bridge", "vxlan-overlay"} {
			for _, probe := range []string{"tcp-stream", "udp-stream", "udp-rate", "udp-rr"} {
				cells = append(cells, [2]string{network, probe})
			}
		}
		rnd.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		for _, c := range cells {
			n++
			r := trial(rnd, n, block, c[0], c[1], drift)
			r.Start, at = at, at.Add(4*time.Second)
			spoil(&r)
			if err := enc.Encode(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if *synthesise {
		if err := os.WriteFile(fixture, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored, b.Bytes()) {
		t.Error(fixture + " is not what this test makes: run it with -synthesise")
	}
}

func trial(rnd *rand.Rand, n, block int, network, probe string, drift float64) record.Result {
	m := models[network]
	about := func(v, sd float64) float64 { return Round(v * drift * math.Exp(sd*rnd.NormFloat64())) }
	r := record.Result{
		Format: record.Format, Trial: fmt.Sprintf("%03d-%s-%s", n, network, probe), Block: block, Status: record.OK, Elapsed: 3.2,
		Config:   map[string]string{"network": network, "probe": probe},
		Observed: map[string]string{"path.mtu": m.mtu, "path.overhead": m.overhead, "tool": "weir 0.1", "tcp.congestion": "cubic"},
	}
	if network == "vxlan-overlay" && block == 9 {
		r.Observed["gro"] = "off"
	} else {
		r.Observed["gro"] = "on"
	}
	add := func(q record.Quantity, unit string, v float64) {
		r.Values = append(r.Values, q.Whole().Value(unit, Round(v)))
	}
	perPacket, unit, packets := about(m.perPacket, 0.03), "s/packet", 0.0
	switch probe {
	case "tcp-stream":
		v := about(m.tcp, 0.03)
		add("throughput", "bit/s", v)
		add("retransmits", "1", float64(rnd.IntN(9)))
		add("packet.size", "byte", 31000+float64(rnd.IntN(3000)))
		packets = v / 8 / 32000
		perPacket *= 14
		add("cpu.per.bit", "s/bit", perPacket*packets/v)
	case "udp-stream", "udp-rate":
		delivered := about(m.rate, 0.03)
		payload := 64.0
		if probe == "udp-stream" {
			delivered, payload = about(m.udp/8/1400, 0.03), 1400
			add("throughput", "bit/s", delivered*8*payload)
			add("packet.rate", "packet/s", delivered)
		} else {
			add("packet.rate", "packet/s", delivered)
			add("throughput", "bit/s", delivered*8*payload)
		}
		received := delivered * (1 + 0.02*rnd.Float64())
		sent := received * (1.02 + 0.6*m.perPacket/2.31e-6*(0.4+0.2*rnd.Float64()))
		add("offered", "packet/s", sent*1.001)
		add("sent", "packet/s", sent)
		add("received", "packet/s", received)
		add("delivered", "packet/s", delivered)
		add("loss", "1", 1-delivered/sent)
		add("loss.socket", "1", 1-delivered/received)
		add("reordered", "1", 0)
		add("jitter", "s", about(4e-6, 0.2))
		packets = delivered
		add("cpu.per.bit", "s/bit", perPacket/8/payload)
	case "udp-rr":
		add("rtt", "s", 0)
		r.Values[0] = responses(rnd, about(m.rtt, 0.02))
		h, _ := hdrhistogram.Decode([]byte(r.Values[0].Hist))
		add("rtt.p99", "s", float64(h.ValueAtQuantile(99))/1e9)
		add("rtt.p999", "s", float64(h.ValueAtQuantile(99.9))/1e9)
		own := rand.New(rand.NewPCG(uint64(n), 2)) // keeps the following numbers unchanged
		path, wake := m.path*drift*math.Exp(0.04*own.NormFloat64()), m.wake*drift*math.Exp(0.03*own.NormFloat64())
		add("rtt.path", "s", path)
		add("rtt.wake", "s", wake)
		add("rtt.app", "s", max(r.Values[0].Value-path-wake, 1e-6))
		add("transactions", "1/s", 0.97/r.Values[0].Value)
		add("loss", "1", 0)
		packets, perPacket, unit = 0.97/r.Values[0].Value, 8*perPacket, "s/transaction"
	}
	add(record.Quantity("cpu.per."+unit[2:]), unit, perPacket)
	busy := perPacket * packets
	add("cpu.busy", "core", busy)
	for i, mode := range []string{"user", "system", "softirq", "irq", "steal", "guest"} {
		add(record.Quantity("cpu."+mode), "core", busy*[]float64{0.09, 0.5 - 0.12*m.perPacket/2.31e-6, 0.4 + 0.12*m.perPacket/2.31e-6, 0.01, 0.002, 0}[i])
	}
	return r
}

// responses draws response times with a realistic long tail.
func responses(rnd *rand.Rand, median float64) record.Value {
	h := hdrhistogram.New(1, int64(10e9), 2)
	for range 3000 {
		v := median * math.Exp(0.16*rnd.NormFloat64())
		if rnd.Float64() < 0.012 {
			v *= 1.5 + 3*rnd.ExpFloat64()
		}
		_ = h.RecordValue(int64(v * 1e9))
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	return record.Value{Name: "rtt", Unit: "s", Value: float64(h.ValueAtQuantile(50)) / 1e9, Hist: string(b)}
}

// spoil gives four trials the problems of real machines.
func spoil(r *record.Result) {
	at := fmt.Sprintf("%d %s %s", r.Block, r.Config["network"], r.Config["probe"])
	switch at {
	case "3 vxlan-overlay udp-stream":
		r.Status, r.Reason = record.Invalid, "h1 vx0: MTU is 1400, expected 1450"
	case "5 bridge tcp-stream":
		r.Status, r.Reason, r.Values = record.Failed, "client: exit status 1: connection refused", nil
	case "8 bridge udp-rr":
		r.Status, r.Reason, r.Values, r.Observed = record.Skipped, "the study was interrupted before this trial", nil, nil
	case "7 host udp-rate": // the machine stalled
		r.Values[0].Value = Round(0.31 * r.Values[0].Value)
		r.Notes = []record.Note{record.NoteText.With("the clock of the client stood still for 1.9 s")}
	}
}
