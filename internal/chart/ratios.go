package chart

import (
	"fmt"
	"slices"
)

// Ratios has one row per network: its ratio to the baseline as a dot on a logarithmic axis, the
// interval as a bar, and a line at 1.
type Ratios struct {
	Rows     []Row
	Baseline string // name of the line at 1
	Axis     string // the divided quantity and its better direction
	Alt      string // text alternative
}

func (v Ratios) SVG() (string, error) {
	e := extent{1, 1}
	for _, r := range v.Rows {
		if err := e.add(r, 1); err != nil {
			return "", err
		}
	}
	g := newGrid(v.Rows, 18)
	c := newCanvas(g.bottom + axisHeight)
	a := e.axis(g)
	c.bottom(a, g.top, g.bottom, v.Axis)
	one := a.pos(1)
	c.reference(one, g.top-4, g.bottom)
	c.text(inkFG, anchorFor(one, g), smallSize, one, g.top-8, clip(v.Baseline, nameMax, smallSize)+" = 1")
	for i, r := range v.Rows {
		c.mark(of(r.Color, g.height), r.tip())
		g.row(c, i, r)
		c.interval(a, r, g.y(i))
		c.shut()
	}
	return c.svg(v.Alt), nil
}

// An extent is the range of a logarithmic axis of ratios.
type extent struct{ lo, hi float64 }

// add extends the range to a ratio drawn at a value.
func (e *extent) add(r Row, at float64) error {
	vs := r.numbers()
	lo, hi := slices.Min(vs), slices.Max(vs)
	if err := finite(r.Name, append(vs, at*lo, at*hi)...); err != nil {
		return err
	}
	if lo < 0 {
		return fmt.Errorf("chart: %s: cannot draw a ratio of %v", r.Name, lo)
	}
	for _, v := range vs {
		if at*v > 0 { // a network that stalls has an interval from 0, which extends to the edge
			e.lo, e.hi = min(e.lo, at*v), max(e.hi, at*v)
		}
	}
	return nil
}

func (e extent) axis(g grid) axis {
	if e.hi/e.lo < 1.1 { // a 1 % difference must not fill the chart
		e.lo, e.hi = e.lo/1.05, e.hi*1.05
	}
	return logarithmic(e.lo, e.hi, g.left, g.right)
}

// anchorFor keeps a label at x inside the drawing.
func anchorFor(x float64, g grid) anchor {
	switch {
	case x > g.right-40:
		return end
	case x < g.left+40:
		return start
	}
	return middle
}

// A grid is the layout of a dot chart: names, plot, labels.
type grid struct {
	left, right, top, bottom float64
	height                   float64 // of a row
	names                    []string
}

func newGrid(rows []Row, top float64) grid {
	names, right := make([]string, len(rows)), 0.0
	for i, r := range rows {
		names[i] = r.Name
		right = max(right, textWidth(r.Label, textSize))
	}
	g := grid{top: top, height: 27}
	if len(rows) > 6 {
		g.height = 22
	}
	g.left, g.names = nameColumn(names)
	g.left += 4
	g.right = width - right - gap - 4
	g.bottom = top + max(1, float64(len(rows)))*g.height
	return g
}

func (g grid) y(i int) float64 { return g.top + (float64(i)+0.5)*g.height }

// row prints the name and label of row i.
func (g grid) row(c *canvas, i int, r Row) {
	c.text(inkFG, start, textSize, 0, g.y(i)+4, g.names[i])
	c.text(inkFG, end, textSize, width, g.y(i)+4, r.Label)
}

// interval draws dot and bar. The dot is hollow without an interval.
func (c *canvas) interval(a axis, r Row, y float64) {
	in, _ := seriesInk(r.Color)
	x := a.pos(r.Value)
	if !r.Bounded {
		c.ring(in, x, y, 4, 1.6)
		return
	}
	lo, _ := a.inside(r.Lo)
	hi, _ := a.inside(r.Hi)
	if endless(r.Hi) {
		to := a.pos(hi)
		c.stroke(in, 2, "", fmt.Sprintf("M%s,%sV%sM%s,%sH%sM%s,%sL%s,%sL%s,%s", px(a.pos(lo)), px(y-4), px(y+4), px(a.pos(lo)), px(y), px(to),
			px(to-4), px(y-4), px(to), px(y), px(to-4), px(y+4)))
	} else {
		c.whiskers(in, 2, a.pos(lo), a.pos(hi), y, 4)
	}
	c.spot(in, r.Color, x, y, 5)
}

// whiskers draws an interval with ends that reach h above and below y.
func (c *canvas) whiskers(in ink, w, lo, hi, y, h float64) {
	c.stroke(in, w, "", fmt.Sprintf("M%s,%sH%sM%s,%sV%sM%s,%sV%s", px(lo), px(y), px(hi), px(lo), px(y-h), px(y+h), px(hi), px(y-h), px(y+h)))
}
