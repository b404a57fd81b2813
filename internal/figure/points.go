package figure

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// Confidence is that of all ratios of a figure together.
const Confidence = 0.95

// A Result is a figure with what a run says about it.
type Result struct {
	Figure
	Points      []Point         `json:"points,omitempty"`
	Comparisons []Comparison    `json:"comparisons,omitempty"`
	Chains      []Hop           `json:"hops,omitempty"`  // of chart hops
	Panes       []Pane          `json:"panes,omitempty"` // of charts over and threads
	Outcomes    []claim.Outcome `json:"verdicts,omitempty"`
	Untested    []string        `json:"untested,omitempty"` // claims that other studies test
	Missing     []string        `json:"missing,omitempty"`  // what could not be measured, and why
	Warnings    []string        `json:"warnings,omitempty"` // about the numbers
	From        string          `json:"from,omitempty"`     // the results directory, which the caller fills in
}

// Size is the number of values.
func (r Result) Size() int {
	n := len(r.Chains) + len(r.Panes)
	for _, p := range r.Points {
		if p.Value.N > 0 {
			n++
		}
	}
	return n
}

// A Point is one cell of a figure.
type Point struct {
	Levels map[string]string `json:"levels"`
	Metric record.Quantity   `json:"metric,omitempty"`
	Unit   string            `json:"unit,omitempty"`
	Value  stat.Interval     `json:"value"` // median over blocks
	Spread Spread            `json:"spread"`
	// Ratio is Value ÷ the cell of the figure's To in the same block; N is 0 without one.
	Ratio       stat.Interval `json:"ratio,omitzero"`
	RatioSpread Spread        `json:"ratio-spread,omitzero"`
	Base        bool          `json:"base,omitempty"` // divides others
	// Marks are the published numbers, on the scale of Value and on that of Ratio.
	Marks   []Mark `json:"marks,omitempty"`
	Busy    bool   `json:"busy,omitempty"` // disturbed trials count
	Missing string `json:"missing,omitempty"`
}

