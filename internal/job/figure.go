package job

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/study"
)

// FigureOptions say for which figures to measure, and how.
type FigureOptions struct {
	Caller
	Figures    []figure.Figure
	Dir        string             // for the results of each study, in a directory of its own
	Fast, Keep bool               // the fast form of each study; count disturbed trials
	ResumeCmd  string             // the command that continues
	Form       func(*study.Study) // sets the blocks and durations of a study that the user chose
	VM         *VM                // for the trials; nil runs them here
}

// MeasureFigures measures the part of each study that its figures need. It runs in the lab, which has been entered,
// unless a virtual machine has the lab.
func MeasureFigures(ctx context.Context, o FigureOptions) error {
	groups := map[string][]figure.Figure{} // by study
	for _, f := range o.Figures {
		groups[f.Study.Name] = append(groups[f.Study.Name], f)
	}
	var todo []*runner
	var total time.Duration
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		s, err := runnable(figure.Needed(groups[name]), o.Fast, o.Keep)
		if err == nil {
			o.Form(&s)
			err = s.Validate()
		}
		if err != nil {
			return failure.Usage.Of(err)
		}
		one := &runner{RunOptions{Caller: o.Caller, At: place.Lab, Study: s, Dir: filepath.Join(o.Dir, name), ResumeCmd: o.ResumeCmd, VM: o.VM}}
		if Started(one.Dir) { // by a run that lacks what these figures need, or by an interrupted one
			stored, err := StoredStudy(one.Dir)
			if err != nil {
				return err
			}
			if covers(stored, groups[name]) {
				one.Resume = one.Dir
			} else {
				one.Dir = filepath.Join(o.Dir, groups[name][0].ID)
			}
		}
		total += catalog.Estimate(s)
		todo = append(todo, one)
	}
	o.Tell.Say(lang.T("studies to measure: %d, %s", len(todo), About(total)))
	for i, one := range todo {
		o.Tell.Say(lang.T("study %d of %d: %s", i+1, len(todo), one.Study.Name))
		if err := o.completeStudy(ctx, one, o.Keep, false); err != nil {
			return err
		}
	}
	return nil
}
