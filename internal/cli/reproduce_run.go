package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// existing tests claims on existing results. A claim can have an outcome per run or series of runs.
// With asked, claims that none tests get one as well.
func (r *reproduction) existing(claims []claim.Claim, dirs []string, asked bool) error {
	var outcomes []claim.Outcome
	for _, dir := range dirs {
		for _, one := range resultsIn(dir) {
			_, found, err := r.judge(claims, one)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, found...)
		}
	}
	if asked {
		outcomes = append(outcomes, untested(claims, outcomes, lang.T("these results do not test it"))...)
	}
	return r.print(claims, outcomes, nil)
}

// resultsIn returns dir if it holds a run or a series, or else the directories of those below it, as
// in that of a reproduction.
func resultsIn(dir string) []string {
	if _, err := store.Runs(dir); err == nil {
		return []string{dir}
	}
	var below []string
	entries, _ := os.ReadDir(dir) // judge reports a directory without results
	for _, e := range entries {
		if one := filepath.Join(dir, e.Name()); e.IsDir() {
			if _, err := store.Runs(one); err == nil {
				below = append(below, one)
			}
		}
	}
	if below == nil {
		return []string{dir}
	}
	return below
}

// judge returns the trials of the run or the series in dir and the outcomes of the claims that they
// test.
func (r *reproduction) judge(claims []claim.Claim, dir string) (all []record.Result, outcomes []claim.Outcome, _ error) {
	dirs, err := store.Runs(dir)
	if err != nil {
		return nil, nil, usage("cannot read results from %w", err)
	}
	var runs []*analysis.Run
	for _, one := range dirs {
		rep, err := load(one, r.keep)
		if err != nil {
			return nil, nil, err
		}
		warn(rep.Problems...)
		runs, all = append(runs, rep.Analysis), append(all, rep.Results...)
	}
	s, err := storedStudy(dirs[0])
	if err != nil {
		return nil, nil, err
	}
	outcomes = claim.JudgeRuns(claims, s, runs)
	for i := range outcomes {
		outcomes[i].From = dir
	}
	return all, outcomes, nil
}

// run runs each study that tests claims.
func (r *reproduction) run(ctx context.Context, claims []claim.Claim) error {
	var outcomes []claim.Outcome
	var studies []study.Study
	for _, c := range claims {
		if err := missing(c); err != nil {
			outcomes = append(outcomes, c.Cannot(lang.Stored(err.Error())))
			continue
		}
		s, err := runnable(c.Study, r.fast, r.keep)
		if err != nil {
			return err
		}
		if r.dir == "" || !started(r.runner(s, 1).dir) { // trials that exist need no programs
			why, err := notInstalled(s, c)
			if err != nil {
				return err
			}
			if why != "" {
				outcomes = append(outcomes, c.Cannot(why))
				continue
			}
		}
		if !slices.ContainsFunc(studies, func(has study.Study) bool { return has.Name == s.Name }) {
			studies = append(studies, s)
		}
	}
	if len(studies) == 0 {
		return r.print(claims, outcomes, nil)
	}
	return place.Lab.Enter(ctx, func() error {
		results, measured, err := r.measure(ctx, studies, claims)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, measured...)
		outcomes = append(outcomes, untested(claims, outcomes, lang.T("the existing results are from another form of the study"))...)
		return r.print(claims, outcomes, results)
	})
}

func missing(c claim.Claim) error {
	for _, cell := range c.Cells() {
		if err := catalog.Missing(c.Study, study.Cell{Network: cell.Network, Probe: cell.Probe, Levels: cell.Levels}); err != nil {
			return err
		}
	}
	return nil
}

