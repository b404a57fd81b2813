package account

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/history"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// Machine returns the machine that a history belongs to.
func Machine(f facts.Facts) history.Machine {
	return history.Machine{CPU: f.CPU, CPUs: f.CPUs, Kernel: f.Kernel, Guest: f.Guest}
}

// A past identifies a run in the history.
type past struct {
	history.Run
	study study.Study
}

// past returns false for a run without trials, without facts about its machine, or on others.
func (c Contents) past() (p past, ok bool) {
	var host struct {
		Weir string `json:"weir"`
		facts.Facts
	}
	builds := slices.ContainsFunc(c.Spec.Networks, func(u study.Use) bool { return u.Options[study.ProgramsKey] != "" })
	if builds || c.Target.Exists() || len(c.Results) == 0 || json.Unmarshal(c.Hosts["local"], &host) != nil {
		return p, false
	}
	first := c.Results[0].Start
	for _, r := range c.Results {
		if r.Start.Before(first) {
			first = r.Start
		}
	}
	return past{history.Run{ID: fmt.Sprintf("%s %s", first.UTC().Format("20060102T150405.000000"), c.Seed), Time: first, Machine: Machine(host.Facts), Weir: host.Weir}, c.Spec}, true
}

// cell identifies a row of a table.
func (p past) cell(t *analysis.Table, row *analysis.Row) history.Cell {
	return history.Cell{Probe: t.Probe, Network: row.Network, Baseline: p.study.Baseline, Levels: t.Config, Metric: string(t.Metric),
		Setup: setup(p.study, t.Probe, row.Network, p.study.Baseline)}
}

// ofContrast identifies a row of a contrast.
func (p past) ofContrast(c analysis.Contrast, row analysis.ContrastRow) history.Cell {
	return history.Cell{Probe: row.Probe, Network: row.Network, Baseline: c.Name(row.Of), Levels: row.Config, Metric: string(row.Metric),
		Setup: setup(p.study, row.Probe, row.Network, c.To[analysis.Network], c.To[analysis.Probe], c.Per[analysis.Network], c.Per[analysis.Probe])}
}

// setup returns a digest of the parts of a study that change a ratio but not its name: the topology,
// and the options of its probe, its network and the others that divide.
func setup(s study.Study, probe, network string, others ...string) string {
	t := s.Topology
	of := []string{fmt.Sprint(t.Hosts, t.Pods, t.MTU, t.Link, t.NIC, t.IPv6, t.PodsIPv6, s.AllPairs, s.OneAtATime)}
	if t.Distance != (topo.Distance{}) { // without one, the digest is that of older versions
		of = append(of, fmt.Sprint(t.Distance))
	}
	if s.Rounds > 0 {
		of = append(of, fmt.Sprint("rounds ", s.Rounds))
	}
	p, _ := s.Probe(probe)
	n, _ := s.Network(network)
	uses := []study.Use{p, n}
	for _, name := range others {
		u, ok := s.Network(name)
		if !ok {
			u, _ = s.Probe(name)
		}
		uses = append(uses, u)
	}
	for _, u := range uses {
		of = append(of, u.Kind)
		for _, k := range slices.Sorted(maps.Keys(u.Options)) {
			of = append(of, k, u.Options[k])
		}
	}
	return history.Digest(of...)
}

// learn tells a run's analysis how much other runs on its machine have differed. It ignores a history
// that cannot be read; weir doctor reports it.
func (a *Account) learn() {
	run, ok := a.past()
	file, err := history.File()
	if !ok || err != nil {
		return
	}
	entries, _, err := history.Read(file)
	if err != nil {
		return
	}
	spreads := history.Spreads(entries, run.Machine.ID(), run.ID)
	known := func(c history.Cell) (analysis.Spread, bool) {
		s, ok := spreads[c.Key()]
		return s, ok
	}
	a.Analysis.Learn(func(t *analysis.Table, row *analysis.Row) (analysis.Spread, bool) { return known(run.cell(t, row)) },
		func(c analysis.Contrast, row analysis.ContrastRow) (analysis.Spread, bool) {
			return known(run.ofContrast(c, row))
		})
}

// Remember adds a completed run to the history. An error says what later runs cannot know, and fails no run.
func (a *Account) Remember() error {
	run, ok := a.past()
	if !ok {
		return nil
	}
	file, err := history.File()
	if err == nil {
		err = history.Append(file, history.Entries(run.Run, a.Analysis, run.cell, run.ofContrast))
	}
	return err
}
