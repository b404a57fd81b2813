package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

// An Outcome is the result of a run, or of a series of runs.
type Outcome struct {
	Dir     string        // of the results
	Report  *doc.Document // nil: there is none to show here
	Verdict error         // says that trials are not ok
	Ended   error         // what ended a series before all its runs were finished
}

// Load reads a results directory, complete or not, and analyzes it. With keep, disturbed trials count even if the study
// excludes them.
func Load(dir string, keep bool) (*account.Account, error) {
	return read(dir, account.Options{KeepDisturbed: keep})
}

// LoadInside is Load for reports and figures of one run, which also show what its trials sampled inside their windows.
func LoadInside(dir string, keep bool) (*account.Account, error) {
	return read(dir, account.Options{KeepDisturbed: keep, Depth: account.Inside})
}

// Trials reads the results of a run one at a time, without an analysis (account.Trials).
func Trials(dir string) (account.Contents, iter.Seq2[*record.Result, error], error) {
	c, trials, err := account.Trials(dir)
	return c, trials, failure.Usage.Of(err)
}

// Single is Load for one run: it refuses a series, whose runs each have an explanation of their own.
func Single(dir string, keep bool) (*account.Account, error) {
	runs, err := store.Runs(dir)
	if err != nil {
		return nil, failure.Usage.Errorf("cannot read results from %w", err)
	}
	if runs[0] != dir {
		return nil, failure.Usage.Errorf("%s holds a series of %d runs, and an explanation is of one; give one of them, such as %s", dir, len(runs), runs[0])
	}
	return Load(dir, keep)
}

// LoadAll reads several runs, and tells what it cannot read of them.
func LoadAll(dirs []string, keep bool, tell lang.Teller) (all []*account.Account, _ error) {
	for _, dir := range dirs {
		a, err := loadTold(dir, keep, tell)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// loadTold is Load that tells what cannot be read.
func loadTold(dir string, keep bool, tell lang.Teller) (*account.Account, error) {
	a, err := Load(dir, keep)
	if err == nil {
		tell.Warn(a.Problems...)
	}
	return a, err
}

func read(dir string, o account.Options) (*account.Account, error) {
	// The results of a long run dominate memory until the end, and the garbage collector's default would let as much
	// garbage pile up again. Less garbage takes 10 % more CPU time for 18,000 trials, and 25 % for 672.
	if store.Size(dir) >= account.LargeSize {
		debug.SetGCPercent(50)
	}
	a, err := account.Read(dir, o)
	return a, failure.Usage.Of(err)
}

// writeReports stores a report in the user's language.
func (c Caller) writeReports(d interface{ File(string, []byte) error }, page *doc.Document) error {
	page.Lang = c.Lang
	var html, md bytes.Buffer
	if err := errors.Join(render.HTML(&html, page), render.Markdown(&md, page)); err != nil {
		return err
	}
	if err := d.File("report.html", html.Bytes()); err != nil {
		return err
	}
	return d.File("report.md", md.Bytes())
}

// remember adds a completed run to the history of this machine. It never fails a run.
func (c Caller) remember(a *account.Account) {
	if err := a.Remember(); err != nil {
		c.Tell.Note(lang.T("%v; later runs cannot use this one to judge how much runs differ", err))
	}
}

// complete runs the trials that lack a result, and stores the report.
func (r *runner) complete(ctx context.Context, keep bool) (a *account.Account, err error) {
	d, err := r.measure(ctx)
	if err != nil {
		return nil, err
	}
	if a, err = LoadInside(r.Dir, keep); err != nil {
		err = d.OrGone(err)
	} else {
		err = r.writeReports(d, section.Report(a))
	}
	if err := errors.Join(err, d.Close()); err != nil {
		return nil, r.stopped(err)
	}
	return a, nil
}

// Complete returns the account of the run in o.Dir, after it has measured the trials that the run lacks: of o.Study, or
// of its own study if the run has begun. Disturbed trials count with keep. The run is not remembered in the history of
// this machine.
func Complete(ctx context.Context, o RunOptions, keep bool) (*account.Account, error) {
	r := runner{o}
	if !Started(o.Dir) {
		return r.complete(ctx, keep)
	}
	if done, err := Finished(o.Dir); err != nil {
		return nil, failure.Environment.Of(err)
	} else if done {
		return Load(o.Dir, keep)
	}
	var err error
	if r.Study, err = StoredStudy(o.Dir); err != nil {
		return nil, err
	}
	r.Resume = o.Dir
	return r.complete(ctx, keep)
}

// report stores the report of the results in d, and closes d.
func (r *runner) report(d *store.Dir) (*Outcome, error) {
	defer d.Close()
	a, err := LoadInside(r.Dir, false)
	if err != nil {
		return nil, r.stopped(d.OrGone(err))
	}
	page := section.Report(a)
	if err := r.writeReports(d, page); err != nil {
		return nil, r.stopped(err)
	}
	r.remember(a)
	return &Outcome{Dir: r.Dir, Report: page, Verdict: verdict(a.Results)}, nil
}

// verdict is the error for trials that are not ok.
func verdict(results []record.Result) error {
	n := map[record.Status]int{}
	for _, r := range results {
		n[r.Status]++
	}
	if bad := n[record.Invalid] + n[record.Failed]; bad > 0 {
		return fmt.Errorf("%d of %d trials failed or are invalid; the report gives the reasons", bad, len(results))
	}
	if n[record.Skipped] > 0 {
		return failure.Environment.Errorf("%d of %d trials were skipped; the report lists what is missing", n[record.Skipped], len(results))
	}
	if len(results) == 0 {
		return errors.New("no trial was run")
	}
	return nil
}
