package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Comparison is what changed from runs A to runs B.
type Comparison struct {
	Confidence float64 `json:"confidence"` // of all intervals of a table together
	Each       float64 `json:"each"`       // confidence of each of Changes
	Bound      float64 `json:"bound"`      // largest regression to tolerate, a fraction
	RunsA      int     `json:"runsA"`
	RunsB      int     `json:"runsB"`
	// Baselines are those of the runs, "" for a run without one. Changes needs a common one.
	Baselines []string `json:"baselines"`
	// Changes compares what networks cost: ratios to the baseline of the same run. Only they get
	// verdicts.
	Changes []Change `json:"changes"`
	// Absolute compares values. They move with the machine, and get no verdict.
	Absolute []Change `json:"absolute"`
	OnlyA    []Cell   `json:"onlyA,omitempty"`
	OnlyB    []Cell   `json:"onlyB,omitempty"`
	Apart    []Apart  `json:"apart,omitempty"` // cells that are not in Changes, with the reason
	// Differ lists the facts in which the machines of the runs differ.
	Differ []facts.Difference `json:"differ,omitempty"`
}

// A Cell identifies a row of a table.
type Cell struct {
	Probe   string            `json:"probe"`
	Network string            `json:"network"`
	Levels  map[string]string `json:"levels,omitempty"`
}

func (t Table) Cell(r Row) Cell {
	return Cell{Probe: t.Probe, Network: r.Network, Levels: t.Levels}
}

// An Apart is a cell without a comparison.
type Apart struct {
	Cell
	Reason string `json:"reason"`
}

// A Change is one cell in both groups of runs.
type Change struct {
	Cell
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// A and B are pooled over the runs: a ratio to the baseline, or a value in Unit.
	A stat.Pooled `json:"a"`
	B stat.Pooled `json:"b"`
	// Ratio is B ÷ A. It has no interval when nothing tells how much runs differ.
	Ratio stat.Pooled `json:"ratio"`
	// Known means that the interval rests on the spread between earlier runs, Ratio.Tau.
	Known bool `json:"known,omitempty"`
	Same  bool `json:"same,omitempty"` // the interval contains 1
	// Worse means that the whole interval is beyond the bound in the bad direction.
	Worse  bool `json:"worse,omitempty"`
	Better bool `json:"better,omitempty"` // likewise in the good direction
	// Detectable is the smallest relative change that these runs would have shown.
	Detectable float64 `json:"detectable,omitempty"`
	// Needed is how many runs a side would show a change of PlannedChange. It is set when there is
	// no interval.
	Needed int `json:"needed,omitempty"`
}

// Worse reports whether any change is worse.
func (c Comparison) Worse() bool {
	return slices.ContainsFunc(c.Changes, func(x Change) bool { return x.Worse })
}

const (
	// PlannedChange is the change that Needed plans for.
	PlannedChange = 0.10
	// GuessedTau is the between-run spread that Needed assumes for a machine without history: that
	// of TCP throughput on a veth (docs/adr/0011-engines-stay.md).
	GuessedTau = 0.05
)

