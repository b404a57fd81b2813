package figure

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// mark places the published numbers at the points, and compares their ratios with the run's.
func (r *Result) mark(c cells) {
	for _, p := range r.Published {
		for i := range r.Points {
			if p.about(r.Points[i].Levels) {
				r.place(c, p, &r.Points[i])
			}
		}
	}
}

// place places one published number at a point. A ratio becomes a value by weir's own value of the
// cell that divides; a value becomes a ratio if the document prints that cell's value too.
func (r *Result) place(c cells, p Published, at *Point) {
	to := p.To
	if len(to) == 0 {
		to = r.To
	}
	base := c.base(at.Levels, to)
	ratio := p.Ratio.Value
	if p.Value.Value > 0 && base != nil {
		ratio = p.Value.Value / r.printed(base)
	}
	m := Mark{Value: p.Value.Value}
	if own := r.at(base); own != nil && ratio > 0 {
		if m.Value == 0 {
			m.Value = ratio * own.Value.Center
		}
		if own.Base {
			m.Ratio = ratio
		} else {
			m.Ratio = ratio * own.Ratio.Center
		}
	}
	if p.Value.Value > 0 && p.Value.Unit != at.Unit {
		m.Value = 0
	}
	if m != (Mark{}) {
		at.Marks = append(at.Marks, m)
	}
	if ratio == 0 {
		return
	}
	one := Comparison{Of: r.Name(at.Levels), To: r.Name(base), Published: ratio}
	one.Here, _ = c.ratio(at.Levels, base, c.each)
	if one.Here.N == 0 {
		one.Missing = at.Missing
	}
	r.Comparisons = append(r.Comparisons, one)
}

// printed returns the published value of a cell, infinite if there is none.
func (r *Result) printed(levels map[string]string) float64 {
	for _, p := range r.Published {
		if p.Value.Value > 0 && p.about(levels) {
			return p.Value.Value
		}
	}
	return math.Inf(1)
}

// at returns the point with these levels, nil if it was not measured.
func (r *Result) at(levels map[string]string) *Point {
	i := slices.IndexFunc(r.Points, func(p Point) bool { return levels != nil && p.Value.N > 0 && maps.Equal(p.Levels, levels) })
	if i < 0 {
		return nil
	}
	return &r.Points[i]
}

// A Hop is a path over the first segments of a line of hosts.
type Hop struct {
	Network  string        `json:"network"`
	Probe    string        `json:"probe"`
	Metric   string        `json:"metric"`
	Unit     string        `json:"unit"`
	Adds     bool          `json:"adds"` // Parts is the sum of the segments; else the value over the first
	Segments int           `json:"segments"`
	Value    stat.Interval `json:"value"`
	Parts    stat.Interval `json:"parts,omitzero"`
	Ratio    stat.Interval `json:"ratio,omitzero"`
}

// hops takes the chains of a run that the figure is about.
func (r *Result) hops(run *analysis.Run) error {
	for _, c := range run.Chains {
		if !slices.Contains(r.levels(analysis.Network), c.Network) || !slices.Contains(r.levels(analysis.Probe), c.Probe) ||
			r.Values == nil && c.Metric == "rtt.path" || r.Values != nil && !slices.Contains(r.Values, c.Metric) {
			continue
		}
		for _, s := range c.Spans {
			r.Chains = append(r.Chains, Hop{c.Network, c.Probe, c.Metric, c.Unit, c.Adds, s.Segments, s.Value, s.Parts, s.Ratio})
		}
	}
	if r.Chains == nil {
		return fmt.Errorf("these results hold no path over several segments, as figure %s needs", r.ID)
	}
	for _, n := range r.levels(analysis.Network) {
		if !slices.ContainsFunc(r.Chains, func(h Hop) bool { return h.Network == n }) {
			r.Missing = append(r.Missing, n+": "+missing(run, n))
		}
	}
	return nil
}

// missing says why a network has no value in a run.
func missing(run *analysis.Run, network string) string {
	for _, row := range run.Rows() {
		if row.Network != network {
			continue
		}
		for _, p := range row.Points {
			if p.Reason != "" {
				return string(p.Status) + ": " + p.Reason
			}
		}
	}
	return "the run does not have it"
}
