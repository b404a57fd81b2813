package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// blocksPerRun fit into 15 s with two networks and three probes.
const blocksPerRun = 25

// aaProbes measure one quantity of each kind: bytes, packets, time.
var aaProbes = map[string]probe.Probe{"tcp-stream": &probe.TCPStream{}, "udp-stream": &probe.UDPStream{}, "udp-rr": &probe.UDPRR{}}

// coverage measures the same network twice in each of several runs, and counts how often the
// intervals contain the true ratio, 1. The runs follow each other without a break: each consists of
// blocksPerRun blocks and has its own ratio.
func coverage(ctx context.Context, runs int, dir string, w io.Writer) error {
	s := study.Default()
	s.Name, s.Blocks, s.Warmup, s.Duration = "coverage", runs*blocksPerRun, 20*time.Millisecond, 50*time.Millisecond
	s.Networks = []study.Use{{Kind: "host", Name: "a"}, {Kind: "host", Name: "b"}}
	for _, name := range []string{"tcp-stream", "udp-stream", "udp-rr"} {
		s.Probes = append(s.Probes, study.Use{Kind: name})
	}
	results, err := run(ctx, s, aaProbes, dir)
	if err != nil {
		return err
	}
	writeCoverage(w, results)
	return nil
}

type count struct {
	intervals, hold int
	width           float64 // sum of their half widths
}

// counted splits results into runs and counts per probe, with ratios at 95 % each, and for all
// three together, as a report prints them. A run that was disturbed too much gives no interval.
func counted(results []record.Result) (each map[string]count, together count) {
	byRun := map[int][]record.Result{}
	for _, r := range results {
		n := (r.Block - 1) / blocksPerRun
		byRun[n] = append(byRun[n], r)
	}
	each = map[string]count{}
	for _, rs := range byRun {
		run := analysis.New(rs, analysis.Options{Baseline: "a"})
		for _, t := range run.Project(analysis.Projection{Row: analysis.Network, Baseline: "a", Each: 0.95}) {
			c := each[t.Probe]
			c.add(t)
			each[t.Probe] = c
		}
		together.add(run.Tables...)
	}
	return each, together
}

// add counts the ratios of tables as one, which holds if all of them do.
func (c *count) add(tables ...analysis.Table) {
	hold, width := 1, 0.0
	for _, t := range tables {
		i := t.Rows[len(t.Rows)-1].Ratio
		if !i.Bounded() {
			return
		}
		if !i.Contains(1) {
			hold = 0
		}
		width += (i.Hi - i.Lo) / 2 / float64(len(tables))
	}
	c.intervals, c.hold, c.width = c.intervals+1, c.hold+hold, c.width+width
}

func writeCoverage(w io.Writer, results []record.Result) {
	f := facts.Collect(os.DirFS("/"))
	each, together := counted(results)
	first, last := results[0].Start, results[len(results)-1].Start
	fmt.Fprintf(w, `# Coverage of the intervals

Made by `+"`make coverage`"+` on %s: %s, %d CPUs, Linux %s. Both networks are the same, so the
true ratio is 1. A run is %d blocks of slices of 20 + 50 ms with two networks and three probes, %.1f s
of wall time. A 95 %% interval should cover the truth in 95 %% of the runs.

| | runs | hold 1 | share | mean half width |
|---|---|---|---|---|
`, first.Format("2006-01-02"), f.CPU, f.CPUs, f.Kernel, blocksPerRun, last.Sub(first).Seconds()/float64(len(results))*6*blocksPerRun)
	row := func(name string, c count) {
		if c.intervals > 0 {
			n := float64(c.intervals)
			fmt.Fprintf(w, "| %s | %d | %d | %.1f %% | %.1f %% |\n", name, c.intervals, c.hold, 100*float64(c.hold)/n, 100*c.width/n)
		}
	}
	all := count{}
	for _, probe := range []string{"tcp-stream", "udp-stream", "udp-rr"} {
		row(probe, each[probe])
		all.intervals, all.hold, all.width = all.intervals+each[probe].intervals, all.hold+each[probe].hold, all.width+each[probe].width
	}
	row("each ratio by itself", all)
	row("all three together, as a report prints them", together)
}