// Compare compares the cells with equal factors, metric and unit. Bound 0.05 accepts 5 %. known
// returns the between-run spread of a cell that earlier runs have shown; it can be nil.
func Compare(a, b []*Run, bound float64, known func(PooledCell) (tau, df float64)) Comparison {
	c := Comparison{Confidence: 0.95, Bound: bound, RunsA: len(a), RunsB: len(b)}
	runs := slices.Concat(a, b)
	for _, r := range runs {
		c.Confidence = r.Confidence
		if base := r.divisor(); !slices.Contains(c.Baselines, base) {
			c.Baselines = append(c.Baselines, base)
		}
	}
	if c.Baseline() == "" {
		for i, r := range runs { // so that Pool aligns their values
			plain := *r
			plain.Baseline = ""
			runs[i] = &plain
		}
	}
	var costs, values []sides
	for _, cell := range Pool(runs, c.Confidence).Cells {
		s := sides{cell, cell.PerRun[:len(a)], cell.PerRun[len(a):]}
		switch {
		case !measured(s.b):
			c.OnlyA = append(c.OnlyA, cell.Cell)
			continue
		case !measured(s.a):
			c.OnlyB = append(c.OnlyB, cell.Cell)
			continue
		}
		if reason := s.missing(valueOfRun); reason != "" {
			c.Apart = append(c.Apart, Apart{cell.Cell, reason})
			continue
		}
		values = append(values, s)
		if c.Baseline() == "" || cell.Baseline {
			continue
		}
		if reason := s.missing(ratioOfRun); reason != "" {
			c.Apart = append(c.Apart, Apart{cell.Cell, reason})
			continue
		}
		costs = append(costs, s)
	}
	c.Each = stat.Adjust(c.Confidence, len(costs))
	for _, s := range costs {
		x := s.change(ratioOfRun, c.Each, known)
		x.judge(bound)
		c.Changes = append(c.Changes, x)
	}
	for _, s := range values {
		c.Absolute = append(c.Absolute, s.change(valueOfRun, stat.Adjust(c.Confidence, len(values)), nil))
	}
	return c
}

// Baseline returns the common baseline of all runs, "" if there is none.
func (c Comparison) Baseline() string {
	if len(c.Baselines) == 1 {
		return c.Baselines[0]
	}
	return ""
}

// divisor returns the baseline of the run, "" if the run did not measure it.
func (r *Run) divisor() string {
	if slices.Contains(r.levels(Network), r.Baseline) {
		return r.Baseline
	}
	return ""
}

// sides is a cell and the runs of each side.
type sides struct {
	PooledCell
	a, b []CellRun
}

// having returns one interval of each run that has it. A value counts even if its run has no ratio.
func having(runs []CellRun, of func(CellRun) stat.Interval) (out []stat.Interval) {
	for _, x := range runs {
		if i := of(x); i.N > 0 {
			out = append(out, i)
		}
	}
	return out
}

// missing says why a side has no such interval, "" if both have one.
func (s sides) missing(of func(CellRun) stat.Interval) string {
	for i, side := range [][]CellRun{s.a, s.b} {
		if len(having(side, of)) > 0 {
			continue
		}
		reason := "no ratio"
		for _, x := range side {
			reason = cmp.Or(x.Missing, reason)
		}
		return reason + ", in " + []string{"A", "B"}[i]
	}
	return ""
}

func measured(runs []CellRun) bool {
	return slices.ContainsFunc(runs, func(x CellRun) bool { return x.Missing != notMeasured })
}

// change compares one of the intervals of a cell.
func (s sides) change(of func(CellRun) stat.Interval, confidence float64, known func(PooledCell) (tau, df float64)) Change {
	a, b := having(s.a, of), having(s.b, of)
	x := Change{Cell: s.Cell, Metric: s.Metric, Unit: s.Unit,
		A: stat.Pool(a, confidence), B: stat.Pool(b, confidence)}
	tau, df := 0.0, 0.0
	if len(a)+len(b) == 2 && known != nil {
		tau, df = known(s.PooledCell)
		x.Known = df > 0
	}
	x.Ratio = stat.Change(a, b, tau, df, confidence)
	x.Same = x.Ratio.Contains(1)
	x.Detectable = x.Ratio.Shows()
	if !x.Ratio.Bounded() {
		x.Needed = stat.RunsFor(math.Hypot(GuessedTau, x.Ratio.SE/math.Sqrt2), PlannedChange, confidence)
	}
	return x
}

func (x *Change) judge(bound float64) {
	if !x.Ratio.Bounded() {
		return
	}
	x.Worse, x.Better = x.Ratio.Hi < 1-bound, x.Ratio.Lo > 1+bound
	if record.LowerIsBetter(x.Unit) {
		x.Worse, x.Better = x.Better, x.Worse
	}
}

// String returns network, probe, and the levels that vary.
func (c Cell) String() string {
	s := c.Network + ", " + c.Probe
	for _, k := range slices.Sorted(maps.Keys(c.Levels)) {
		s += ", " + k + " " + c.Levels[k]
	}
	return s
}

const notMeasured = "not measured"
