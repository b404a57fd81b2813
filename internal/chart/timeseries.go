package chart

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// TimeSeries shows quantities over time as panels, one above the other, with one axis of time.
type TimeSeries struct {
	Times  []float64 // s, ascending; 0 is the start of the measured window
	Window float64   // s, its length
	Panels []Panel
	Alt    string // text alternative
	X      string // names the axis of time; "" does in English
}

// A Panel has its own vertical axis, from 0.
type Panel struct {
	Axis  string  // the quantity with its unit
	Top   float64 // at least this high
	Stack bool    // the lines are parts of a sum
	Lines []TimeLine
}

// A TimeLine has a number per time. Its band is read only if it is as long.
type TimeLine struct {
	Name   string
	Color  int // as a network's; in a stack one of its six, 0 to 5
	Y      []float64
	Lo, Hi []float64
}

const (
	panelHeight = 82.0
	panelGap    = 32.0 // above a panel, with its title
	panelsTop   = -14.0
	legendRow   = 15.0
)

func (v TimeSeries) SVG() (string, error) {
	if err := v.check(); err != nil {
		return "", err
	}
	var names []string
	height := panelsTop
	for _, p := range v.Panels {
		height += panelGap + panelHeight
		if p.Stack {
			height += legendRow
			continue
		}
		for _, l := range p.Lines {
			names = append(names, l.Name)
		}
	}
	w, _ := column(names, tagMax)
	c := newCanvas(height + axisHeight)
	left, right := 40.0, width-max(w, gap)-4
	x := axis{lo: v.Times[0], hi: v.Times[len(v.Times)-1], from: left, to: right}
	x.ticks = multiples(step(x.hi-x.lo, 6), x.lo, x.hi)
	var times []string
	for _, t := range v.Times {
		times = append(times, decimal(t, 2)+" s")
	}
	c.root = each("data-x", times)
	at := panelsTop
	for _, p := range v.Panels {
		at = v.panel(c, p, x, at)
	}
	for _, t := range x.ticks {
		c.text(inkMuted, middle, smallSize, x.pos(t), at+14, tickNum(t))
	}
	c.text(inkMuted, middle, smallSize, (left+right)/2, at+29, cmp.Or(v.X, "s since the measured window began"))
	return c.svg(v.Alt), nil
}

