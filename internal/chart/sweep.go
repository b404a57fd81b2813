package chart

import "math"

// A Curve is one network along a factor.
type Curve struct {
	Name   string
	Color  int
	Points []CurvePoint // by ascending X
	Dashed bool         // computed from others
}

// A CurvePoint is an estimate at one level.
type CurvePoint struct {
	X, Y    float64
	Lo, Hi  float64 // read only when Bounded
	Bounded bool
}

// Sweep shows how a value changes with a factor, one curve per network with the interval
// at every level. The vertical axis starts at zero.
type Sweep struct {
	Curves    []Curve
	Reference float64 // draws a line at this value; 0 draws none
	X, Y      string  // titles of the axes
	Alt       string  // text alternative
}

func (v Sweep) SVG() (string, error) {
	lo, hi, top := math.Inf(1), math.Inf(-1), v.Reference
	names := make([]string, len(v.Curves))
	var levels []float64
	for i, k := range v.Curves {
		names[i] = k.Name
		for _, p := range k.Points {
			vs := []float64{p.X, p.Y}
			if p.Bounded {
				vs = append(vs, p.Lo, p.Hi)
				top = max(top, p.Hi)
			}
			if err := finite(k.Name, vs...); err != nil {
				return "", err
			}
			lo, hi, top = min(lo, p.X), max(hi, p.X), max(top, p.Y)
			levels = append(levels, p.X)
		}
	}
	if len(levels) == 0 {
		lo, hi = 0, 1
	}
	const left, above, bottom = 44.0, 22.0, 222.0
	namesWidth, short := nameColumn(names)
	right := width - namesWidth - 8
	c := newCanvas(bottom + axisHeight)
	y := fromZero(top, bottom, above)
	c.side(y, left, right, v.Y)
	x := along(lo, hi, left+8, right-4)
	for _, t := range x.ticks {
		c.line(inkGrid, 1, x.pos(t), bottom, x.pos(t), bottom+4)
	}
	for _, t := range x.ticks {
		c.text(inkMuted, middle, smallSize, x.pos(t), bottom+14, tickNum(t))
	}
	c.text(inkMuted, middle, smallSize, (left+right)/2, bottom+31, v.X)
	if v.Reference > 0 {
		c.line(inkFG, 1, left, y.pos(v.Reference), right, y.pos(v.Reference))
	}
	c.sweep(v.Curves, short, x, y, right)
	return c.svg(v.Alt), nil
}

// along is the axis of the levels, logarithmic where they span two orders of magnitude.
func along(lo, hi, from, to float64) axis {
	if lo > 0 && hi/lo >= 100 {
		a := logarithmic(lo, hi, from, to)
		a.lo, a.hi = lo, hi
		return a.within()
	}
	if hi <= lo {
		lo, hi = lo-1, hi+1
	}
	a := axis{lo: lo, hi: hi, from: from, to: to}
	a.ticks = multiples(step(hi-lo, 5), lo, hi)
	return a
}

// within drops the ticks outside the axis.
func (a axis) within() axis {
	var in []float64
	for _, t := range a.ticks {
		if t >= a.lo*(1-1e-9) && t <= a.hi*(1+1e-9) {
			in = append(in, t)
		}
	}
	a.ticks = in
	return a
}

func (c *canvas) sweep(curves []Curve, names []string, x, y axis, right float64) {
	var tags []tag
	for i, k := range curves {
		in, dash := seriesInk(k.Color)
		if k.Dashed {
			dash = ";stroke-dasharray:2 3"
		}
		var xy [][2]float64
		for _, p := range k.Points {
			at := [2]float64{x.pos(p.X), y.pos(p.Y)}
			xy = append(xy, at)
			if p.Bounded {
				c.line(in, 1.4, at[0], y.pos(max(p.Lo, 0)), at[0], y.pos(p.Hi))
			}
			c.dot(in, at[0], at[1], 2.6)
		}
		if len(xy) == 0 {
			continue
		}
		c.path(in, 1.6, dash, xy...)
		last := xy[len(xy)-1]
		tags = append(tags, tag{names[i], in, last[0], last[1]})
	}
	c.tags(tags, right, y)
}
