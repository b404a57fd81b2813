package job

import (
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// A Performance is what a run measured of a network under one probe.
type Performance struct {
	Probe  string            `json:"probe"`
	Levels map[string]string `json:"levels,omitempty"` // of the study's factors
	Metric string            `json:"metric,omitempty"` // "" if no trial is ok
	Unit   string            `json:"unit,omitempty"`
	Value  stat.Interval     `json:"value,omitzero"`
	Ratio  stat.Interval     `json:"ratio,omitzero"` // to Baseline; N is 0 without one
	// Baseline is the network that divides; "" if the study states other comparisons.
	Baseline string `json:"baseline,omitempty"`
}

// String is the ratio with its interval or, without one, the value.
func (p Performance) String() string {
	switch {
	case p.Metric == "":
		return "not measured"
	case p.Ratio.N == 0:
		return unit.Format(p.Value.Center, p.Unit)
	case !p.Ratio.Bounded():
		return prose.Ratio(p.Ratio) + " (no interval)"
	}
	return prose.Times(p.Ratio)
}

// Title names the column of p.
func (p Performance) Title() string {
	t := p.Probe
	for _, f := range slices.Sorted(maps.Keys(p.Levels)) {
		t += " " + f + "=" + p.Levels[f]
	}
	if p.Baseline != "" {
		t += " ÷ " + p.Baseline
	}
	return t
}

// Measured returns the networks of a run, under the names of its study, with what it measured.
func Measured(networks []Item, run *account.Account) (items []Item, _ error) {
	for _, u := range run.Spec.Networks {
		i := slices.IndexFunc(networks, func(n Item) bool { return n.Name == u.Kind })
		if i < 0 {
			return nil, failure.Usage.Errorf("this version has no network %q, which %s names", u.Kind, run.Dir)
		}
		n := networks[i]
		n.Name, n.Performance = u.Name, performances(run.Analysis, u.Name)
		items = append(items, n)
	}
	return items, nil
}

func performances(r *analysis.Run, network string) (ps []Performance) {
	for _, t := range r.Tables {
		row, _ := t.Row(network) // without trials, its numbers are zero
		p := Performance{Probe: t.Probe, Levels: t.Levels, Metric: string(t.Metric), Unit: t.Unit, Value: row.Value, Ratio: row.Ratio, Baseline: r.Baseline}
		if row.Value.N == 0 {
			p.Metric = ""
		}
		ps = append(ps, p)
	}
	return ps
}
