package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/unit"
)

// A performance is what a run measured of a network under one probe.
type performance struct {
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
func (p performance) String() string {
	switch {
	case p.Metric == "":
		return "not measured"
	case p.Ratio.N == 0:
		return unit.Format(p.Value.Center, p.Unit)
	case !p.Ratio.Bounded():
		return fmt.Sprintf("%.2f×", p.Ratio.Center)
	}
	return fmt.Sprintf("%.2f× [%.2f, %.2f]", p.Ratio.Center, p.Ratio.Lo, p.Ratio.Hi)
}

// title names the column of p.
func (p performance) title() string {
	t := p.Probe
	for _, f := range slices.Sorted(maps.Keys(p.Levels)) {
		t += " " + f + "=" + p.Levels[f]
	}
	if p.Baseline != "" {
		t += " ÷ " + p.Baseline
	}
	return t
}

// measured returns the networks of the run in dir, under the names of its study, with what it measured.
func measured(networks []item, dir string) ([]item, error) {
	run, err := load(dir, false)
	if err != nil {
		return nil, err
	}
	s, err := study.Load(run.Study, dir)
	if err != nil {
		return nil, exit(exitUsage, err)
	}
	var items []item
	for _, u := range s.Networks {
		i := slices.IndexFunc(networks, func(n item) bool { return n.Name == u.Kind })
		if i < 0 {
			return nil, usage("this version has no network %q, which %s names", u.Kind, dir)
		}
		n := networks[i]
		n.Name, n.Performance = u.Name, performances(run.Analysis, u.Name)
		items = append(items, n)
	}
	return items, nil
}

func performances(r *analysis.Run, network string) (ps []performance) {
	for _, t := range r.Tables {
		row, _ := t.Row(network) // without trials, its numbers are zero
		p := performance{Probe: t.Probe, Levels: t.Levels, Metric: string(t.Metric), Unit: t.Unit, Value: row.Value, Ratio: row.Ratio, Baseline: r.Baseline}
		if row.Value.N == 0 {
			p.Metric = ""
		}
		ps = append(ps, p)
	}
	return ps
}

// printProperties prints one line per network. All of them have the same tables, or none has any.
func printProperties(w io.Writer, networks []item) error {
	head := []lang.Text{lang.T("network"), lang.T("model"), lang.T("addresses"), lang.T("isolation"), lang.T("service discovery"), lang.T("external access")}
	for _, p := range networks[0].Performance {
		head = append(head, lang.Text(p.title()))
	}
	rows := [][]lang.Text{head}
	for _, i := range networks {
		p := i.Properties
		cells := []lang.Text{lang.Text(i.Name)}
		for _, s := range []string{string(p.Model), p.Addresses, p.Isolation, p.Discovery, p.External} {
			cells = append(cells, lang.Stored(s))
		}
		for _, p := range i.Performance {
			cells = append(cells, lang.Stored(p.String()))
		}
		rows = append(rows, cells)
	}
	return printColumns(w, rows)
}
