package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A contest is a quantity that several probes of bench/engine.yaml measure. The first is the engine.
type contest struct {
	name, unit string
	value      string // its name; "" is the first value of each probe
	contenders []contender
}

type contender struct {
	name, probe string
	// goal is the engine's target relative to this contender: a minimum, or a maximum if smaller is better;
	// 0 for none.
	goal float64
}

var contests = []contest{
	{"TCP one stream", "bit/s", "", []contender{
		{"engine", "tcp-stream", 0},
		{"C", "c-tcp", 0.98},
		{"iperf3", "iperf3-tcp", 0},
		{"iperf3 with the machine's congestion control", "iperf3-default", 3},
		{"netperf", "netperf-tcp", 1},
		{"iperf", "iperf2-tcp", 0},
		{"nuttcp", "nuttcp-tcp", 0},
		{"neper", "neper-tcp", 0},
	}},
	{"UDP 1400 bytes", "bit/s", "", []contender{
		{"engine", "udp-gso", 0},
		{"engine, one send each", "udp-stream", 0},
		{"iperf3", "iperf3-udp", 8},
		{"newest iperf3 with GSO and GRO", "iperf3-new", 1.15},
	}},
	{"UDP 18 bytes", "packet/s", "packet.rate", []contender{
		{"engine", "udp-rate", 0},
		{"C", "c-udp", 0.97},
		{"iperf3", "iperf3-small", 1},
		{"netperf", "netperf-small", 1},
	}},
	{"UDP 18 bytes, the fastest mode", "packet/s", "packet.rate", []contender{
		{"engine, GSO and GRO", "udp-rate-gso", 0},
		{"engine, sendmmsg", "udp-rate-mmsg", 0},
		{"C, one send each", "c-udp", 1.2},
	}},
	{"UDP response time, spinning", "1/s", "transactions", []contender{
		{"engine", "udp-rr-spin", 0},
		{"engine, without kernel stamps", "udp-rr-unstamped", 0},
		{"C, only counting", "c-rr", 0.98},
		{"C, keeping response times", "c-rr-measure", 0.98},
	}},
	{"UDP response time, spinning, without kernel stamps", "1/s", "transactions", []contender{
		{"engine", "udp-rr-unstamped", 0},
		{"C, only counting", "c-rr", 0.98},
		{"C, keeping response times", "c-rr-measure", 0.98},
	}},
	{"UDP response time, spinning, the longest", "s", "rtt.max", []contender{
		{"engine", "udp-rr-unstamped", 0},
		{"C, keeping response times", "c-rr-measure", 1},
	}},
	{"TCP one stream, the longest pause between two reads", "s", "silence", []contender{
		{"engine", "tcp-stream", 0},
		{"C", "c-tcp", 1},
	}},
	{"UDP response time, blocking, median", "s", "", []contender{
		{"engine", "udp-rr", 0},
		{"sockperf", "sockperf-rr", 1},
		{"qperf, mean", "qperf-udp-rr", 0},
		{"netperf", "netperf-udp-rr", 0},
	}},
	{"UDP response time, blocking, 99.9th percentile", "s", "rtt.p999", []contender{
		{"engine", "udp-rr-long", 0},
		{"sockperf", "sockperf-rr-long", 1},
	}},
}

// versus returns a contender's value on a network, and the engine's divided by it in the same blocks.
func (c contest) versus(s series, p contender, network string) (value, ratio stat.Interval) {
	values := func(run *analysis.Run, probe string) (v analysis.Series) {
		if s := run.Sample(map[string]string{analysis.Network: network, analysis.Probe: probe}); s != nil {
			v = s.Values(cmp.Or(c.value, s.Metric()))
		}
		return v
	}
	var all, ratios []stat.Interval
	for _, run := range s.runs {
		tool, engine := values(run, p.probe), values(run, c.contenders[0].probe)
		if _, v := analysis.Common(tool); len(v[0]) > 0 {
			all = append(all, stat.Median(v[0], 0.95))
		}
		if _, v := analysis.Common(tool, engine); len(v[0]) > 0 {
			ratios = append(ratios, stat.Ratio(v[0], v[1], 0.95))
		}
	}
	return pooled(all), pooled(ratios)
}