// measure runs the missing trials of each study, and returns all trials and the outcomes of their
// claims. With several runs, each of them goes through all studies.
func (r *reproduction) measure(ctx context.Context, studies []study.Study, claims []claim.Claim) (all []record.Result, outcomes []claim.Outcome, _ error) {
	r.dir = cmp.Or(r.dir, filepath.Join("weir-results", "reproduce-"+time.Now().Format("20060102-150405")))
	again := r.again(claims)
	todo, err := r.prepare(studies)
	if err != nil {
		return nil, nil, exit(exitEnvironment, err)
	}
	s := newSchedule(r.Series, say)
	s.wait = func(ctx context.Context, d time.Duration) error {
		err := wait(ctx, d)
		if err != nil {
			warn(lang.T("continue with: %s", again))
		}
		return err
	}
	old, last := s.begun(func(n int) string { return r.runner(studies[0], n).dir })
	err = s.each(ctx, todo, old, last, func(n int, _ time.Time) error {
		for i, s := range studies {
			say(lang.T("study %d of %d: %s", i+1, len(studies), s.Name))
			one := r.runner(s, n)
			one.resumeCmd = again
			if err := r.one(ctx, one); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, s := range studies {
		dir := filepath.Join(r.dir, s.Name)
		results, found, err := r.judge(claims, dir)
		if err == nil && r.Runs > 1 {
			err = r.pool(dir)
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, results...)
		for _, o := range found {
			// The run can also contain another claim's cells, but that claim's own study runs too.
			if o.Claim.Study.Name == s.Name {
				outcomes = append(outcomes, o)
			}
		}
	}
	return all, outcomes, nil
}

// runner returns the runner of run n of a study, from 1.
func (r *reproduction) runner(s study.Study, n int) *runner {
	one := &runner{version: r.version, at: place.Lab, study: s, dir: filepath.Join(r.dir, s.Name)}
	if r.Runs > 1 {
		one.dir, one.name = store.RunDir(one.dir, n), lang.T("run %d of %d", n, r.Runs)
		if s.Seed != 0 {
			one.study.Seed += uint64(n - 1)
		}
	}
	if started(one.dir) {
		one.resume = one.dir
	}
	return one
}

// prepare makes the directories of the studies' series, or checks that they are of this one, and
// returns the numbers of the runs that some study lacks. A single run is always completed.
func (r *reproduction) prepare(studies []study.Study) (todo []int, _ error) {
	if r.Runs == 1 {
		return []int{1}, nil
	}
	for _, s := range studies {
		dir := filepath.Join(r.dir, s.Name)
		has, err := store.ReadSeries(dir)
		if errors.Is(err, fs.ErrNotExist) {
			has, err = r.Series, store.CreateSeries(dir, r.Series)
		}
		if err != nil {
			return nil, err
		}
		if has != r.Series {
			return nil, fmt.Errorf("%s: holds a series of %d runs, %v apart; give --runs %d --every %v, or use another -o", dir, has.Runs, has.Every, has.Runs, has.Every)
		}
	}
	for n := 1; n <= r.Runs; n++ {
		for _, s := range studies {
			done, err := r.runner(s, n).finished()
			if err != nil {
				return nil, err
			}
			if !done {
				todo = append(todo, n)
				break
			}
		}
	}
	return todo, nil
}

// one runs the trials that a run lacks, and stores its report.
func (r *reproduction) one(ctx context.Context, one *runner) (err error) {
	if one.resume != "" {
		done, err := one.finished()
		if err != nil {
			return exit(exitEnvironment, err)
		}
		if done && r.Runs > 1 {
			return nil
		}
		say(lang.T("%s holds results; completing them with their own study", one.dir))
		if one.study, err = storedStudy(one.dir); err != nil {
			return err
		}
	}
	rep, err := one.complete(ctx, r.keep)
	if err == nil {
		remember(rep)
	}
	return err
}

// pool stores the pooled report of a study's series.
func (r *reproduction) pool(dir string) error {
	dirs, err := store.Runs(dir)
	if err != nil {
		return err
	}
	page, err := pool(dirs, r.keep)
	if err != nil {
		warn(lang.Text(fmt.Sprintf("%s: %v", dir, err)))
		return nil
	}
	d, err := store.OpenSeries(dir)
	if err != nil {
		return exit(exitEnvironment, err)
	}
	return exit(exitEnvironment, errors.Join(writeReports(d, page), d.Close()))
}

// again returns the command that continues after an interruption.
func (r *reproduction) again(claims []claim.Claim) string {
	argv := []string{"weir", "reproduce", "-o", r.dir}
	if r.fast {
		argv = append(argv, "--fast")
	}
	if r.keep {
		argv = append(argv, "--keep-disturbed")
	}
	if r.Runs > 1 {
		argv = append(argv, "--runs", strconv.Itoa(r.Runs), "--every", r.Every.String())
	}
	if len(claims) == len(claimNames()) {
		return strings.Join(append(argv, "--all"), " ")
	}
	for _, c := range claims {
		argv = append(argv, c.ID)
	}
	return strings.Join(argv, " ")
}

// untested returns an outcome for each claim without one.
func untested(claims []claim.Claim, outcomes []claim.Outcome, why lang.Text) (more []claim.Outcome) {
	for _, c := range claims {
		if !slices.ContainsFunc(outcomes, func(o claim.Outcome) bool { return o.Claim.ID == c.ID }) {
			more = append(more, c.Cannot(why))
		}
	}
	return more
}
