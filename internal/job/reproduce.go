package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// ReproduceOptions say which claims to test, and how.
type ReproduceOptions struct {
	Caller
	Claims     []claim.Claim
	Dir        string       // for the results of each study, in a directory of its own; "": one named after the time
	Fast, Keep bool         // the fast form of each study; count disturbed trials
	Series     store.Series // of every study
	Package    *Unpacked    // whose studies are measured again; nil: shipped claims alone
}

// A Reproduction measures studies that test claims.
type Reproduction struct {
	ReproduceOptions
	Studies  []study.Study   // none: there is nothing to measure
	outcomes []claim.Outcome // of claims that cannot be tested
}

// PlanReproduction returns what to measure: a study without the programs that it needs is left out.
func PlanReproduction(o ReproduceOptions) (*Reproduction, error) {
	r := &Reproduction{ReproduceOptions: o}
	if o.Package != nil {
		r.outcomes = o.Package.cannot
		for _, s := range o.Package.studies {
			s, err := runnable(s, r.Fast, r.Keep)
			if err != nil {
				return nil, err
			}
			r.Studies = append(r.Studies, s)
		}
	}
	for _, c := range o.Claims {
		if err := missing(c); err != nil {
			r.outcomes = append(r.outcomes, c.Cannot(lang.Stored(err.Error())))
			continue
		}
		s, err := runnable(c.Study, r.Fast, r.Keep)
		if err != nil {
			return nil, err
		}
		if r.Dir == "" || !Started(r.runner(s, 1).Dir) { // trials that exist need no programs
			why, err := notInstalled(s, c)
			if err != nil {
				return nil, err
			}
			if why != "" {
				r.outcomes = append(r.outcomes, c.Cannot(why))
				continue
			}
		}
		if !slices.ContainsFunc(r.Studies, func(has study.Study) bool { return has.Name == s.Name }) {
			r.Studies = append(r.Studies, s)
		}
	}
	return r, nil
}

// Run measures, in the lab, which has been entered, the trials that the studies lack, and judges the claims.
func (r *Reproduction) Run(ctx context.Context) (Reproduced, error) {
	if len(r.Studies) == 0 {
		return r.reproduced(r.outcomes, nil), nil
	}
	results, measured, err := r.measure(ctx)
	if err != nil {
		return Reproduced{}, err
	}
	all := append(r.outcomes, slices.DeleteFunc(measured, func(o claim.Outcome) bool { // its study ran without the missing programs
		return slices.ContainsFunc(r.outcomes, func(x claim.Outcome) bool { return x.Claim.ID == o.Claim.ID })
	})...)
	all = append(all, untested(r.Claims, all, lang.T("the existing results are from another form of the study"))...)
	return r.reproduced(all, results), nil
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
func (r *Reproduction) measure(ctx context.Context) (all []record.Result, outcomes []claim.Outcome, _ error) {
	r.Dir = NewDir(r.Dir, "reproduce")
	again := r.again()
	todo, err := r.prepare()
	if err != nil {
		return nil, nil, failure.Environment.Of(err)
	}
	s := newSchedule(r.Series, r.Tell.Say)
	s.wait = func(ctx context.Context, d time.Duration) error {
		err := wait(ctx, d)
		if err != nil {
			r.Tell.Warn(lang.T("continue with: %s", again))
		}
		return err
	}
	old, last := s.begun(func(n int) string { return r.runner(r.Studies[0], n).Dir })
	err = s.each(ctx, todo, old, last, func(n int, _ time.Time) error {
		for i, s := range r.Studies {
			r.Tell.Say(lang.T("study %d of %d: %s", i+1, len(r.Studies), s.Name))
			one := r.runner(s, n)
			one.ResumeCmd = again
			if err := r.completeStudy(ctx, one, r.Keep, r.Series.Runs > 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, s := range r.Studies {
		dir := filepath.Join(r.Dir, s.Name)
		results, found, err := r.judge(dir)
		if err == nil && r.Series.Runs > 1 {
			err = r.storePool(dir)
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
func (r *Reproduction) runner(s study.Study, n int) *runner {
	one := &runner{RunOptions{Caller: r.Caller, At: place.Lab, Study: s, Dir: filepath.Join(r.Dir, s.Name)}}
	if r.Series.Runs > 1 {
		one.Dir, one.Name = store.RunDir(one.Dir, n), lang.T("run %d of %d", n, r.Series.Runs)
		if s.Seed != 0 {
			one.Study.Seed += uint64(n - 1)
		}
	}
	if Started(one.Dir) {
		one.Resume = one.Dir
	}
	return one
}

// prepare makes the directories of the studies' series, or checks that they belong to this one, and returns the numbers
// of the runs that some study lacks. A single run is always completed.
func (r *Reproduction) prepare() (todo []int, _ error) {
	if r.Series.Runs == 1 {
		return []int{1}, nil
	}
	for _, s := range r.Studies {
		dir := filepath.Join(r.Dir, s.Name)
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
	for n := 1; n <= r.Series.Runs; n++ {
		for _, s := range r.Studies {
			done, err := Finished(r.runner(s, n).Dir)
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

// completeStudy runs the trials that a run lacks, according to the study stored with it, and stores its report. With
// keepFinished, a finished run stays as it is.
func (c Caller) completeStudy(ctx context.Context, one *runner, keep, keepFinished bool) (err error) {
	if one.Resume != "" {
		done, err := Finished(one.Dir)
		if err != nil {
			return failure.Environment.Of(err)
		}
		if done && keepFinished {
			return nil
		}
		c.Tell.Say(lang.T("%s holds results; completing them with their own study", one.Dir))
		if one.Study, err = StoredStudy(one.Dir); err != nil {
			return err
		}
	}
	a, err := one.complete(ctx, keep)
	if err == nil {
		c.remember(a)
	}
	return err
}

// storePool stores the pooled report of a study's series.
func (r *Reproduction) storePool(dir string) error {
	dirs, err := store.Runs(dir)
	if err != nil {
		return err
	}
	page, err := Pool(dirs, r.Keep)
	if err != nil {
		r.Tell.Warn(lang.Text(fmt.Sprintf("%s: %v", dir, err)))
		return nil
	}
	d, err := store.OpenSeries(dir)
	if err != nil {
		return failure.Environment.Of(err)
	}
	return failure.Environment.Of(errors.Join(r.writeReports(d, page), d.Close()))
}

// again returns the command that continues after an interruption.
func (r *Reproduction) again() string {
	argv := []string{"weir", "reproduce", "-o", r.Dir}
	if r.Package != nil {
		argv = append(argv, plan.ShellWord(r.Package.name))
	}
	if r.Fast {
		argv = append(argv, "--fast")
	}
	if r.Keep {
		argv = append(argv, "--keep-disturbed")
	}
	if r.Series.Runs > 1 {
		argv = append(argv, "--runs", strconv.Itoa(r.Series.Runs), "--every", r.Series.Every.String())
	}
	if shipped, err := claim.Shipped(); err == nil && len(r.Claims) == len(shipped) || r.Package != nil {
		if r.Package == nil {
			argv = append(argv, "--all")
		}
		return strings.Join(argv, " ")
	}
	for _, c := range r.Claims {
		argv = append(argv, c.ID)
	}
	return strings.Join(argv, " ")
}
