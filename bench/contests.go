package main

import (
	"cmp"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A contest is a quantity that several probes of bench/engine.yaml measure. The first is the engine.
type contest struct {
	name, unit string
	value      record.Quantity // its name; "" is the first value of each probe
	contenders []contender
	since      string // the first run with today's loops in the engine and in C; "": all
}

type contender struct {
	name, probe string
	// goal is the engine's target relative to this contender: a minimum, or a maximum if smaller is better;
	// 0 for none.
	goal float64
}

const (
	// wholeReads is the first run in which the engine and C wrote 1 MiB per call to TCP, and waited for whole buffers (ADR 61).
	wholeReads = "2026-11-26T01"
	// turns is the first run in which receivers with UDP_GRO napped and waited in turn (ADR 62), and C left out a warm-up.
	turns = "2026-11-26T08"
)

var contests = []contest{
	{"TCP one stream", "bit/s", "", []contender{
		{"engine", "tcp-stream", 0},
		{"C", "c-tcp-warm", 1},
		{"iperf3", "iperf3-tcp", 1},
		{"iperf3, 1 MiB per write", "iperf3-1m", 1},
		{"iperf3 with the machine's congestion control", "iperf3-default", 0},
	}, wholeReads},
	{"TCP one stream, from the first byte", "bit/s", "", []contender{ // these tools have no warm-up
		{"engine", "tcp-cold", 0},
		{"C", "c-tcp-cold", 1},
		{"netperf", "netperf-tcp", 1},
		{"netperf, 1 MiB per write", "netperf-1m", 1},
		{"iperf", "iperf2-tcp", 1},
		{"iperf, 1 MiB per write", "iperf2-1m", 1},
		{"nuttcp", "nuttcp-tcp", 0},
		{"neper", "neper-tcp", 0},
	}, wholeReads},
	{"TCP one stream, other ways to send and receive", "bit/s", "", []contender{
		{"engine, sendfile", "tcp-sendfile", 0},
		{"engine", "tcp-stream", 0},
		{"engine, MSG_ZEROCOPY", "tcp-zerocopy", 0},
		{"engine, a receiver that discards", "tcp-discard", 0},
		{"C", "c-tcp-warm", 0},
		{"C, sendfile", "c-tcp-sendfile", 0},
		{"C, MSG_ZEROCOPY", "c-tcp-zerocopy", 0},
		{"C, a receiver that discards", "c-tcp-discard", 0},
	}, wholeReads},
	{"UDP 1400 bytes", "bit/s", "", []contender{
		{"engine", "udp-gso", 0},
		{"C with GSO and GRO", "c-gso", 0},
		{"engine, one send each", "udp-stream", 0},
		{"iperf3", "iperf3-udp", 8},
		{"newest iperf3 with GSO and GRO", "iperf3-new", 1.15},
	}, turns},
	{"UDP 18 bytes", "packet/s", record.PacketRate, []contender{
		{"engine", "udp-rate", 0},
		{"C", "c-udp", 1.25},
		{"C, napping as the engine's receiver does", "c-udp-nap", 0},
		{"iperf3", "iperf3-small", 1},
		{"netperf", "netperf-small", 1},
	}, ""},
	{"UDP 18 bytes, the fastest mode", "packet/s", record.PacketRate, []contender{
		{"engine, GSO and GRO", "udp-rate-gso", 0},
		{"engine, sendmmsg", "udp-rate-mmsg", 0},
		{"engine, AF_XDP", "udp-rate-xdp", 0},
		{"C, one send each", "c-udp", 0},
	}, turns},
	{"UDP 18 bytes, sendmmsg", "packet/s", record.PacketRate, []contender{
		{"engine", "udp-rate-mmsg", 0},
		{"C", "c-udp-mmsg", 0},
		{"C, one send each", "c-udp", 0},
	}, ""},
	{"UDP 18 bytes, AF_XDP", "packet/s", record.PacketRate, []contender{
		{"engine", "udp-rate-xdp", 0},
		{"C", "c-udp-xdp", 0},
	}, ""},
	{"UDP response time, spinning", "1/s", record.Transactions, []contender{
		{"engine", "udp-rr-spin", 0},
		{"engine, without kernel stamps", "udp-rr-unstamped", 0},
		{"C, only counting", "c-rr", 0.98},
		{"C, keeping response times", "c-rr-measure", 0.98},
	}, ""},
	{"UDP response time, spinning, without kernel stamps", "1/s", record.Transactions, []contender{
		{"engine", "udp-rr-unstamped", 0},
		{"C, only counting", "c-rr", 0.98},
		{"C, keeping response times", "c-rr-measure", 0.98},
	}, ""},
	{"UDP response time, spinning, the longest", "s", record.RTTMax, []contender{
		{"engine", "udp-rr-unstamped", 0},
		{"C, keeping response times", "c-rr-measure", 1},
	}, ""},
	{"UDP response time, spinning, the longest of a minute", "s", record.RTTMax, []contender{
		{"engine", "rr-minute", 0},
		{"C, keeping response times", "c-rr-minute", 1},
	}, ""},
	{"UDP response time, spinning, time in those above 100 µs, of each second of a minute", "s", record.RTTPauses, []contender{
		{"engine", "rr-minute", 0},
		{"C, keeping response times", "c-rr-minute", 1},
	}, ""},
	{"TCP one stream, the longest pause between two reads", "s", record.Silence, []contender{
		{"engine", "tcp-stream", 0},
		{"C", "c-tcp-warm", 1},
	}, wholeReads},
	{"TCP one stream, the longest pause between two reads of a minute", "s", record.Silence, []contender{
		{"engine", "tcp-minute", 0},
		{"C", "c-tcp-minute", 1},
	}, wholeReads},
	{"UDP response time, blocking, median", "s", "", []contender{
		{"engine", "udp-rr", 0},
		{"C", "c-wait", 0},
		{"sockperf", "sockperf-rr", 1},
		{"qperf, mean", "qperf-udp-rr", 0},
		{"netperf", "netperf-udp-rr", 0},
	}, ""},
	{"UDP response time, blocking, 99.9th percentile", "s", record.RTTP999, []contender{
		{"engine", "udp-rr-long", 0},
		{"C", "c-wait-long", 0},
		{"sockperf", "sockperf-rr-long", 1},
	}, ""},
	{"UDP response time, blocking, 99.9th percentile of a minute", "s", record.RTTP999, []contender{
		{"engine", "blocking-minute", 0},
		{"sockperf", "sockperf-minute", 1},
	}, ""},
	{"TCP response time, blocking, median", "s", "", []contender{
		{"engine", "tcp-rr", 0},
		{"C", "c-tcp-rr", 0},
		{"qperf, mean", "qperf-tcp-rr", 0},
		{"netperf", "netperf-tcp-rr", 1},
	}, ""},
	{"TCP connect, request and response, median", "s", "", []contender{
		{"engine", "tcp-crr", 0},
		{"C", "c-tcp-crr", 0},
		{"netperf", "netperf-crr", 1},
	}, ""},
}

// valued returns the values of probes on a network in the blocks of a run that they share, nil if one is missing.
func (c contest) valued(r run, network string, probes ...string) (values [][]float64) {
	var samples []*analysis.Sample
	for _, p := range probes {
		s := r.Sample(map[string]string{analysis.Network: network, analysis.Probe: p})
		if s == nil || r.name < c.since {
			return nil
		}
		samples = append(samples, s)
	}
	var all []analysis.Series
	samples, _ = analysis.Steady(confidence, samples...)
	for _, s := range samples {
		all = append(all, s.Values(cmp.Or(c.value, s.Metric())))
	}
	blocks, values := analysis.Common(all...)
	if blocks == nil {
		return nil
	}
	return values
}

// versus returns a contender's value on a network in each run, and the engine's divided by it in the same blocks. N of
// an interval is 0 where a run has none.
func (c contest) versus(runs []run, p contender, network string) (values, ratios []stat.Interval) {
	for _, r := range runs {
		var value, ratio stat.Interval
		if v := c.valued(r, network, p.probe); v != nil {
			value = stat.Median(v[0], confidence)
		}
		if v := c.valued(r, network, p.probe, c.contenders[0].probe); v != nil {
			ratio = stat.Ratio(v[0], v[1], confidence)
		}
		values, ratios = append(values, value), append(ratios, ratio)
	}
	return values, ratios
}
