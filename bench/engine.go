package main

import (
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

const confidence = 0.95

// pooled returns the interval of a single run as it is: it covers that run only. Engines are compared on one machine, whose
// runs show by themselves how much they differ.
func pooled(runs []stat.Interval) stat.Interval {
	if runs = measured(runs); len(runs) == 1 {
		return runs[0]
	}
	return stat.PoolExpecting(runs, stat.Spread{}, confidence).Interval
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
		"%.0f %% confidence; that of several runs also covers differences between runs. Verdicts use the figures before rounding.\n"+
		"One run reaches no goal: its interval says nothing about another day or machine. Level means that the whole interval is\n"+
		"within %.0f %% of a goal of 1. Over TCP, the engine and tools that can leave out a warm-up do; those that cannot are compared\n"+
		"with the engine from its first byte. Datagrams and requests have no slow start:\n"+
		"there the engine, iperf3 and C with GSO leave out a second, and the others count from the first one.\n", s.Blocks, 100*confidence, 100*level)
	writeRuns(w, runs)
	writeGoals(w, s, runs)
	writeDisagreements(w, s, runs)
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
		writeEach(w, s, c, runs)
	}
	writeDistances(w, s, runs)
	return nil
}

// goals calls f for each goal. lower says that a smaller ratio is better.
func goals(f func(c contest, p contender, lower bool)) {
	for _, c := range contests {
		for _, p := range c.contenders {
			if p.goal != 0 {
				f(c, p, c.value.LowerIsBetter(c.unit))
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
	fmt.Fprint(w, "\n[ADR 59](adr/0059-where-the-engine-loses-time.md) and [ADR 61](adr/0061-large-writes-and-whole-reads.md) say where the engine loses time to C, and what C\n"+
		"itself reaches.\n")
}

func bound(goal float64, lower bool) string {
	if lower {
		return fmt.Sprintf("≤ %.4g", goal)
	}
	return fmt.Sprintf("≥ %.4g", goal)
}

// writeEach prints the ratios that have a goal, of each run that has any.
func writeEach(w io.Writer, s study.Study, c contest, runs []run) {
	var head []string
	rows := make([][]string, len(runs))
	has := make([]bool, len(runs))
	for _, p := range c.contenders {
		if p.goal == 0 {
			continue
		}
		for _, n := range s.Networks {
			head = append(head, p.name+", "+n.Name)
			_, ratios := c.versus(runs, p, n.Name)
			for i, r := range ratios {
				rows[i], has[i] = append(rows[i], bracket(r)), has[i] || r.N > 0
			}
		}
	}
	if !slices.Contains(has, true) {
		return
	}
	fmt.Fprintf(w, "\n| engine ÷ | %s |\n|---|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for i, r := range runs {
		if has[i] {
			fmt.Fprintf(w, "| %s | %s |\n", r.name, strings.Join(rows[i], " | "))
		}
	}
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

func bracket(i stat.Interval) string {
	switch {
	case i.N == 0:
		return "-"
	case !i.Bounded():
		return fmt.Sprintf("%.2f", i.Center)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", i.Center, i.Lo, i.Hi)
}

// level is how near to 1 an interval must be for two programs to count as equally fast: no number of runs decides which
// of two equal ones is faster.
const level = 0.05

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
	case goal == 1 && i.Lo >= 1-level && i.Hi <= 1+level:
		return "level"
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
			if tool := record.Tool.Of(t.Observed); t.Status == record.OK {
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