func (v TimeSeries) check() error {
	if len(v.Times) < 2 || len(v.Panels) == 0 {
		return fmt.Errorf("chart: %d times and %d panels: want two times and a panel or more", len(v.Times), len(v.Panels))
	}
	if err := finite("times", append([]float64{v.Window}, v.Times...)...); err != nil {
		return err
	}
	for i, t := range v.Times[1:] {
		if t <= v.Times[i] {
			return fmt.Errorf("chart: time %v follows %v: want ascending times", t, v.Times[i])
		}
	}
	for _, p := range v.Panels {
		for _, l := range p.Lines {
			if p.Stack && (l.Color < 0 || l.Color >= len(parts)) {
				return fmt.Errorf("chart: %s has color %d of a stack: want 0 to %d", l.Name, l.Color, len(parts)-1)
			}
			if len(l.Y) != len(v.Times) {
				return fmt.Errorf("chart: %s has %d numbers: want %d", l.Name, len(l.Y), len(v.Times))
			}
			if err := finite(l.Name, append(append(append([]float64{p.Top}, l.Y...), l.Lo...), l.Hi...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// panel draws p below the position above and returns its bottom.
func (v TimeSeries) panel(c *canvas, p Panel, x axis, above float64) float64 {
	title := above + panelGap - 8
	top := above + panelGap
	if p.Stack {
		top += legendRow
	}
	bottom := top + panelHeight
	y := v.scale(p, bottom, top)
	for _, t := range y.ticks {
		c.line(inkGrid, 1, x.from, y.pos(t), x.to, y.pos(t))
	}
	for _, t := range x.ticks {
		c.line(inkGrid, 1, x.pos(t), top, x.pos(t), bottom)
	}
	for _, t := range y.ticks {
		c.text(inkMuted, end, smallSize, x.from-6, y.pos(t)+4, tickNum(t))
	}
	c.text(inkMuted, start, smallSize, 0, title, p.Axis)
	if p.Stack {
		v.stack(c, p, x, y, top-legendRow)
	} else {
		v.lines(c, p, x, y)
	}
	for _, edge := range []float64{0, v.Window} { // beyond are the warm-up and the end
		if at, out := x.inside(edge); !out {
			c.path(inkMuted, 1, "2 2", [2]float64{x.pos(at), top}, [2]float64{x.pos(at), bottom})
		}
	}
	return bottom
}

func (v TimeSeries) scale(p Panel, bottom, top float64) axis {
	hi := p.Top
	for i := range v.Times {
		sum := 0.0
		for _, l := range p.Lines {
			sum += max(l.Y[i], 0)
			if hi = max(hi, l.Y[i]); !p.Stack && l.banded() {
				hi = max(hi, l.Hi[i])
			}
		}
		if p.Stack {
			hi = max(hi, sum)
		}
	}
	a := fromZero(hi, bottom, top)
	a.ticks = multiples(step(a.hi, 3), 0, a.hi)
	return a
}

func (l TimeLine) banded() bool { return len(l.Lo) == len(l.Y) && len(l.Hi) == len(l.Y) }

// stack draws areas on top of each other, with a legend at a height.
func (v TimeSeries) stack(c *canvas, p Panel, x, y axis, legend float64) {
	below := make([]float64, len(v.Times))
	for _, l := range p.Lines {
		above := make([]float64, len(below))
		for i := range above {
			above[i] = below[i] + max(l.Y[i], 0)
		}
		c.mark(each("data-l", nums(l.Y)), strings.TrimSpace(l.Name+" "+p.Axis))
		c.area(parts[l.Color], 1, v.Times, below, above, x, y)
		c.shut()
		below = above
	}
	at := x.from
	for _, l := range p.Lines {
		c.rect(parts[l.Color], at, legend, 9, 9)
		c.text(inkMuted, start, smallSize, at+13, legend+8.5, l.Name)
		at += 13 + textWidth(l.Name, smallSize) + 12
	}
}

func nums(vs []float64) (out []string) {
	for _, v := range vs {
		out = append(out, num(v))
	}
	return out
}

// lines draws lines with bands, and their names at their ends.
func (v TimeSeries) lines(c *canvas, p Panel, x, y axis) {
	last := len(v.Times) - 1 // in the window: beyond, all lines end alike
	for last > 0 && v.Times[last] > v.Window {
		last--
	}
	var tags []tag
	for _, l := range p.Lines {
		in, dash := seriesInk(l.Color)
		xy := make([][2]float64, len(l.Y))
		for i, t := range v.Times {
			xy[i] = [2]float64{x.pos(t), y.pos(l.Y[i])}
		}
		c.mark(each("data-l", nums(l.Y)), cmp.Or(l.Name, p.Axis))
		c.path(in, 1.6, dash, xy...)
		if l.banded() {
			c.area(in, 0.16, v.Times, l.Lo, l.Hi, x, y)
		}
		c.shut()
		if l.Name != "" {
			tags = append(tags, tag{clip(l.Name, tagMax, textSize), in, -1, xy[last][0], xy[last][1]})
		}
	}
	plot{canvas: c, right: x.to}.tags(tags, y)
}

// area fills between two lines.
func (c *canvas) area(in ink, opacity float64, times, lo, hi []float64, x, y axis) {
	var xy [][2]float64
	for i, t := range times {
		xy = append(xy, [2]float64{x.pos(t), y.pos(math.Max(hi[i], 0))})
	}
	for i := len(times) - 1; i >= 0; i-- {
		xy = append(xy, [2]float64{x.pos(times[i]), y.pos(math.Max(lo[i], 0))})
	}
	attrs := inked("a", in)
	if opacity < 1 {
		attrs += " fill-opacity=\"" + decimal(opacity, 2) + "\""
	}
	c.add(attrs, "<path d=\""+points("M", xy)+"Z\"/>")
}
