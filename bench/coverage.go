package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

const (
	coverageBlocks = 12 // of a run
	pooledRuns     = 5  // that a user pools
	shuffles       = 20 // ways to divide the runs into groups of pooledRuns
)

// aaProbes measure one quantity of each kind: bytes, packets, time.
var aaProbes = map[string]probe.Probe{"tcp-stream": &probe.TCPStream{}, "udp-stream": &probe.UDPStream{}, "udp-rr": &probe.UDPRR{}}

// coverage makes separate runs, each with networks, engines and connections of its own, of two equal
// networks and an overlay. It counts how often the intervals contain the truth: 1 for the equal
// network, the ratio pooled over all runs for the overlay.
func coverage(ctx context.Context, runs int, dir string, w io.Writer) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var all []*analysis.Run
	var begin, end time.Time
	for n := range runs {
		s := study.Default()
		s.Name, s.Blocks, s.Warmup, s.Duration = "coverage", coverageBlocks, 20*time.Millisecond, 50*time.Millisecond
		s.Networks = []study.Use{{Kind: "host", Name: "a"}, {Kind: "host", Name: "b"}, {Kind: "vxlan-overlay"}}
		for _, name := range []string{"tcp-stream", "udp-stream", "udp-rr"} {
			s.Probes = append(s.Probes, study.Use{Kind: name})
		}
		s.Seed = uint64(n + 1)
		var results []record.Result
		place := filepath.Join(dir, fmt.Sprintf("%03d", n+1))
		if measured, err := store.Read(place); err == nil { // by an earlier call with the same -o
			results = measured.Results
		} else if results, err = run(ctx, s, aaProbes, place); err != nil {
			return err
		}
		if n == 0 {
			begin = results[0].Start
		}
		end = results[len(results)-1].Start
		all = append(all, analysis.New(results, analysis.Options{Baseline: "a"}))
	}
	writeCoverage(w, all, begin, end.Sub(begin))
	return nil
}

// A cell is the ratio of one network and probe in every run.
type cell struct {
	name  string
	truth float64
	runs  []stat.Interval
}

// cells lines up the ratios of all runs, with intervals at a confidence. Those of a run without a ratio have N = 0.
func cells(all []*analysis.Run, confidence float64) (out []cell) {
	at := map[string]int{}
	for n, r := range all {
		for _, t := range r.Project(analysis.Projection{Row: analysis.Network, Baseline: "a", Each: confidence}) {
			for _, row := range t.Rows {
				if row.Baseline {
					continue
				}
				name := row.Network + ", " + t.Probe
				i, ok := at[name]
				if !ok {
					i = len(out)
					at[name] = i
					out = append(out, cell{name: name, truth: 1, runs: make([]stat.Interval, len(all))})
				}
				out[i].runs[n] = row.Ratio
			}
		}
	}
	for i := range out {
		if c := &out[i]; c.name[0] != 'b' {
			c.truth = stat.Pool(c.runs, 0.95).Center
		}
	}
	return out
}

// chance is two standard errors of a share of 95 % among n.
func chance(n int) float64 { return 2 * math.Sqrt(0.95*0.05/float64(n)) }

// A count is of intervals that hold.
type count struct {
	intervals, hold int
	width           float64 // sum of their half widths
}

func (c *count) add(intervals []stat.Interval, truth []float64) {
	hold, width := 1, 0.0
	for n, i := range intervals {
		if !i.Bounded() {
			return
		}
		if !i.Contains(truth[n]) {
			hold = 0
		}
		width += (i.Hi - i.Lo) / 2 / i.Center / float64(len(intervals))
	}
	c.intervals, c.hold, c.width = c.intervals+1, c.hold+hold, c.width+width
}

func (c count) String() string {
	if c.intervals == 0 {
		return "- | -"
	}
	n := float64(c.intervals)
	return fmt.Sprintf("%.1f %% | ±%.1f %%", 100*float64(c.hold)/n, 100*c.width/n)
}

// groups divides n runs into groups of pooledRuns in several random ways, the same every time.
func groups(n int) (out [][]int) {
	r := rand.New(rand.NewPCG(1, 2))
	for range shuffles {
		order := r.Perm(n)
		for i := 0; i+pooledRuns <= n; i += pooledRuns {
			out = append(out, order[i:i+pooledRuns])
		}
	}
	return out
}

func pick(runs []stat.Interval, group []int) (out []stat.Interval) {
	for _, i := range group {
		out = append(out, runs[i])
	}
	return out
}

// without returns the ratios of all runs except one.
func without(runs []stat.Interval, but int) (out []stat.Interval) {
	return append(append(out, runs[:but]...), runs[but+1:]...)
}

func writeCoverage(w io.Writer, all []*analysis.Run, begin time.Time, took time.Duration) {
	f := facts.Collect(os.DirFS("/"))
	fmt.Fprintf(w, `# Coverage of the intervals

Made by `+"`make coverage`"+` on %s: %s, %d CPUs, Linux %s. %d separate runs, each with its own networks, engines and
connections, in %s: %d blocks of slices of 20 + 50 ms over the host network twice (a and b, true ratio 1) and vxlan-overlay, whose
true ratio is taken to be the one pooled over all runs. A 95 %% interval should hold in 95 %% of the cases, within ± %.1f %% for %d runs.

"One run" is the interval of a single run by itself. "With τ" adds the spread between runs that the other runs have shown, as a report
does on a machine that weir knows. "%d runs" is the pooled interval, over %d random groups.

| ratio to a | truth | spread between runs, τ | one run | | with τ | | %d runs | |
|---|---|---|---|---|---|---|---|---|
`, begin.Format("2006-01-02"), f.CPU, f.CPUs, f.Kernel, len(all), unit.Format(took.Seconds(), "s"), coverageBlocks,
		100*chance(len(all)), len(all), pooledRuns, len(groups(len(all))), pooledRuns)
	cs := cells(all, 0.95)
	for i, c := range cs {
		fmt.Fprintf(w, "| %s | %.3f | %.1f %% |%s\n", c.name, c.truth, 100*stat.Pool(c.runs, 0.95).Tau, covered(cs[i:i+1], 0.95))
	}
	each := stat.Adjust(0.95, len(cs))
	fmt.Fprintf(w, "| all %d together | | |%s\n", len(cs), covered(cells(all, each), each))
}

// covered returns the columns of the table for cells that have to hold together.
func covered(cs []cell, confidence float64) string {
	var own, known, pooled count
	var truths []float64
	for _, c := range cs {
		truths = append(truths, c.truth)
	}
	for n := range cs[0].runs {
		var one, wide []stat.Interval
		for _, c := range cs {
			spread := stat.Pool(without(c.runs, n), confidence)
			one = append(one, c.runs[n])
			wide = append(wide, stat.PoolKnown(c.runs[n:n+1], spread.Tau, spread.DF, confidence).Interval)
		}
		own.add(one, truths)
		known.add(wide, truths)
	}
	for _, g := range groups(len(cs[0].runs)) {
		var of []stat.Interval
		for _, c := range cs {
			of = append(of, stat.Pool(pick(c.runs, g), confidence).Interval)
		}
		pooled.add(of, truths)
	}
	return fmt.Sprintf(" %v | %v | %v |", own, known, pooled)
}
