package analysis

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Comparison lists the changes between two runs.
type Comparison struct {
	Confidence float64  `json:"confidence"` // of all ratios together
	Each       float64  `json:"each"`       // confidence of each ratio
	Bound      float64  `json:"bound"`      // largest regression to tolerate, a fraction
	Changes    []Change `json:"changes"`
	OnlyA      []Cell   `json:"onlyA,omitempty"`
	OnlyB      []Cell   `json:"onlyB,omitempty"`
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

// A Change is one cell in both runs.
type Change struct {
	Cell
	Metric string        `json:"metric"`
	Unit   string        `json:"unit"`
	A      stat.Interval `json:"a"` // median over blocks
	B      stat.Interval `json:"b"`
	// Ratio is B ÷ A, unpaired: the runs share no blocks.
	Ratio stat.Interval `json:"ratio"`
	Same  bool          `json:"same,omitempty"` // the interval contains 1
	// Worse means that the whole interval is beyond the bound in the bad direction.
	Worse  bool `json:"worse,omitempty"`
	Better bool `json:"better,omitempty"` // likewise in the good direction
}

// Worse reports whether any change is worse.
func (c Comparison) Worse() bool {
	return slices.ContainsFunc(c.Changes, func(x Change) bool { return x.Worse })
}

// Compare compares the cells with equal factors, metric and unit. bound 0.05 accepts 5 %.
func Compare(a, b *Run, bound float64) Comparison {
	c := Comparison{Confidence: a.Confidence, Bound: bound}
	same := func(t *Table, r *Row) string {
		return strings.Join([]string{r.Network, t.Probe, key(t.Config), t.Metric, t.Unit}, "\x00")
	}
	inA, inB := map[string]bool{}, map[string]*Row{}
	for t, r := range b.Rows() {
		inB[same(t, r)] = r
	}
	var as, bs [][]float64
	for t, r := range a.Rows() {
		inA[same(t, r)] = true
		other := inB[same(t, r)]
		switch {
		case other == nil:
			c.OnlyA = append(c.OnlyA, t.Cell(*r))
		case r.Counted() > 0 && other.Counted() > 0:
			c.Changes = append(c.Changes, Change{Cell: t.Cell(*r), Metric: t.Metric, Unit: t.Unit, A: r.Value, B: other.Value})
			as, bs = append(as, r.series.medians()), append(bs, other.series.medians())
		}
	}
	for t, r := range b.Rows() {
		if !inA[same(t, r)] {
			c.OnlyB = append(c.OnlyB, t.Cell(*r))
		}
	}
	c.Each = stat.Adjust(c.Confidence, max(1, len(c.Changes)))
	for i := range c.Changes {
		c.Changes[i].judge(as[i], bs[i], c.Each, bound)
	}
	return c
}

func (x *Change) judge(a, b []float64, confidence, bound float64) {
	x.Ratio = stat.Shift(a, b, confidence)
	x.Same = x.Ratio.Contains(1)
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
