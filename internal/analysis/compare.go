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
	Format     int     `json:"format"`     // ComparisonFormat
	Confidence float64 `json:"confidence"` // of all intervals of a table together
	Each       float64 `json:"each"`       // confidence of the Change judged first; see Change
	Bound      float64 `json:"bound"`      // largest regression to tolerate, a fraction
	RunsA      int     `json:"runsA"`
	RunsB      int     `json:"runsB"`
	// Unpaired means that each side is one set of results, each a sample of its own. Intervals then
	// rest on how results differ, not on how runs do.
	Unpaired bool `json:"unpaired,omitempty"`
	// Baselines lists the runs' different baselines, "" for a run without one. Changes needs a common one.
	Baselines []string `json:"baselines"`
	// Changes compares ratios: those to the baseline of the same run, which are what networks cost, and
	// those of the contrasts that both sides state. Only they get verdicts.
	Changes []Change `json:"changes"`
	// Parts compares what lies behind the ratios: the ratios of the network's part of response times, and
	// of own CPU cost, to the baseline's. They hold together among themselves, show where a change is, and
	// get no verdict.
	Parts []Change `json:"parts,omitempty"`
	// Absolute compares values. They move with the machine, and get no verdict.
	Absolute   []Change     `json:"absolute"`
	OnlyA      []Cell       `json:"onlyA,omitempty"`
	OnlyB      []Cell       `json:"onlyB,omitempty"`
	Uncompared []Uncompared `json:"apart,omitempty"` // cells that are not in Changes, with the reason
	// Differ lists the facts in which the machines of the runs differ.
	Differ []facts.Difference `json:"differ,omitempty"`
}

// ComparisonFormat is the version of the JSON of a Comparison. Within a version fields are only added.
const ComparisonFormat = 1

// A Cell identifies a row of a table.
type Cell struct {
	Probe   string            `json:"probe"`
	Network string            `json:"network"`
	Levels  map[string]string `json:"levels,omitempty"`
	// Compared names, in a Comparison, the ratio of a contrast ("load tcp-stream ÷ idle") or a part of a
	// ratio ("network path"). It is "" for every other cell.
	Compared string `json:"compared,omitempty"`
}

func (t Table) Cell(r Row) Cell {
	return Cell{Probe: t.Probe, Network: r.Network, Levels: t.Levels}
}

// An Uncompared is a cell without a comparison.
type Uncompared struct {
	Cell
	Reason string `json:"reason"`
}

// A Change is one cell in both groups of runs. Verdicts step down (stat.StepDown): the clearest change is judged at the
// confidence of all, the next at that of the rest. The interval of Ratio has the confidence at which it was judged.
type Change struct {
	Cell
	Metric record.Quantity `json:"metric"`
	Unit   string          `json:"unit"`
	// A and B are pooled over the runs: a ratio to the baseline, or a value in Unit.
	A stat.Pooled `json:"a"`
	B stat.Pooled `json:"b"`
	// Ratio is B ÷ A. It has no interval when nothing tells how much runs differ.
	Ratio stat.Pooled `json:"ratio"`
	// Known is the spread between earlier runs on the machine of either run. With one run a side, the
	// interval rests on it.
	Known *Spread `json:"known,omitempty"`
	Same  bool    `json:"same,omitempty"` // the interval contains 1
	// Worse means that the whole interval is beyond the bound in the bad direction.
	Worse  bool `json:"worse,omitempty"`
	Better bool `json:"better,omitempty"` // likewise in the good direction
	// Detectable is the smallest relative change that these runs would have shown.
	Detectable float64 `json:"detectable,omitempty"`
	// Needed is set with one run a side: how many runs a side would show a change of PlannedChange. It
	// assumes the spread Known, or GuessedTau.
	Needed int `json:"needed,omitempty"`
	// Busy counts the runs of both sides in which disturbed trials count.
	Busy int `json:"busy,omitempty"`
}

// Worse reports whether any change is worse.
func (c Comparison) Worse() bool {
	return slices.ContainsFunc(c.Changes, func(x Change) bool { return x.Worse })
}

const (
	// PlannedChange is the change that Needed plans for.
	PlannedChange = 0.10
	// GuessedTau is the between-run spread that Needed assumes for a machine without history.
	GuessedTau = stat.UsualTau
)

