package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
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
		{"C", "c-tcp-warm", 1},
		{"iperf3", "iperf3-tcp", 1},
		{"iperf3 with the machine's congestion control", "iperf3-default", 0},
	}},
	{"TCP one stream, from the first byte", "bit/s", "", []contender{ // these tools have no warm-up
		{"engine", "tcp-cold", 0},
		{"C", "c-tcp-cold", 1},
		{"netperf", "netperf-tcp", 1},
		{"iperf", "iperf2-tcp", 1},
		{"nuttcp", "nuttcp-tcp", 0},
		{"neper", "neper-tcp", 0},
	}},
	{"TCP one stream, other ways to send and receive", "bit/s", "", []contender{
		{"engine, sendfile", "tcp-sendfile", 0},
		{"engine", "tcp-stream", 0},
		{"engine, MSG_ZEROCOPY", "tcp-zerocopy", 0},
		{"engine, a receiver that discards", "tcp-discard", 0},
		{"C", "c-tcp-warm", 0},
	}},
	{"UDP 1400 bytes", "bit/s", "", []contender{
		{"engine", "udp-gso", 0},
		{"engine, one send each", "udp-stream", 0},
		{"iperf3", "iperf3-udp", 8},
		{"newest iperf3 with GSO and GRO", "iperf3-new", 1.15},
	}},
	{"UDP 18 bytes", "packet/s", "packet.rate", []contender{
		{"engine", "udp-rate", 0},
		{"C", "c-udp", 1.25},
		{"C, napping as the engine's receiver does", "c-udp-nap", 0},
		{"iperf3", "iperf3-small", 1},
		{"netperf", "netperf-small", 1},
	}},
	{"UDP 18 bytes, the fastest mode", "packet/s", "packet.rate", []contender{
		{"engine, GSO and GRO", "udp-rate-gso", 0},
		{"engine, sendmmsg", "udp-rate-mmsg", 0},
		{"engine, AF_XDP", "udp-rate-xdp", 0},
		{"C, one send each", "c-udp", 0},
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
	{"UDP response time, spinning, the longest of a minute", "s", "rtt.max", []contender{
		{"engine", "rr-minute", 0},
		{"C, keeping response times", "c-rr-minute", 1},
	}},
	{"UDP response time, spinning, time in those above 100 µs, of each second of a minute", "s", pauses, []contender{
		{"engine", "rr-minute", 0},
		{"C, keeping response times", "c-rr-minute", 1},
	}},
	{"TCP one stream, the longest pause between two reads", "s", "silence", []contender{
		{"engine", "tcp-stream", 0},
		{"C", "c-tcp-warm", 1},
	}},
	{"TCP one stream, the longest pause between two reads of a minute", "s", "silence", []contender{
		{"engine", "tcp-minute", 0},
		{"C", "c-tcp-minute", 1},
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

// valued returns the values of a probe on a network in the blocks of a run.
func (c contest) valued(r run, probe, network string) (v analysis.Series) {
	if s := r.Sample(map[string]string{analysis.Network: network, analysis.Probe: probe}); s != nil {
		v = s.Values(cmp.Or(c.value, s.Metric()))
	}
	return v
}

// versus returns a contender's value on a network in each run, and the engine's divided by it in the same blocks. N of
// an interval is 0 where a run has none.
func (c contest) versus(runs []run, p contender, network string) (values, ratios []stat.Interval) {
	for _, r := range runs {
		tool, engine := c.valued(r, p.probe, network), c.valued(r, c.contenders[0].probe, network)
		var value, ratio stat.Interval
		if _, v := analysis.Common(tool); len(v[0]) > 0 {
			value = stat.Median(v[0], confidence)
		}
		if _, v := analysis.Common(tool, engine); len(v[0]) > 0 {
			ratio = stat.Ratio(v[0], v[1], confidence)
		}
		values, ratios = append(values, value), append(ratios, ratio)
	}
	return values, ratios
}

const confidence = 0.95

// pooled returns the interval of a single run as it is: it covers that run only.
func pooled(runs []stat.Interval) stat.Interval {
	if runs = measured(runs); len(runs) == 1 {
		return runs[0]
	}
	return stat.Pool(runs, confidence).Interval
}

func measured(runs []stat.Interval) []stat.Interval {
	return slices.DeleteFunc(slices.Clone(runs), func(i stat.Interval) bool { return i.N == 0 })
}

//go:embed engine.yaml
var engineYAML []byte

//go:embed minute.yaml
var minuteYAML []byte

// writeEngine writes docs/benchmarks.md about the recorded runs in dir.
func writeEngine(w io.Writer, dir string) error {
	s, err := study.Load(engineYAML, "engine.yaml")
	if err != nil {
		return err
	}
	minute, err := study.Load(minuteYAML, "minute.yaml")
	if err != nil {
		return err
	}
	s.Probes = append(s.Probes, minute.Probes...)
	runs, err := readRecords(dir, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "# Benchmarks\n\n`make bench` adds a run of %d blocks to [bench/runs](../bench/runs), and makes this page of all of them; `make bench-minute` adds\n"+
		"one of trials of a minute. Trust the ratios, which are paired within blocks, not the absolute figures. Each interval holds at\n"+
		"%.0f %% confidence; that of several runs also covers differences between runs. One run reaches no goal: its interval says nothing\n"+
		"about another day or machine. The engine and tools that can leave out a warm-up do; those that cannot are compared with the engine\n"+
		"from its first byte.\n", s.Blocks, 100*confidence)
	writeRuns(w, runs)
	writeGoals(w, s, runs)
	for _, n := range s.Networks {
		writeEach(w, n.Name, runs)
	}
	writeDisagreements(w, s, runs)
	writeDistances(w, s, runs)
	for _, c := range contests {
		fmt.Fprintf(w, "\n## %s\n\n| tool | version |", c.name)
		for _, n := range s.Networks {
			fmt.Fprintf(w, " %s | engine ÷ tool |", n.Name)
		}
		fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|---|", len(s.Networks)))
		for i, p := range c.contenders {
			fmt.Fprintf(w, "| %s | %s |", p.name, version(runs, p.probe))
			for _, n := range s.Networks {
				values, ratios := c.versus(runs, p, n.Name)
				text, divided := "-", ""
				if value := pooled(values); value.N > 0 {
					text = unit.Format(value.Center, c.unit)
				}
				if i > 0 {
					divided = bracket(pooled(ratios))
				}
				fmt.Fprintf(w, " %s | %s |", text, divided)
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

// goals calls f for each goal. lower says that a smaller ratio is better.
func goals(f func(c contest, p contender, lower bool)) {
	for _, c := range contests {
		for _, p := range c.contenders {
			if p.goal != 0 {
				f(c, p, record.LowerIsBetter(c.unit))
			}
		}
	}
}

// writeGoals prints the goals, and whether all or none of the pooled interval reaches them.
func writeGoals(w io.Writer, s study.Study, runs []run) {
	fmt.Fprint(w, "\n## Goals\n\n| | against | goal |")
	for _, n := range s.Networks {
		fmt.Fprintf(w, " %s | |", n.Name)
	}
	fmt.Fprintf(w, "\n|---|---|---|%s\n", strings.Repeat("---|---|", len(s.Networks)))
	goals(func(c contest, p contender, lower bool) {
		fmt.Fprintf(w, "| %s | %s | %s |", c.name, p.name, bound(p.goal, lower))
		for _, n := range s.Networks {
			_, ratios := c.versus(runs, p, n.Name)
			fmt.Fprintf(w, " %s | %s |", bracket(pooled(ratios)), reached(ratios, p.goal, lower))
		}
		fmt.Fprintln(w)
	})
}

func bound(goal float64, lower bool) string {
	if lower {
		return fmt.Sprintf("≤ %.4g", goal)
	}
	return fmt.Sprintf("≥ %.4g", goal)
}

// writeEach prints the ratios of each run on a network.
func writeEach(w io.Writer, network string, runs []run) {
	fmt.Fprintf(w, "\n## Each run, %s\n\n| engine ÷ | goal |", network)
	for _, r := range runs {
		fmt.Fprintf(w, " %s |", r.name)
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|", len(runs)))
	goals(func(c contest, p contender, lower bool) {
		fmt.Fprintf(w, "| %s: %s | %s |", c.name, p.name, bound(p.goal, lower))
		_, ratios := c.versus(runs, p, network)
		for _, i := range ratios {
			fmt.Fprintf(w, " %s |", bracket(i))
		}
		fmt.Fprintln(w)
	})
}

// writeDisagreements names the goals whose ratio differs between two runs by more than both intervals, and what else
// differed between these runs.
func writeDisagreements(w io.Writer, s study.Study, runs []run) {
	var lines []string
	goals(func(c contest, p contender, _ bool) {
		for _, n := range s.Networks {
			_, ratios := c.versus(runs, p, n.Name)
			low, high := -1, -1 // the runs whose intervals are farthest apart
			for i, a := range ratios {
				if !a.Bounded() {
					continue
				}
				if low < 0 || a.Hi < ratios[low].Hi {
					low = i
				}
				if high < 0 || a.Lo > ratios[high].Lo {
					high = i
				}
			}
			if low < 0 || ratios[low].Hi >= ratios[high].Lo {
				continue
			}
			a, b := runs[low], runs[high]
			differ := append(differences(a.host, b.host), fmt.Sprintf("steal %.1f and %.1f %%", 100*a.steal, 100*b.steal))
			lines = append(lines, fmt.Sprintf("| %s, %s | %s | %s in %s, %s in %s | %s |", c.name, n.Name, p.name,
				bracket(ratios[low]), a.name, bracket(ratios[high]), b.name, strings.Join(differ, ", ")))
		}
	})
	if lines == nil {
		return
	}
	fmt.Fprintf(w, "\n## Where runs disagree\n\n| | engine ÷ | the two farthest intervals | what differed |\n|---|---|---|---|\n%s\n", strings.Join(lines, "\n"))
}

// writeDistances prints the medians of all runs' trials by how far apart the CPUs were, with the number of trials.
func writeDistances(w io.Writer, s study.Study, runs []run) {
	type cell struct {
		probe, network string
		far            bool
	}
	values := map[cell][]float64{}
	for _, c := range contests {
		for _, p := range c.contenders {
			for _, r := range runs {
				for t := range r.Results() {
					if far, ok := r.Cores.WereFar(t); ok && t.Status == record.OK && t.Config[analysis.Probe] == p.probe {
						v := t.Values[0]
						if c.value != "" {
							v, _ = t.Get(c.value)
						}
						at := cell{c.name + p.probe, t.Config[analysis.Network], far}
						values[at] = append(values[at], v.Value)
					}
				}
			}
		}
	}
	if len(values) == 0 {
		return
	}
	fmt.Fprint(w, "\n## How far apart the CPUs are\n\n"+
		"A hypervisor moves the CPUs of a virtual machine: see [ADR 60](adr/0060-cpus-that-move.md). Ratios compare trials at the same distance.\n"+
		"Here are medians of all trials at either, with their number.\n\n| | tool |")
	for _, n := range s.Networks {
		fmt.Fprintf(w, " %s, near | %s, far | far ÷ near |", n.Name, n.Name)
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|---|---|", len(s.Networks)))
	for _, c := range contests {
		for _, p := range c.contenders {
			row, some := "", false
			for _, n := range s.Networks {
				var middle [2]float64
				for i, far := range []bool{false, true} {
					v := values[cell{c.name + p.probe, n.Name, far}]
					text := "-"
					if len(v) > 0 {
						middle[i] = stat.Median(v, confidence).Center
						text, some = fmt.Sprintf("%s (%d)", unit.Format(middle[i], c.unit), len(v)), true
					}
					row += fmt.Sprintf(" %s |", text)
				}
				if middle[0] > 0 && middle[1] > 0 {
					row += fmt.Sprintf(" %.2f |", middle[1]/middle[0])
				} else {
					row += " - |"
				}
			}
			if some {
				fmt.Fprintf(w, "| %s | %s |%s\n", c.name, p.name, row)
			}
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

// reached judges the pooled interval of several runs. Runs that lack one of the two tools do not count.
func reached(runs []stat.Interval, goal float64, lower bool) string {
	runs = measured(runs)
	i := pooled(runs)
	switch {
	case len(runs) == 0:
		return "not measured"
	case len(runs) == 1, !i.Bounded():
		return "undecided"
	case lower && i.Hi <= goal, !lower && i.Lo >= goal:
		return "reached"
	case lower && i.Lo > goal, !lower && i.Hi < goal:
		return "missed"
	}
	return "undecided"
}

// version returns the tool of a probe with its version, "" if it does not report one, or why it has no result.
func version(runs []run, probe string) string {
	var status record.Status // "": in no run
	for _, r := range slices.Backward(runs) {
		for t := range r.Results() {
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
	switch status {
	case "":
		return "not measured"
	case record.Skipped:
		return "not installed"
	}
	return "failed"
}
