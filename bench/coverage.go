package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"

	gonum "gonum.org/v1/gonum/stat"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

const (
	pooledRuns = 5  // that a user pools
	shuffles   = 20 // ways to divide the runs into groups of pooledRuns
)

// A cell is the ratio of one network and probe in every run.
type cell struct {
	analysis.Cell
	runs []stat.Interval
}

// cells lines up the ratios of all runs, with intervals at a confidence. Those of a run without a ratio
// have N = 0. With a truth, cells that it lacks are left out.
func (s series) cells(confidence float64, truth map[string]float64) (out []cell) {
	at := map[string]int{}
	for n, run := range s.runs {
		for _, t := range run.Project(analysis.Projection{Row: analysis.Network, Baseline: run.Baseline, Each: confidence}) {
			for _, row := range t.Rows {
				c := t.Cell(row)
				name := c.String()
				if row.Baseline || truth != nil && truth[name] == 0 {
					continue
				}
				i, ok := at[name]
				if !ok {
					i = len(out)
					at[name] = i
					out = append(out, cell{c, make([]stat.Interval, len(s.runs))})
				}
				out[i].runs[n] = row.Ratio
			}
		}
	}
	return out
}

// truth returns the true ratio of every cell: 1 if its network is the baseline by another name, otherwise
// the one pooled over all runs; 0 if that is unknown.
func (s series) truth() map[string]float64 {
	base, _ := s.study.Network(s.study.Baseline)
	out := map[string]float64{}
	for _, c := range s.cells(0.95, nil) {
		out[c.String()] = stat.Pool(c.runs, 0.95).Center
		if u, _ := s.study.Network(c.Network); u.Kind == base.Kind && maps.Equal(u.Options, base.Options) {
			out[c.String()] = 1
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

// much is how much wider than needed an interval may be.
const much = 1.15

// held returns the share of all runs' intervals that would contain the truth if each were scale as wide, on the logarithmic
// axis of ratios, and its standard error, where intervals of one run may err together.
func held(cs []cell, truth map[string]float64, scale float64) (share, se float64) {
	var shares []float64
	for n := range cs[0].runs {
		hold, of := 0, 0
		for _, c := range cs {
			i, ratio := c.runs[n], truth[c.String()]
			if !i.Bounded() {
				continue
			}
			of++
			if ratio >= i.Center*math.Pow(i.Lo/i.Center, scale) && ratio <= i.Center*math.Pow(i.Hi/i.Center, scale) {
				hold++
			}
		}
		if of > 0 {
			shares = append(shares, float64(hold)/float64(of))
		}
	}
	mean, sd := gonum.MeanStdDev(shares, nil)
	return mean, sd / math.Sqrt(float64(len(shares)))
}

// tells is how many blocks tell correlated blocks from independent ones: from there on, intervals of independent blocks are
// at most as wide as much allows (docs/lab/2026-11-intervals-under-correlation.md). With fewer they are wider, knowingly.
const tells = 40

// judged says whether the intervals of single runs of so many blocks are as wide as they should be, and returns an error if
// they are not.
func judged(cs []cell, truth map[string]float64, blocks int) (string, error) {
	if len(cs[0].runs) < 2 {
		return "One run cannot tell whether intervals are as wide as they should be.", nil
	}
	share, se := held(cs, truth, 1)
	slim, slimSE := held(cs, truth, 1/much)
	text := fmt.Sprintf("Of all intervals of single runs %.1f %% ± %.1f %% hold; if each were 1/%.2f as wide, %.1f %% ± %.1f %% would.\n",
		100*share, 200*se, much, 100*slim, 200*slimSE)
	switch {
	case share+2*se < confidence:
		return text + "They are too narrow.", fmt.Errorf("intervals are too narrow: %.1f %% ± %.1f %% hold, want %.0f %%", 100*share, 200*se, 100*confidence)
	case slim-2*slimSE > confidence && blocks < tells:
		return text + fmt.Sprintf("They are wider than these blocks need: fewer than %d do not tell whether neighbors are alike, and intervals\n[allow for it](adr/0031-intervals-under-correlation.md).", tells), nil
	case slim-2*slimSE > confidence:
		return text + "They are too wide.", fmt.Errorf("intervals are too wide: %.1f %% ± %.1f %% would hold at 1/%.2f of their width, want %.0f %%",
			100*slim, 200*slimSE, much, 100*confidence)
	}
	return text + "They are neither too narrow nor too wide.", nil
}

// writeCoverage counts, for the runs in each of dirs, how often their intervals contain the truth, which the runs in truthDir
// know, "" for the same ones. Runs alongside another program are judged by quiet ones that way. Intervals that are too
// narrow or too wide are an error, after the page.
func writeCoverage(w io.Writer, truthDir string, dirs ...string) (err error) {
	fmt.Fprintf(w, `# Coverage of the intervals

Made by `+"`make coverage`"+`: separate runs, each with its own networks, engines and connections. The true ratio of equal networks
is 1; that of others is taken to be the one pooled over all runs. A 95 %% interval should hold in 95 %% of the cases.

"One run" is the interval of a single run by itself, with its mean half width. "With τ" adds the spread between runs that the other runs
have shown, as a report does on a machine that weir knows. "%d runs" is the pooled interval, over random groups.
`, pooledRuns)
	for _, dir := range dirs {
		err = errors.Join(err, writeSeries(w, dir, truthDir))
	}
	return err
}

func writeSeries(w io.Writer, dir, truthDir string) error {
	s, err := read(dir)
	if err != nil {
		return err
	}
	quiet := s
	if truthDir != "" {
		if quiet, err = read(truthDir); err != nil {
			return err
		}
	}
	truth, f, n := quiet.truth(), s.host, len(s.runs)
	cs := s.cells(confidence, truth)
	if len(cs) == 0 {
		return fmt.Errorf("%s has no ratio whose truth %s knows", dir, cmp.Or(truthDir, "it"))
	}
	fmt.Fprintf(w, `
## %d runs of %d blocks

Study %s, slices of %v + %v, %s on %s: %s, %d CPUs, Linux %s.
%d runs can be off by ± %.1f %%; there are %d groups of %d.

| ratio to %s | truth | spread between runs, τ | one run | | with τ | | %d runs | |
|---|---|---|---|---|---|---|---|---|
`, n, s.study.Blocks, cmp.Or(s.study.Name, "bench/coverage.yaml"), s.study.Warmup, s.study.Duration, unit.Format(s.took.Seconds(), "s"), s.begin.Format("2006-01-02"), f.CPU, f.CPUs, f.Kernel,
		n, 100*chance(n), len(groups(n)), pooledRuns, s.study.Baseline, pooledRuns)
	for i, c := range cs {
		fmt.Fprintf(w, "| %s | %.3f | %.1f %% |%s\n", c, truth[c.String()], 100*stat.Pool(c.runs, 0.95).Shown, covered(cs[i:i+1], truth, 0.95))
	}
	each := stat.Adjust(0.95, len(cs))
	fmt.Fprintf(w, "| all %d together | | |%s\n", len(cs), covered(s.cells(each, truth), truth, each))
	text, err := judged(cs, truth, s.study.Blocks)
	fmt.Fprintf(w, "\n%s\n", text)
	return err
}

// covered returns the columns of the table for cells that have to hold together.
func covered(cs []cell, truth map[string]float64, confidence float64) string {
	var own, known, several count
	var truths []float64
	for _, c := range cs {
		truths = append(truths, truth[c.String()])
	}
	for n := range cs[0].runs {
		var one, wide []stat.Interval
		for _, c := range cs {
			spread, _ := stat.Earlier(without(c.runs, n))
			one = append(one, c.runs[n])
			wide = append(wide, stat.PoolKnown(c.runs[n:n+1], spread, confidence).Interval)
		}
		own.add(one, truths)
		known.add(wide, truths)
	}
	for _, g := range groups(len(cs[0].runs)) {
		var of []stat.Interval
		for _, c := range cs {
			of = append(of, stat.Pool(pick(c.runs, g), confidence).Interval)
		}
		several.add(of, truths)
	}
	return fmt.Sprintf(" %v | %v | %v |", own, known, several)
}