// pooled returns the interval of a single run as it is: it covers that run only.
func pooled(runs []stat.Interval) stat.Interval {
	if len(runs) == 1 {
		return runs[0]
	}
	return stat.Pool(runs, 0.95).Interval
}

// writeEngine writes docs/benchmarks.md. All trials count, because the benchmark runs on an idle machine.
func writeEngine(w io.Writer, dir string) error {
	s, err := read(dir, true)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "# Benchmarks\n\nMade by `make bench` on %s: %s, %d CPUs, Linux %s, %s. Trust the ratios, which are\n"+
		"paired within blocks, not the absolute figures. Separate runs: %d, of %d blocks each. Each interval holds at 95 %% confidence; that\n"+
		"of several runs also covers differences between runs.\n",
		s.begin.Format("2006-01-02"), s.host.CPU, s.host.CPUs, s.host.Kernel, s.host.Distribution, len(s.runs), s.study.Blocks)
	writeGoals(w, s)
	for _, c := range contests {
		fmt.Fprintf(w, "\n## %s\n\n| tool | version |", c.name)
		for _, n := range s.study.Networks {
			fmt.Fprintf(w, " %s | engine ÷ tool |", n.Name)
		}
		fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|---|", len(s.study.Networks)))
		for i, p := range c.contenders {
			fmt.Fprintf(w, "| %s | %s |", p.name, s.version(p.probe))
			for _, n := range s.study.Networks {
				value, ratio := c.versus(s, p, n.Name)
				text, divided := "-", ""
				if value.N > 0 {
					text = unit.Format(value.Center, c.unit)
				}
				if i > 0 {
					divided = bracket(ratio)
				}
				fmt.Fprintf(w, " %s | %s |", text, divided)
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// writeGoals prints the goals, and whether all or none of the interval reaches them.
func writeGoals(w io.Writer, s series) {
	fmt.Fprint(w, "\n## Goals\n\n| | against | goal |")
	for _, n := range s.study.Networks {
		fmt.Fprintf(w, " %s | |", n.Name)
	}
	fmt.Fprintf(w, "\n|---|---|---|%s\n", strings.Repeat("---|---|", len(s.study.Networks)))
	for _, c := range contests {
		lower, sign := record.LowerIsBetter(c.unit), "≥"
		if lower {
			sign = "≤"
		}
		for _, p := range c.contenders {
			if p.goal == 0 {
				continue
			}
			fmt.Fprintf(w, "| %s | %s | %s %.4g |", c.name, p.name, sign, p.goal)
			for _, n := range s.study.Networks {
				_, ratio := c.versus(s, p, n.Name)
				fmt.Fprintf(w, " %s | %s |", bracket(ratio), reached(ratio, p.goal, lower))
			}
			fmt.Fprintln(w)
		}
	}
}

func bracket(i stat.Interval) string {
	switch {
	case i.N == 0:
		return "-"
	case !i.Bounded():
		return fmt.Sprintf("%.2f", i.Center)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", i.Center, i.Lo, i.Hi)
}

func reached(i stat.Interval, goal float64, lower bool) string {
	switch {
	case !i.Bounded():
		return "not measured"
	case lower && i.Hi <= goal, !lower && i.Lo >= goal:
		return "reached"
	case lower && i.Lo > goal, !lower && i.Hi < goal:
		return "missed"
	}
	return "undecided"
}

// version returns the tool of a probe with its version, "" if it does not report one.
func (s series) version(probe string) string {
	status := record.Failed
	for _, run := range s.runs {
		for t := range run.Results() {
			if t.Config[analysis.Probe] != probe {
				continue
			}
			if tool := t.Observed["tool"]; t.Status == record.OK {
				if !strings.Contains(tool, " ") {
					return ""
				}
				return strings.TrimPrefix(tool, "weir ")
			}
			status = t.Status
		}
	}
	if status == record.Skipped {
		return "not installed"
	}
	return "failed"
}
