package chart

import "slices"

// A Fall leads from First, which is 1, to Total, step by step.
type Fall struct {
	First string
	Steps []Row // ratios to the previous step; Color selects a stacked bar's part color
	Total Row   // ratio to First
	Alt   string
}

// A Waterfall shows a fall on a logarithmic axis, where factors add up: a step's bar begins where
// the previous one ends, and its length is its ratio. A step's interval surrounds the end of its
// bar. A decreasing step is red. The total looks as in Ratios, because it is measured and is not
// the sum of the bars.
type Waterfall struct {
	Fall
	All  []Fall // falls that share this chart's axis
	Axis string
}

func (v Waterfall) SVG() (string, error) {
	e := around(1)
	for _, f := range append(slices.Clone(v.All), v.Fall) {
		at := 1.0
		for _, r := range f.Steps {
			if err := e.add(r, at); err != nil {
				return "", err
			}
			at *= r.Value
		}
		if err := e.add(f.Total, 1); err != nil {
			return "", err
		}
	}
	rows := slices.Concat([]Row{{Name: v.First, Label: "1"}}, v.Steps, []Row{v.Total})
	g := newGrid(rows, 4)
	c := newCanvas(g.bottom + axisHeight)
	a := e.axis(g)
	c.bottom(a, g.top, g.bottom, v.Axis)
	c.reference(a.pos(1), g.top, g.bottom)
	g.row(c, 0, rows[0])
	c.dot(inkFG, a.pos(1), g.y(0), 4.5)
	at := 1.0
	for i, r := range v.Steps {
		y, from, to := g.y(i+1), a.pos(at), a.pos(at*r.Value)
		c.path(inkMuted, 1, "2 2", [2]float64{from, g.y(i)}, [2]float64{from, y - 8})
		c.mark("", r.tip())
		g.row(c, i+1, r)
		in := parts[r.Color%len(parts)]
		if r.Value < 1 && !(r.Bounded && r.Hi >= 1) {
			in = inkBad
		}
		left, right := min(from, to), max(from, to)
		c.rect(in, left, y-8, max(1, right-left), 16)
		if r.Bounded {
			c.bar(inkFG, 1.4, a, at*r.Lo, at*r.Hi, y, 3.5)
		}
		c.shut()
		at *= r.Value
	}
	c.mark("", v.Total.tip())
	g.row(c, len(rows)-1, v.Total)
	c.interval(a, v.Total, g.y(len(rows)-1))
	c.shut()
	return c.svg(v.Alt), nil
}
