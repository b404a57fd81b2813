package chart

import (
	"fmt"
	"slices"
)

// A Fall leads from First, which is 1, to Total, step by step.
type Fall struct {
	First string
	Steps []Row // ratios to the step before; Color is that of a part of a stacked bar
	Total Row   // ratio to First
	Alt   string
}

// A Waterfall shows a fall on a logarithmic axis, so that factors add up: a step's bar
// begins where the one before it ended, and is as long as its ratio. The interval of a
// step surrounds the end of its bar. A step that leads back is red. The total is drawn as
// in Ratios, because it is measured, and not the sum of the bars.
type Waterfall struct {
	Fall
	All  []Fall // charts to be compared have one axis, which holds all of these
	Axis string
}

func (v Waterfall) SVG() (string, error) {
	lo, hi := 1.0, 1.0
	for _, f := range append(slices.Clone(v.All), v.Fall) {
		l, h, err := f.span()
		if err != nil {
			return "", err
		}
		lo, hi = min(lo, l), max(hi, h)
	}
	if hi/lo < 1.1 { // a difference of a percent must not fill the chart
		lo, hi = lo/1.05, hi*1.05
	}
	return v.Fall.draw(lo, hi, v.Axis), nil
}

// span is the range that the axis must hold.
func (f Fall) span() (lo, hi float64, err error) {
	lo, hi = 1, 1
	at := 1.0
	for i, r := range append(slices.Clone(f.Steps), f.Total) {
		if i == len(f.Steps) {
			at = 1
		}
		vs := []float64{r.Value}
		if r.Bounded {
			vs = append(vs, r.Lo, r.Hi)
		}
		if err := finite(r.Name, append(vs, at*slices.Max(vs), at*slices.Min(vs))...); err != nil {
			return 0, 0, err
		}
		if slices.Min(vs) <= 0 {
			return 0, 0, fmt.Errorf("chart: %s: cannot draw a ratio of %v on a logarithmic axis", r.Name, slices.Min(vs))
		}
		lo, hi = min(lo, at*slices.Min(vs)), max(hi, at*slices.Max(vs))
		at *= r.Value
	}
	return lo, hi, nil
}

func (f Fall) draw(lo, hi float64, axis string) string {
	rows := append(append([]Row{{Name: f.First, Label: "1"}}, f.Steps...), f.Total)
	g := newGrid(rows, 4)
	c := newCanvas(g.bottom + axisHeight)
	a := logarithmic(lo, hi, g.left, g.right)
	c.bottom(a, g.top, g.bottom, axis)
	c.line(inkFG, 1, a.pos(1), g.top, a.pos(1), g.bottom)
	g.row(c, 0, rows[0])
	c.dot(inkFG, a.pos(1), g.y(0), 4.5)
	at := 1.0
	for i, r := range f.Steps {
		y, from, to := g.y(i+1), a.pos(at), a.pos(at*r.Value)
		c.path(inkMuted, 1, ";stroke-dasharray:2 2", [2]float64{from, g.y(i)}, [2]float64{from, y - 8})
		g.row(c, i+1, r)
		in := parts[r.Color%len(parts)]
		if r.Value < 1 && !(r.Bounded && r.Hi >= 1) {
			in = inkBad
		}
		c.rect(in, min(from, to), y-8, max(1, max(from, to)-min(from, to)), 16)
		if r.Bounded {
			low, high := a.pos(at*r.Lo), a.pos(at*r.Hi)
			c.line(inkFG, 1.4, low, y, high, y)
			c.line(inkFG, 1.4, low, y-3.5, low, y+3.5)
			c.line(inkFG, 1.4, high, y-3.5, high, y+3.5)
		}
		at *= r.Value
	}
	g.row(c, len(rows)-1, f.Total)
	c.interval(a, f.Total, g.y(len(rows)-1))
	return c.svg(f.Alt)
}
