package chart

import (
	"cmp"
	"slices"
)

// Values has one row per network: the median with its interval on an axis from zero, and the header
// ceiling if any.
type Values struct {
	Rows []Row
	Axis string // the quantity with its unit
	Alt  string // text alternative
	Top  string // names the header ceiling; "" does in English
}

func (v Values) SVG() (string, error) {
	hi, most, ceiling := 0.0, 0.0, 0.0
	for _, r := range v.Rows {
		vs := append(r.numbers(), r.Ceiling)
		hi, most = max(hi, slices.Max(vs)), max(most, r.Value, r.Ceiling)
		ceiling = cmp.Or(ceiling, r.Ceiling)
		if err := finite(r.Name, vs...); err != nil {
			return "", err
		}
	}
	top := 4.0
	if ceiling > 0 {
		top = 18
	}
	g := newGrid(v.Rows, top)
	c := newCanvas(g.bottom + axisHeight)
	a := fromZero(upTo(most, hi), g.left, g.right)
	c.bottom(a, g.top, g.bottom, v.Axis)
	for i, r := range v.Rows {
		c.mark(of(r.Color, g.height), r.tip())
		g.row(c, i, r)
		if r.Ceiling > 0 {
			c.line(inkBad, 1.6, a.pos(r.Ceiling), g.y(i)-g.height/2+2, a.pos(r.Ceiling), g.y(i)+g.height/2-2)
		}
		c.interval(a, r, g.y(i))
		c.shut()
	}
	if ceiling > 0 {
		c.text(inkBad, end, smallSize, min(width, a.pos(ceiling)+26), g.top-6, cmp.Or(v.Top, "header ceiling"))
	}
	return c.svg(v.Alt), nil
}