// Compare compares the cells with equal factors, metric and unit. A bound of 0.05 tolerates 5 %. With
// one run a side, Compare uses the spread that the runs have learned (see Learn).
func Compare(a, b []*Run, bound float64) Comparison {
	c := Comparison{Format: ComparisonFormat, Confidence: 0.95, Bound: bound, RunsA: len(a), RunsB: len(b)}
	runs := slices.Concat(a, b)
	c.Unpaired = len(a) == 1 && len(b) == 1 && a[0].Unpaired && b[0].Unpaired
	for _, r := range runs {
		c.Confidence = r.Confidence
		if base := r.divisor(); !slices.Contains(c.Baselines, base) {
			c.Baselines = append(c.Baselines, base)
		}
	}
	for i, r := range runs {
		like := *r // so that Pool aligns their values, and ratios of studies that restrict a contrast differently
		if c.Baseline() == "" {
			like.Baseline = ""
		}
		like.Contrasts = slices.Clone(r.Contrasts)
		for j := range like.Contrasts {
			like.Contrasts[j].Of, like.Contrasts[j].In = nil, nil
		}
		runs[i] = &like
	}
	var costs, values, paths, owns []sides
	pooled := Pool(runs, c.Confidence)
	for _, cell := range pooled.Cells {
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
			c.Uncompared = append(c.Uncompared, Uncompared{cell.Cell, reason})
			continue
		}
		values = append(values, s)
		if c.Baseline() == "" || cell.Baseline {
			continue
		}
		if reason := s.missing(ratioOfRun); reason != "" {
			c.Uncompared = append(c.Uncompared, Uncompared{cell.Cell, reason})
			continue
		}
		costs = append(costs, s)
		if s.missing(pathOfRun) == "" {
			x := s
			x.Metric, x.Unit, x.Compared = record.RTTPath, "s", "network path"
			paths = append(paths, x)
		}
		if s.missing(ownOfRun) == "" {
			x := s
			x.Metric, x.Unit, x.Compared = s.own.name, s.own.unit, "own CPU cost"
			owns = append(owns, x)
		}
	}
	for _, x := range pooled.Contrasts {
		for _, row := range x.Rows {
			s := sides{row.PooledCell, row.PerRun[:len(a)], row.PerRun[len(a):]}
			s.Compared = x.Name(row.Of)
			if reason := s.missing(ratioOfRun); reason != "" {
				c.Uncompared = append(c.Uncompared, Uncompared{s.Cell, reason})
				continue
			}
			costs = append(costs, s)
			if s.missing(pathOfRun) == "" {
				s.Metric, s.Unit, s.Compared = record.RTTPath, "s", s.Compared+", network path"
				paths = append(paths, s)
			}
		}
	}
	c.Each = stat.Adjust(c.Confidence, len(costs))
	expected := expectations(costs, ratioOfRun)
	for i, s := range costs {
		c.Changes = append(c.Changes, s.cost(expected[i], c.Each, c.Unpaired))
	}
	stepDown(c.Changes, bound, c.Confidence)
	parts := stat.Adjust(c.Confidence, len(paths)+len(owns))
	for _, of := range []struct {
		cells    []sides
		interval func(CellRun) stat.Interval
	}{{paths, pathOfRun}, {owns, ownOfRun}} {
		expected := expectations(of.cells, of.interval)
		for i, s := range of.cells {
			c.Parts = append(c.Parts, s.change(of.interval, expected[i], parts).same())
		}
	}
	expected = expectations(values, valueOfRun)
	for i, s := range values {
		if c.Unpaired {
			c.Absolute = append(c.Absolute, s.unpaired(valueOfRun, stat.Adjust(c.Confidence, len(values))))
			continue
		}
		c.Absolute = append(c.Absolute, s.change(valueOfRun, expected[i], stat.Adjust(c.Confidence, len(values))))
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

// change compares the intervals of all runs, which are expected to differ.
func (s sides) change(of func(CellRun) stat.Interval, expected stat.Spread, confidence float64) Change {
	a, b := having(s.a, of), having(s.b, of)
	return Change{Cell: s.Cell, Metric: s.Metric, Unit: s.Unit, A: stat.Pool(a, confidence), B: stat.Pool(b, confidence),
		Ratio: stat.Change(a, b, expected, confidence)}
}

// cost compares the ratios. With one run a side, the spread is what earlier runs have shown.
func (s sides) cost(expected stat.Spread, confidence float64, unpaired bool) Change {
	earlier := s.earlier()
	var x Change
	if unpaired {
		x = s.unpaired(ratioOfRun, confidence)
	} else {
		if expected.DF == 0 {
			expected = earlier.known()
		}
		x = s.change(ratioOfRun, expected, confidence)
	}
	for _, r := range s.PerRun {
		if r.Busy != nil {
			x.Busy++
		}
	}
	if x.Ratio.N == 2 {
		tau := GuessedTau
		if earlier.Runs > 0 {
			x.Known, tau = &earlier, max(earlier.Tau, GuessedTau)
		}
		own := x.Ratio.Within / math.Sqrt2 // of one run
		x.Needed = stat.RunsFor(tau, own, PlannedChange, confidence)
	}
	return x.same()
}

// same sets whether no change is shown.
func (c Change) same() Change {
	c.Same, c.Detectable = c.Ratio.Contains(1), c.Ratio.Detectable()
	return c
}

// earlier returns the larger of the spreads that the runs have learned. A new kernel has no history of
// its own; like Change, it then has the spread of the other side.
func (s sides) earlier() (most Spread) {
	for _, x := range s.PerRun {
		if x.otherRuns != nil && (most.Runs == 0 || x.otherRuns.Tau > most.Tau) {
			most = x.otherRuns.Spread
		}
	}
	return most
}

// String returns network, probe, the levels that vary, and the levels compared.
func (c Cell) String() string {
	s := c.Network + ", " + c.Probe
	for _, k := range slices.Sorted(maps.Keys(c.Levels)) {
		s += ", " + k + " " + c.Levels[k]
	}
	if c.Compared != "" {
		s += ", " + c.Compared
	}
	return s
}

const notMeasured = "not measured"
