package bisection

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bisect/group"
	"github.com/weir-bench/weir/internal/bisect/settings"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

// Run measures in the lab, which has been entered, until the cause is found.
func (b *Settings) Run(ctx context.Context) (*settings.Result, error) {
	if err := b.try(ctx); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(b.Dir, 0o777); err != nil {
		return nil, failure.Environment.Errorf("%w: give a directory that can be written (-o)", err)
	}
	r := &b.Result
	if len(r.Settings) == 0 {
		r.Kind = settings.CannotApply
		return r, b.keep()
	}
	search := group.New(len(r.Settings), b.expected())
	for n := 1; ; n++ {
		step, more := search.Next()
		if !more {
			break
		}
		got, dir, err := b.measure(ctx, n, step, search.Outcome())
		if err != nil {
			return nil, err
		}
		search.Answer(step, got)
		r.Add(dir, step, got)
	}
	out := search.Outcome()
	if out.Effect.SE == 0 {
		return nil, failure.Environment.Errorf("AFTER's settings give no ratio in the lab: %s; %s has the last run; give it more --max-time, or --blocks", r.Missing, filepath.Join(b.Dir, r.Steps[len(r.Steps)-1].Dir))
	}
	r.Conclude(out)
	return r, b.keep()
}

func (b *Settings) expected() float64 {
	if b.Result.Recorded > 0 {
		return math.Log(b.Result.Recorded)
	}
	return 0
}

// SettingsFile holds the Result in the directory of a bisection.
const SettingsFile = "bisect.json"

func (b *Settings) keep() error {
	all, err := json.MarshalIndent(b.Result, "", "  ")
	if err == nil {
		err = store.WriteFile(filepath.Join(b.Dir, SettingsFile), append(all, '\n'))
	}
	return failure.Environment.Of(err)
}

// try applies the steps of each setting once, and moves those that this machine refuses to Unapplied.
func (b *Settings) try(ctx context.Context) (err error) {
	if !slices.ContainsFunc(b.Result.Settings, func(s settings.Setting) bool { return len(s.Steps(true))+len(s.Steps(false)) > 0 }) {
		return nil
	}
	s := b.Study
	s.Networks, s.Compare, s.Baseline, s.Target = []study.Use{b.common}, nil, b.common.Name, study.Target{}
	on, p, err := job.Plan(s)
	if err != nil {
		return err
	}
	site, err := place.Lab.Open(ctx, on, "")
	if err != nil {
		return failure.Environment.Of(err)
	}
	defer func() { err = errors.Join(err, failure.Environment.Of(site.Close())) }()
	if err := site.Apply(ctx, p.Steps); err != nil {
		return failure.Environment.Of(err)
	}
	b.Result.Differences = b.Result.Differences.Without(func(s settings.Setting) lang.Text {
		for _, side := range []bool{true, false} {
			if err := site.Apply(ctx, s.Steps(side)); err != nil {
				return lang.T("this machine refuses it: %v", err)
			}
		}
		return ""
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// measure makes the comparisons of a step, or reads them if they exist.
func (b *Settings) measure(ctx context.Context, n int, step group.Step, so group.Outcome) (got []group.Estimate, dir string, err error) {
	x, at, err := b.Result.Study(b.Study, b.common, b.of, step)
	if err != nil {
		return nil, "", failure.Usage.Of(err)
	}
	dir = fmt.Sprintf("%02d-%s", n, step.Stage)
	b.Tell.Say(b.about(n, step))
	a, err := b.one(ctx, filepath.Join(b.Dir, dir), b.precise(x, so))
	if err != nil {
		return nil, "", err
	}
	broken := lang.Text("")
	for _, i := range at {
		var e group.Estimate
		if i < len(a.Analysis.Contrasts) && len(a.Analysis.Contrasts[i].Rows) > 0 {
			row := a.Analysis.Contrasts[i].Rows[0]
			if e = group.Of(row.Ratio); e.SE == 0 {
				broken = cmp.Or(broken, lang.Text(row.Missing), lang.Text(row.Ratio.Reason()), lang.T("nothing bounds it, as too little arrived in some trials"))
			}
		} else {
			broken = cmp.Or(broken, lang.T("no trial has a value"))
		}
		got = append(got, e)
	}
	b.Result.Missing = broken
	return got, dir, nil
}

// about says what a step compares.
func (b *Settings) about(n int, s group.Step) lang.Text {
	switch s.Stage {
	case group.Change:
		return lang.T("run %d: do the %d settings together change it?", n, len(b.Result.Settings))
	case group.Confirm:
		var names []string
		for _, m := range s.Cause.Members {
			names = append(names, b.Result.Settings[m].String())
		}
		return lang.T("run %d: does %s change it alone, and is the change gone without it?", n, strings.Join(names, ", "))
	}
	return lang.T("run %d: %d settings against %d", n, len(s.Comparisons[0].To.Members()), len(s.Comparisons[0].From.Members()))
}

// Bounds of the precision that a run aims at: relative half widths.
const (
	finest   = 0.005
	usual    = 0.03
	coarsest = 0.5
)

// precise gives a study the windows that were asked for, and as many blocks as the effect needs.
func (b *Settings) precise(s study.Study, so group.Outcome) study.Study {
	if b.Fast {
		s = s.Faster()
	}
	s.Blocks, s.Precision, s.MaxTime = b.Blocks, 0, 0
	s.KeepDisturbed = s.KeepDisturbed || b.Keep
	if b.MaxTime == 0 {
		return s
	}
	effect := so.Effect.Log
	if effect == 0 {
		effect = b.expected()
	}
	s.Precision, s.MaxTime = usual, b.MaxTime
	if effect != 0 {
		s.Precision = min(max(math.Expm1(0.6*math.Abs(effect)), finest), coarsest)
	}
	return s
}

// one completes the run in dir.
func (b *Settings) one(ctx context.Context, dir string, s study.Study) (*account.Account, error) {
	switch other, err := job.Another(dir, s); {
	case err != nil:
		return nil, err
	case other:
		return nil, failure.Usage.Errorf("%s holds a run of another bisection: give this one another directory (-o)", dir)
	}
	return job.Complete(ctx, job.RunOptions{Caller: b.Caller, At: place.Lab, Study: s, Dir: dir, ResumeCmd: b.Again, Ratios: allContrasts}, b.Keep)
}

// allContrasts yields the ratios that a study states.
func allContrasts(run *analysis.Run) iter.Seq2[stat.Interval, float64] {
	return func(yield func(stat.Interval, float64) bool) {
		for _, c := range run.Contrasts {
			for _, x := range c.Rows {
				if x.Ratio.N > 0 && !yield(x.Ratio, run.Each) {
					return
				}
			}
		}
	}
}
