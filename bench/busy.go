package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

// busyPeriod is how often the program that disturbs computes for its share, and then sleeps.
const busyPeriod = 20 * time.Millisecond

// compute uses cores CPUs until in ends. Above 1, whole threads compute all the time.
func compute(cores float64, in io.Reader) {
	for ; cores > 0; cores-- {
		work := time.Duration(min(1, cores) * float64(busyPeriod))
		go func() {
			for begin := time.Now(); ; begin = begin.Add(busyPeriod) {
				for time.Since(begin) < work {
				}
				time.Sleep(time.Until(begin.Add(busyPeriod)))
			}
		}()
	}
	_, _ = io.Copy(io.Discard, in)
}

// busy measures the default study runs times on the machine as it is and runs times alongside a
// program that uses cores CPUs, in turn, and writes what the busy runs show of the quiet ones. It
// starts weir as a user does, outside the lab.
func busy(ctx context.Context, cores float64, runs int, flags []string, dir string, w io.Writer) (err error) {
	if runs < 1 {
		return fmt.Errorf("-busy-runs %d: want at least 1", runs)
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "weir-busy"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	var quiet, loaded []*analysis.Run
	for n := range runs {
		for _, load := range []float64{0, cores} {
			kind, to := "quiet", &quiet
			if load > 0 {
				kind, to = "busy", &loaded
			}
			fmt.Fprintf(os.Stderr, "%s run %d of %d\n", kind, n+1, runs)
			out := filepath.Join(dir, fmt.Sprintf("%s-%03d", kind, n+1))
			r, err := alongside(ctx, load, append([]string{"run", "-o", out}, flags...), out)
			if err != nil {
				return err
			}
			*to = append(*to, r)
		}
	}
	writeBusy(w, cores, quiet, loaded)
	return nil
}

// alongside runs weir while another process computes.
func alongside(ctx context.Context, cores float64, argv []string, out string) (*analysis.Run, error) {
	if cores > 0 {
		hog := exec.Command("/proc/self/exe", "-compute", strconv.FormatFloat(cores, 'g', -1, 64))
		in, err := hog.StdinPipe() // it ends when this process does
		if err == nil {
			err = hog.Start()
		}
		if err != nil {
			return nil, fmt.Errorf("start a program that computes: %w", err)
		}
		defer func() { in.Close(); _ = hog.Wait() }()
	}
	weir := exec.CommandContext(ctx, "/proc/self/exe", argv...)
	weir.Cancel = func() error { return weir.Process.Signal(os.Interrupt) }
	weir.Stderr = os.Stderr
	var exit *exec.ExitError // status 1: trials are not ok, as can happen on a busy machine
	if err := weir.Run(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return nil, fmt.Errorf("weir %s: %w; its results are in %s", strings.Join(argv, " "), err, out)
	}
	c, err := store.Read(out)
	if err != nil {
		return nil, err
	}
	s, err := study.Load(c.Study, filepath.Join(out, "study.yaml"))
	if err != nil {
		return nil, err
	}
	return analysis.New(c.Results, analysis.Options{Baseline: s.Baseline, Networks: study.Names(s.Networks), Probes: study.Names(s.Probes)}), nil
}

// A tally counts intervals that contain the pooled ratio of the quiet runs.
type tally struct{ cells, answered, hold, single int }

// writeBusy has a line per cell and busy run, and the share of the intervals that hold.
func writeBusy(w io.Writer, cores float64, quiet, loaded []*analysis.Run) {
	fmt.Fprintf(w, "# The default study alongside a program that uses %g CPUs\n\n"+
		"The truth is the ratio pooled over %d quiet runs (blocks of each: %d). `disturbed` marks cells in which disturbed trials count.\n\n"+
		"| cell | quiet, pooled | busy run | ratio | covers | at 95 %% by itself | mark | CPU time quiet | CPU time busy |\n|---|---|---|---|---|---|---|---|---|\n",
		cores, len(quiet), quiet[0].Blocks)
	var sum tally
	truth := pooled(quiet, func(r analysis.Row) stat.Interval { return r.Ratio })
	costs := pooled(quiet, func(r analysis.Row) stat.Interval { return r.Own.Ratio })
	for n, run := range loaded {
		single := rowsByCell(run.Project(analysis.Projection{Row: analysis.Network, Baseline: run.Baseline, Each: 0.95}))
		for t, r := range run.Rows() {
			if r.Baseline {
				continue
			}
			cell := t.Cell(*r).String()
			sum.cells++
			want, mark := truth[cell], ""
			if r.Ratio.Bounded() {
				sum.answered++
			}
			if r.Busy != nil {
				mark = "disturbed"
			}
			own := single[cell].Ratio
			fmt.Fprintf(w, "| %s | %s | %d | %s | %s | %s | %s | %s | %s |\n", cell, bracket(want.Interval), n+1, bracket(r.Ratio),
				holds(r.Ratio, want.Center, &sum.hold), holds(own, want.Center, &sum.single), mark, bracket(costs[cell].Interval), bracket(r.Own.Ratio))
		}
	}
	share := func(n int) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(max(1, sum.cells))) }
	fmt.Fprintf(w, "\nOf %d cells of busy runs %s have an interval. The truth is inside %s of them as a report prints them, and inside %s at 95 %% each.\n",
		sum.cells, share(sum.answered), share(sum.hold), share(sum.single))
}

func holds(i stat.Interval, truth float64, count *int) string {
	if !i.Contains(truth) {
		return "no"
	}
	*count++
	return "yes"
}

// pooled pools a ratio of every cell over runs.
func pooled(runs []*analysis.Run, of func(analysis.Row) stat.Interval) map[string]stat.Pooled {
	all, out := map[string][]stat.Interval{}, map[string]stat.Pooled{}
	for _, run := range runs {
		for t, r := range run.Rows() {
			if i := of(*r); i.N > 0 {
				cell := t.Cell(*r).String()
				all[cell] = append(all[cell], i)
			}
		}
	}
	for cell, is := range all {
		out[cell] = stat.Pool(is, 0.95)
	}
	return out
}

func rowsByCell(tables []analysis.Table) map[string]analysis.Row {
	out := map[string]analysis.Row{}
	for _, t := range tables {
		for _, r := range t.Rows {
			out[t.Cell(r).String()] = r
		}
	}
	return out
}