// A Spread is the mean over blocks and the standard deviation of a block, as many documents print.
type Spread struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// A Mark is a published number on the scales of its point; 0 where it has no place.
type Mark struct {
	Value float64 `json:"value,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
}

// A Comparison is a published ratio and the same ratio here.
type Comparison struct {
	Of        string        `json:"of"`
	To        string        `json:"to"`
	Published float64       `json:"published"`
	Here      stat.Interval `json:"here,omitzero"` // N is 0 if it was not measured
	Missing   string        `json:"missing,omitempty"`
}

// ends is the factor of a matrix.
const ends = "ends"

// cells are the cells of a run that a figure needs.
type cells struct {
	Figure
	run  *analysis.Run
	each float64 // confidence of each ratio
}

// Of takes a figure's values from a run of its study. An error means that the run does not fit.
func (f Figure) Of(run *analysis.Run) (Result, error) {
	r := Result{Figure: f}
	switch f.Chart {
	case Hops:
		return r, r.hops(run)
	case OverTime:
		return r, r.overTime(run)
	case Threads:
		return r, r.threads(run)
	}
	c := cells{f, run, Confidence}
	all := c.list()
	if len(all) == 0 {
		return r, fmt.Errorf("these results hold no cell of figure %s", f.ID)
	}
	ratios, taken := 0, map[string]bool{}
	for _, levels := range all {
		at := ""
		for _, k := range f.shown() {
			at += levels[k] + "\x00"
		}
		if taken[at] {
			return r, fmt.Errorf("these results vary more than figure %s shows: two of their cells are its %s", f.ID, f.Name(levels))
		}
		taken[at] = true
		if c.base(levels, f.To) != nil {
			ratios++
		}
	}
	for _, p := range f.Published {
		for _, levels := range all {
			if len(p.To) > 0 && !maps.Equal(p.To, f.To) && p.about(levels) && c.base(levels, p.To) != nil {
				ratios++ // of its own comparison
			}
		}
	}
	c.each = stat.Adjust(Confidence, max(1, ratios))
	for _, levels := range all {
		r.Points = append(r.Points, c.point(levels))
	}
	r.mark(c)
	r.gaps(all)
	return r, nil
}

// list returns the levels of the figure's cells in the run, in the figure's order.
func (c cells) list() (all []map[string]string) {
	values := c.Values
	if values == nil {
		values = []string{""}
	}
	for t, row := range c.run.Rows() {
		levels := maps.Clone(t.Config)
		levels[analysis.Probe], levels[analysis.Network] = t.Probe, row.Network
		fits := true
		for k, l := range levels {
			if ls := c.levels(k); !slices.Contains(ls, l) {
				fits = false
			}
		}
		for _, v := range values {
			if one := maps.Clone(levels); fits && !c.lacks(levels, record.Quantity(v)) {
				if v != "" {
					one[valueFactor] = v
				}
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b map[string]string) int {
		for _, k := range c.shown() {
			if d := cmp.Compare(slices.Index(c.levels(k), a[k]), slices.Index(c.levels(k), b[k])); k != "" && d != 0 {
				return d
			}
		}
		return 0
	})
	return all
}

// lacks reports whether a cell was measured without one of several values, which its probe does not have
// and another's does. Disturbed trials show that as well as others.
func (c cells) lacks(levels map[string]string, value record.Quantity) bool {
	if len(c.Values) < 2 {
		return false
	}
	own := c.counting(levels)
	if status, _ := own.Status(); status != record.OK || own.Values(value).Len() > 0 {
		return false
	}
	for t, row := range c.run.Rows() {
		other := maps.Clone(t.Config)
		other[analysis.Probe], other[analysis.Network] = t.Probe, row.Network
		if t.Probe != levels[analysis.Probe] && c.counting(other).Values(value).Len() > 0 {
			return true
		}
	}
	return false
}

// counting returns the trials of a row's cell that count by themselves, before it is known how many ratios the figure has.
func (c cells) counting(levels map[string]string) *analysis.Sample {
	all, _ := analysis.Steady(Confidence, c.sample(levels))
	return all[0]
}

// sample returns the trials of a cell, nil if the run lacks it.
func (c cells) sample(levels map[string]string) *analysis.Sample {
	config := maps.Clone(levels)
	delete(config, valueFactor)
	return c.run.Sample(config)
}

// metric returns the name of a cell's value, of the trials that count.
func metric(levels map[string]string, s *analysis.Sample) record.Quantity {
	return cmp.Or(record.Quantity(levels[valueFactor]), s.Metric())
}

// base returns the levels of the cell that divides another; nil if it is that cell itself or does
// not exist.
func (c cells) base(levels, to map[string]string) map[string]string {
	if len(to) == 0 {
		return nil
	}
	base := maps.Clone(levels)
	for k, l := range to {
		if _, ok := levels[k]; ok { // a factor need not apply to every probe
			base[k] = l
		}
	}
	if c.sample(base) == nil || maps.Equal(base, levels) {
		return nil
	}
	return base
}

func (c cells) point(levels map[string]string) Point {
	p := Point{Levels: levels}
	all, busy := analysis.Steady(c.each, c.sample(levels))
	p.Metric = metric(levels, all[0])
	blocks, v := analysis.Common(all[0].Values(p.Metric))
	if len(blocks) == 0 {
		p.Missing = why(all[0], p.Metric)
		return p
	}
	p.Unit = all[0].Unit(p.Metric)
	if all[0].Unresolved(p.Metric) {
		p.Missing = "the CPU time is " + analysis.BelowSteps
		return p
	}
	p.Value, p.Spread, p.Busy = busy.Widen(stat.Median(v[0], Confidence)), spread(v[0]), busy != nil
	if p.Value.N == 0 {
		p.Missing = p.Value.Reason()
		return p
	}
	base := c.base(levels, c.To)
	if base == nil {
		p.Base = len(c.To) > 0
		return p
	}
	var quotients []float64
	p.Ratio, quotients = c.ratio(levels, base, c.each)
	p.RatioSpread = spread(quotients)
	if p.Ratio.N == 0 {
		p.Missing = cmp.Or(p.Ratio.Reason(), fmt.Sprintf("no block has both it and %s", c.Name(base)))
	}
	return p
}

// ratio returns one cell ÷ another in the same block, with the quotient of every block.
func (c cells) ratio(of, to map[string]string, each float64) (stat.Interval, []float64) {
	a, b := c.sample(of), c.sample(to)
	if a == nil || b == nil {
		return stat.Interval{}, nil
	}
	all, busy := analysis.Steady(each, a, b)
	above, below := metric(of, all[0]), metric(to, all[1])
	_, v := analysis.Common(all[0].Values(above), all[1].Values(below))
	if len(v[0]) == 0 || all[0].Unresolved(above) || all[1].Unresolved(below) {
		return stat.Interval{}, nil
	}
	var quotients []float64
	for i := range v[0] {
		if v[1][i] > 0 {
			quotients = append(quotients, v[0][i]/v[1][i])
		}
	}
	return busy.Widen(stat.Ratio(v[1], v[0], each)), quotients
}

func why(s *analysis.Sample, metric record.Quantity) string {
	switch status, reason := s.Status(); {
	case status == record.OK && metric == "":
		return "no trial gave a value"
	case status == record.OK:
		return "no trial has a value " + string(metric)
	default:
		return string(status) + ": " + reason
	}
}

// spread returns 0 if a value is infinite, such as the response time of a trial without replies: there is
// no mean.
func spread(v []float64) (s Spread) {
	if len(v) == 0 || slices.ContainsFunc(v, func(x float64) bool { return math.IsInf(x, 0) || math.IsNaN(x) }) {
		return s
	}
	s.Mean, s.SD = analysis.MeanSD(v)
	return s
}

// shown lists the factors that lay the figure out; some can be "".
func (f Figure) shown() []string {
	if f.Chart == Matrix {
		return []string{f.Panels, ends}
	}
	return []string{f.Panels, f.Rows, f.Bars, f.X}
}

// Name names a cell by the factors that vary in the figure.
func (f Figure) Name(levels map[string]string) string {
	var parts []string
	for _, k := range f.shown() {
		l, ok := levels[k]
		if k == "" || !ok || len(f.levels(k)) < 2 {
			continue
		}
		if k != analysis.Network && k != analysis.Probe && k != valueFactor && k != ends {
			l = k + " " + l
		}
		parts = append(parts, l)
	}
	return strings.Join(parts, ", ")
}
