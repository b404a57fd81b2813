package bisection

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bisect/group"
	"github.com/weir-bench/weir/internal/bisect/settings"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/local"
)

// SettingsOptions say what to bisect between, and how to measure.
type SettingsOptions struct {
	job.Caller
	Before, After  string // results directories; both "": the kernel's defaults and this machine
	Study          study.Study
	Network, Probe string // to bisect; "": those that changed most
	Dir            string // for the results
	Fast, Keep     bool   // short windows; count disturbed trials
	Blocks         int
	MaxTime        time.Duration // of each run, whose blocks are as many as it needs; 0: Blocks is all
	Again          string        // the command that continues
}

// A Settings looks for the setting that explains a change.
type Settings struct {
	SettingsOptions
	Result settings.Result
	common study.Use // the network without what differs
	of     settings.Cell
}

// PlanSettings reads two runs and compares their settings. It measures nothing.
func PlanSettings(o SettingsOptions) (*Settings, error) {
	runs, err := job.LoadSide([]string{o.Before}, o.Tell)
	if err != nil {
		return nil, err
	}
	later, err := job.LoadSide([]string{o.After}, o.Tell)
	if err != nil {
		return nil, err
	}
	before, after := runs[0], later[0]
	b := &Settings{SettingsOptions: o, Result: settings.Result{Before: o.Before, After: o.After}}
	if err := b.choose(before, after, analysis.Compare(account.Analyses(runs), account.Analyses(later), 0)); err != nil {
		return nil, err
	}
	b.Study = before.Spec
	b.Result.Differences, b.common, err = settings.Compare(b.side(before), b.side(after), b.of.Network)
	if err != nil || b.Result.None() {
		return b, failure.Usage.Of(err)
	}
	return b, b.check(b.Result.Differences)
}

// side returns the part of a run that package settings compares.
func (b *Settings) side(a *account.Account) settings.Run {
	r := settings.Run{Study: a.Spec, Conditions: a.Conditions()}
	for _, x := range a.Results {
		if s := a.Settings[x.Trial]; s != nil && x.Config[analysis.Network] == b.of.Network && (r.Path == nil || x.Config[analysis.Probe] == b.of.Probe) {
			r.Path = s
			if x.Config[analysis.Probe] == b.of.Probe {
				break
			}
		}
	}
	return r
}

// choose picks the cell whose ratio to the baseline changed most clearly.
func (b *Settings) choose(before, after *account.Account, c analysis.Comparison) error {
	var common []study.Use
	for _, u := range before.Spec.Networks {
		if v, ok := after.Spec.Network(u.Name); ok && v.Kind == u.Kind {
			common = append(common, u)
		}
	}
	asked := func(cell analysis.Cell) bool {
		return slices.ContainsFunc(common, func(u study.Use) bool { return u.Name == cell.Network }) &&
			(b.Network == "" || cell.Network == b.Network) && (b.Probe == "" || cell.Probe == b.Probe)
	}
	if common == nil {
		return failure.Usage.Errorf("%s and %s are runs of different networks (%s; %s): bisect runs that have a network in common", b.Before, b.After, strings.Join(study.Names(before.Spec.Networks), ", "), strings.Join(study.Names(after.Spec.Networks), ", "))
	}
	var best *analysis.Change
	clear := func(x *analysis.Change) float64 {
		if !(x.Ratio.Center > 0) {
			return 0
		}
		return math.Abs(math.Log(x.Ratio.Center)) / max(x.Ratio.LogSE(), 0.005)
	}
	for _, of := range [][]analysis.Change{c.Changes, c.Absolute} {
		for i, x := range of {
			if asked(x.Cell) && (best == nil || clear(&of[i]) > clear(best)) {
				best = &of[i]
			}
		}
		if best != nil {
			break
		}
	}
	if best == nil && b.alike(before.Spec, after.Spec, common) {
		return nil
	}
	if best == nil {
		return failure.Usage.Errorf("%s and %s have no results of the same network, probe and levels in common: bisect runs of one study (weir compare %s %s shows what they have; --network and --probe choose)", b.Before, b.After, plan.ShellWord(b.Before), plan.ShellWord(b.After))
	}
	b.of = settings.Cell{Network: best.Network, Probe: best.Probe, Levels: best.Levels}
	b.Result.Cell, b.Result.Recorded = b.of, best.Ratio.Center
	return nil
}

// alike picks a network and a probe that two studies share although no cell is in both, because the studies differ in
// what holds for all their trials; false if there is none.
func (b *Settings) alike(before, after study.Study, common []study.Use) bool {
	for _, u := range slices.Backward(common) {
		for _, p := range before.Probes {
			q, ok := after.Probe(p.Name)
			if !ok || q.Kind != p.Kind || b.Network != "" && b.Network != u.Name || b.Probe != "" && b.Probe != p.Name {
				continue
			}
			b.of = settings.Cell{Network: u.Name, Probe: p.Name, Levels: map[string]string{}}
			for f, levels := range before.Factors {
				if len(levels) > 1 || len(after.Factors[f]) > 1 {
					return false
				}
				if catalog.Applies(p.Kind, f) {
					b.of.Levels[f] = levels[0]
				}
			}
			b.Result.Cell = b.of
			return true
		}
	}
	return false
}

// PlanDefaults compares the settings of this machine with the kernel's defaults, for the only network and probe of a study.
func PlanDefaults(o SettingsOptions) (*Settings, error) {
	b := &Settings{SettingsOptions: o, common: o.Study.Networks[0]}
	b.of = settings.Cell{Network: b.common.Name, Probe: o.Study.Probes[0].Name}
	b.Result.Cell = b.of
	on, _, err := job.Plan(o.Study)
	if err != nil {
		return nil, err
	}
	is, err := local.Host().Facts(context.Background()) // at once
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	b.Result.Differences = settings.Defaults(is, network.Places(on))
	return b, b.check(b.Result.Differences)
}

// check moves settings that no study can hold to those that cannot be applied.
func (b *Settings) check(d settings.Differences) error {
	var first error
	b.Result.Differences = d.Without(func(s settings.Setting) lang.Text {
		one := settings.Differences{Settings: []settings.Setting{s}}
		step := group.Step{Stage: group.Change, Comparisons: []group.Comparison{{From: group.None(1), To: group.All(1)}}}
		x, _, err := one.Study(b.Study, b.common, b.of, step)
		if err == nil {
			err = errors.Join(place.Check(x), job.CheckHere(x))
		}
		if err != nil {
			first = cmp.Or(first, err)
			return lang.Text(err.Error())
		}
		return ""
	})
	if len(b.Result.Settings) == 0 && first != nil && b.Study.Target.Exists() {
		return failure.Usage.Errorf("%s was measured on machines that weir does not change, and a lab on this machine has no such network: %w", b.Before, first)
	}
	if n := len(b.Result.Settings); n > group.MaxChanges {
		return failure.Usage.Errorf("%d settings differ: a bisection takes at most %d; make AFTER more like BEFORE, and run it again", n, group.MaxChanges)
	}
	return nil
}
