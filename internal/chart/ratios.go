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
	e := around(1)
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

// An extent is the range of a logarithmic axis of ratios: of all that is drawn, and of the estimates alone.
type extent struct{ lo, hi, first, last float64 }

// around is the extent of one value.
func around(v float64) extent { return extent{v, v, v, v} }

// beyond is how far an axis follows intervals past the outermost estimates, as a factor: one interval that says nothing
// must leave the others room.
const beyond = 4

// upTo is the end of an axis from zero for estimates and the ends of their intervals.
func upTo(estimate, end float64) float64 {
	if estimate > 0 {
		return min(end, beyond*estimate)
	}
	return end
}

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
	if v := at * r.Value; v > 0 {
		e.first, e.last = min(e.first, v), max(e.last, v)
	}
	return nil
}

func (e extent) axis(g grid) axis {
	e.lo, e.hi = max(e.lo, e.first/beyond), min(e.hi, e.last*beyond)
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
	c.bar(in, 2, a, r.Lo, r.Hi, y, 4)
	c.spot(in, r.Color, x, y, 5)
}

// bar draws an interval with ends of this half height. What it has beyond the axis ends in an arrow.
func (c *canvas) bar(in ink, w float64, a axis, lo, hi, y, half float64) {
	lo, below := a.inside(lo)
	hi, above := a.inside(hi)
	from, to := a.pos(lo), a.pos(hi)
	end := func(x, out float64, beyond bool) string {
		if beyond {
			return fmt.Sprintf("M%s,%sL%s,%sL%s,%s", px(x-4*out), px(y-3.5), px(x), px(y), px(x-4*out), px(y+3.5))
		}
		if half == 0 {
			return ""
		}
		return fmt.Sprintf("M%s,%sV%s", px(x), px(y-half), px(y+half))
	}
	c.stroke(in, w, "", fmt.Sprintf("M%s,%sH%s", px(from), px(y), px(to))+end(from, -1, below)+end(to, 1, above))
}
