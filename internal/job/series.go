package job

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// A series is several complete runs of one study. Between runs, only the waiting process remains.
type series struct {
	runner // of each run; its dir and resume are those of the series
	schedule
}

// run runs the series, or what is left of it, and reports. On an error it still reports the finished
// runs.
func (s *series) run(ctx context.Context) (*Outcome, error) {
	todo, err := s.prepare()
	if err != nil {
		return nil, err
	}
	d, err := store.OpenSeries(s.Dir)
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	defer d.Close()
	left := todo
	old, last := s.begun(func(n int) string { return store.RunDir(s.Dir, n) })
	ended := s.each(ctx, todo, old, last, func(n int, begun time.Time) error {
		err := s.one(ctx, n, len(left)-1, begun)
		if err == nil {
			left = left[1:]
		}
		return err
	})
	var finished []string
	for n := 1; n <= s.Runs; n++ {
		if !slices.Contains(left, n) {
			finished = append(finished, store.RunDir(s.Dir, n))
		}
	}
	if ended != nil {
		s.Tell.Warn(lang.T("%d of %d runs are finished in %s; %s", len(finished), s.Runs, s.Dir, s.resumeHint()))
		if len(finished) == 0 {
			return nil, ended
		}
	}
	out, err := s.report(d, finished)
	switch {
	case ended == nil:
		return out, err
	case err != nil:
		s.Tell.Warn(FinishedRuns(err))
		return nil, ended
	}
	out.Ended = ended
	return out, nil
}

// FinishedRuns says what is wrong with the finished runs of a series that ended early.
func FinishedRuns(err error) lang.Text { return lang.T("the finished runs: %v", err) }

// prepare makes the directory of the series, or opens it, and returns the numbers of the runs that are not finished, in
// order. A run with trials to try again is not finished, although later ones can be.
func (s *series) prepare() (todo []int, err error) {
	if s.Study.Seed == 0 {
		s.Study.Seed = rand.Uint64()>>1 + 1
	}
	if s.Resume == "" {
		s.Dir = s.newDir()
		if err := store.CreateSeries(s.Dir, s.Series); err != nil {
			return nil, failure.Environment.Of(err)
		}
		one, many := catalog.Estimate(s.Study), lang.Text("")
		if s.Every > 0 {
			many = lang.T(", %v apart", s.Every)
		}
		s.say(lang.T("%d runs%s, each %s: %s in all", s.Runs, many, About(one), About(s.total(one))))
	} else {
		s.Dir = s.Resume
	}
	s.ResumeCmd = "weir run --resume " + plan.ShellWord(s.Dir)
	for n := 1; n <= s.Runs; n++ {
		done, err := Finished(s.nth(n).Dir)
		if err != nil {
			return nil, failure.Environment.Of(err)
		}
		if !done {
			todo = append(todo, n)
		}
	}
	return todo, nil
}

// nth returns the runner of run n, from 1. Each run's seed is the previous one plus 1, so that the
// first seed repeats the whole series.
func (s *series) nth(n int) *runner {
	r := s.runner
	r.Dir, r.Resume = store.RunDir(s.Dir, n), ""
	r.Study.Seed += uint64(n - 1)
	if Started(r.Dir) {
		r.Resume = r.Dir
	}
	return &r
}

// startOf returns when the first trial of a run began; zero if it has none.
func startOf(dir string) time.Time {
	c, err := store.Read(dir)
	if err != nil || len(c.Results) == 0 {
		return time.Time{}
	}
	return c.Results[0].Start
}

// one runs run n, stores its report and prints a line about it. after is the number of runs that follow.
func (s *series) one(ctx context.Context, n, after int, begun time.Time) error {
	// The report of the previous run left garbage and a different GC target (see load), but every run must begin in the
	// same state.
	debug.SetGCPercent(100)
	debug.FreeOSMemory()
	r := s.nth(n)
	r.Name = lang.T("run %d of %d", n, s.Runs)
	r.Left = func(run time.Duration) time.Duration { return s.left(after, begun, run) }
	rep, err := r.complete(ctx, false)
	if err != nil {
		return err
	}
	r.remember(rep)
	s.say(lang.T("%s: %v, %s: %s", r.Name, s.now().Sub(begun).Round(time.Second), census(rep.Results), filepath.Join(r.Dir, "report.html")))
	return nil
}

// census counts trials: "12 trials, 11 ok".
func census(results []record.Result) lang.Text {
	ok := 0
	for _, r := range results {
		if r.Status == record.OK {
			ok++
		}
	}
	return lang.T("%d trials, %d ok", len(results), ok)
}

// report stores the pooled report of runs.
func (s *series) report(d *store.SeriesDir, dirs []string) (*Outcome, error) {
	var all []record.Result
	for _, dir := range dirs {
		c, err := store.Read(dir)
		if err != nil {
			return nil, s.stopped(d.OrGone(err))
		}
		all = append(all, c.Results...)
	}
	page, err := poolSeries(s.Dir, dirs, false)
	if gone := d.OrGone(err); errors.Is(gone, store.ErrGone) {
		return nil, s.stopped(gone)
	}
	if err != nil { // no result to pool: the trials give the reasons, or name the programs that disturbed them
		return nil, cmp.Or(verdict(all), err)
	}
	if err := s.writeReports(d, page); err != nil {
		return nil, s.stopped(err)
	}
	return &Outcome{Dir: s.Dir, Report: page, Verdict: verdict(all)}, nil
}
