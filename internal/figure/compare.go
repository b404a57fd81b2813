package figure

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// mark places the published numbers at the points, and compares their ratios with the run's.
func (r *Result) mark(c cells) {
	for _, p := range r.Published {
		found := false
		for i := range r.Points {
			if p.about(r.Points[i].Levels) {
				r.place(c, p, &r.Points[i])
				found = true
			}
		}
		if !found && p.Ratio.Value > 0 {
			of := map[string]string{}
			for k, l := range p.At {
				of[k] = strings.Join(l, " or ")
			}
			r.Comparisons = append(r.Comparisons, Comparison{Of: r.Name(of), To: r.Name(p.To), Published: p.Ratio.Value, Missing: "the run does not have it"})
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
	if base == nil && p.Ratio.Value > 0 {
		r.Comparisons = append(r.Comparisons, Comparison{Of: r.Name(at.Levels), To: r.Name(to), Published: ratio, Missing: "the run does not have its divisor"})
	}
	if ratio == 0 || base == nil {
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
