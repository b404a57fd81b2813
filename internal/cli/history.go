package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/history"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/topo"
)

// machineOf returns the machine that a history belongs to.
func machineOf(f facts.Facts) history.Machine {
	return history.Machine{CPU: f.CPU, CPUs: f.CPUs, Kernel: f.Kernel, Guest: f.Guest}
}

// A past identifies a run in the history.
type past struct {
	history.Run
	study study.Study
}

// pastRun returns false for a run without trials, without facts about its machine, or on others.
func pastRun(rep report.Run) (p past, ok bool) {
	var host struct {
		Weir string `json:"weir"`
		facts.Facts
	}
	s, err := study.Load(rep.Study, "study.yaml")
	if err != nil || s.Target.Exists() || len(rep.Results) == 0 || json.Unmarshal(rep.Hosts["local"], &host) != nil {
		return p, false
	}
	first := rep.Results[0].Start
	for _, r := range rep.Results {
		if r.Start.Before(first) {
			first = r.Start
		}
	}
	return past{history.Run{ID: fmt.Sprintf("%s %s", first.UTC().Format("20060102T150405.000000"), rep.Seed), Time: first, Machine: machineOf(host.Facts), Weir: host.Weir}, s}, true
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
func learn(rep report.Run) {
	run, ok := pastRun(rep)
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
	rep.Analysis.Learn(func(t *analysis.Table, row *analysis.Row) (analysis.Spread, bool) { return known(run.cell(t, row)) },
		func(c analysis.Contrast, row analysis.ContrastRow) (analysis.Spread, bool) {
			return known(run.ofContrast(c, row))
		})
}

// remember adds a completed run to the history. It never fails a run.
func remember(rep report.Run) {
	run, ok := pastRun(rep)
	if !ok {
		return
	}
	file, err := history.File()
	if err == nil {
		err = history.Append(file, history.Entries(run.Run, rep.Analysis, run.cell, run.ofContrast))
	}
	if err != nil {
		note(lang.T("%v; later runs cannot use this one to judge how much runs differ", err))
	}
}

// checkHistory describes the history for weir doctor.
func checkHistory() diagnosis {
	c := facts.Check{Name: "history of runs"}
	file, err := history.File()
	if err != nil {
		c.Detail = err.Error()
		return diagnosis{Check: c}
	}
	entries, bad, err := history.Read(file)
	if err != nil {
		c.Detail, c.Fix = err.Error(), "make it readable, or set XDG_STATE_HOME to another directory"
		return diagnosis{Check: c}
	}
	here := machineOf(facts.Collect(local.Host().FS)).ID()
	runs, cells := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		if e.ID == here {
			runs[e.Run], cells[e.Key()] = true, true
		}
	}
	known := len(history.Spreads(entries, here, ""))
	c.OK = true
	c.Detail = fmt.Sprintf("%s: runs on this machine: %d, cells: %d, in at least %d runs: %d; to forget them, delete the file",
		file, len(runs), len(cells), analysis.MinSpread, known)
	if bad > 0 {
		c.Detail = fmt.Sprintf("%s: runs on this machine: %d, cells: %d, in at least %d runs: %d; to forget them, delete the file; unreadable lines skipped: %d",
			file, len(runs), len(cells), analysis.MinSpread, known, bad)
	}
	return diagnosis{Check: c}
}
