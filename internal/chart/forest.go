package chart

import (
	"cmp"
	"math"
)

// Forest has a group per network: each run's ratio as a square, larger with more weight, with its
// interval, and below them the pooled ratio as a diamond as wide as its interval, with the prediction
// of the next run as a bar through it. The axis is logarithmic, with a line at 1. (Lewis and Clarke,
// Forest plots: trying to see the wood and the trees, BMJ 322, 2001; for the bar, Riley, Higgins and
// Deeks, BMJ 342, 2011.)
type Forest struct {
	Groups   []ForestGroup
	Baseline string // name of the line at 1
	Axis     string // the divided quantity and its better direction
	Alt      string // text alternative
}

// A ForestGroup is one network.
type ForestGroup struct {
	Name    string
	Color   int
	Runs    []ForestRun
	Pooled  Row     // Name labels the diamond
	NextLo  float64 // of the next run, 0 if unknown
	NextHi  float64
	Missing string // says how many runs do not count; "" for none
}

// A ForestRun is one run; Weight is its share in the pooled ratio, 0..1.
type ForestRun struct {
	Row
	Weight float64
}

func (v Forest) SVG() (string, error) {
	e := around(1)
	var rows []Row
	for _, g := range v.Groups {
		rows = append(rows, Row{Name: g.Name})
		for _, r := range g.Runs {
			if err := e.add(r.Row, 1); err != nil {
				return "", err
			}
			if err := finite(r.Name, r.Weight); err != nil {
				return "", err
			}
			rows = append(rows, r.Row)
		}
		if err := e.add(g.Pooled, 1); err != nil {
			return "", err
		}
		if g.NextLo > 0 {
			next := Row{Name: g.Name, Value: g.NextLo, Lo: g.NextLo, Hi: g.NextHi, Bounded: true}
			if err := e.add(next, 1); err != nil {
				return "", err
			}
		}
		rows = append(rows, g.Pooled)
	}
	g := newGrid(rows, 18)
	g.height = 20
	g.bottom = g.top + max(1, float64(len(rows)))*g.height
	c := newCanvas(g.bottom + axisHeight)
	a := e.axis(g)
	c.bottom(a, g.top, g.bottom, v.Axis)
	one := a.pos(1)
	c.reference(one, g.top-4, g.bottom)
	c.text(inkFG, anchorFor(one, g), smallSize, one, g.top-8, clip(v.Baseline, nameMax, smallSize)+" = 1")
	i := 0
	for _, group := range v.Groups {
		c.open(of(group.Color, g.height*float64(2+len(group.Runs))))
		c.text(inkFG, start, textSize, 0, g.y(i)+4, g.names[i])
		if group.Missing != "" {
			c.text(inkMuted, end, smallSize, width, g.y(i)+4, group.Missing)
		}
		i++
		for _, r := range group.Runs {
			c.forestRun(a, g, r, group.Color, i)
			i++
		}
		c.diamond(a, g, group, i)
		c.shut()
		i++
	}
	return c.svg(v.Alt), nil
}

func (c *canvas) forestRun(a axis, g grid, r ForestRun, color, i int) {
	in, _ := seriesInk(color)
	y, x := g.y(i), a.pos(r.Value)
	c.mark("", r.tip())
	c.text(inkMuted, start, smallSize, gap, y+4, g.names[i])
	c.text(inkMuted, end, smallSize, width, y+4, r.Label)
	if r.Bounded {
		c.bar(in, 1.2, a, r.Lo, r.Hi, y, 0)
	}
	half := 2 + 4*math.Sqrt(min(1, max(0, r.Weight)))
	c.rect(in, x-half, y-half, 2*half, 2*half)
	c.shut()
}

// diamond draws a pooled ratio: a diamond, or a ring without an interval.
func (c *canvas) diamond(a axis, g grid, group ForestGroup, i int) {
	in, _ := seriesInk(group.Color)
	y, r := g.y(i), group.Pooled
	c.mark("", cmp.Or(r.Tip, group.Name+", "+r.Name+": "+r.Label))
	defer c.shut()
	c.text(inkFG, start, textSize, gap, y+4, g.names[i])
	c.text(inkFG, end, textSize, width, y+4, r.Label)
	if group.NextLo > 0 {
		c.bar(inkMuted, 1.5, a, group.NextLo, group.NextHi, y, 3)
	}
	if !r.Bounded {
		c.ring(in, a.pos(r.Value), y, 4, 1.6)
		return
	}
	lo, _ := a.inside(r.Lo)
	hi, _ := a.inside(r.Hi)
	c.add(inked("a", in), "<path d=\""+points("M", [][2]float64{{a.pos(lo), y}, {a.pos(r.Value), y - 7}, {a.pos(hi), y}, {a.pos(r.Value), y + 7}})+"Z\"/>")
}
