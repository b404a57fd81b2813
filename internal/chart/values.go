package chart

import (
	"cmp"
	"math"
	"slices"
)

// Values has one row per network: the median with its interval on an axis from zero, the header
// ceiling if any, and every trial, hidden until the page shows them.
type Values struct {
	Rows []Row
	Axis string // the quantity with its unit
	Alt  string // text alternative
}

func (v Values) SVG() (string, error) {
	hi, ceiling := 0.0, 0.0
	var trials []float64
	for _, r := range v.Rows {
		vs := append(r.numbers(), r.Ceiling)
		hi = max(hi, slices.Max(vs))
		ceiling = cmp.Or(ceiling, r.Ceiling)
		for _, t := range r.Trials {
			vs, trials = append(vs, t.Value), append(trials, t.Value)
		}
		if err := finite(r.Name, vs...); err != nil {
			return "", err
		}
	}
	for _, t := range trials {
		if t < 1.4*hi { // a distant trial goes to the edge instead of squeezing the others
			hi = max(hi, t)
		}
	}
	top := 4.0
	if ceiling > 0 {
		top = 18
	}
	g := newGrid(v.Rows, top)
	c := newCanvas(g.bottom + axisHeight)
	a := fromZero(hi, g.left, g.right)
	c.bottom(a, g.top, g.bottom, v.Axis)
	for i, r := range v.Rows {
		g.row(c, i, r)
		if r.Ceiling > 0 {
			c.line(inkBad, 1.6, a.pos(r.Ceiling), g.y(i)-g.height/2+2, a.pos(r.Ceiling), g.y(i)+g.height/2-2)
		}
		c.trials(a, r, g.y(i))
		c.interval(a, r, g.y(i))
	}
	if ceiling > 0 {
		c.text(inkBad, end, smallSize, min(g.right, a.pos(ceiling)+26), g.top-6, "header ceiling")
	}
	return c.svg(v.Alt), nil
}

// trials spreads dots to show equal values. A trial beyond the axis is a wedge at its edge.
func (c *canvas) trials(a axis, r Row, y float64) {
	for i, t := range r.Trials {
		v, out := a.inside(t.Value)
		x := a.pos(v)
		dy := 8 * math.Sin(float64(i)*2.4) // golden angle: keeps neighbors apart
		switch {
		case out:
			c.path(inkDots, 1.2, "", [2]float64{x - 4, y + dy - 3}, [2]float64{x, y + dy}, [2]float64{x - 4, y + dy + 3})
		case t.OK:
			c.dot(inkDots, x, y+dy, 1.9)
		default:
			c.cross(inkDots, x, y+dy, 2.6)
		}
	}
}
