package chart

import (
	"math"
	"slices"
	"strings"
)

// Bars has groups of bars from zero, each with an interval, or, as Dots, dots on a logarithmic axis. A
// diamond is a published number.
type Bars struct {
	Groups    []BarGroup
	Dots      bool
	Reference float64 // draws a line at this value; 0 draws none
	Axis      string  // the quantity with its unit
	Alt       string  // text alternative
}

// A BarGroup is a name and its bars. The only bar of a group needs no name.
type BarGroup struct {
	Name string
	Bars []BarRow
}

// A BarRow is one bar. Without a value it has only its label.
type BarRow struct {
	Row
	Empty     bool
	Published []float64
}

func (r BarRow) tip(group string) string {
	r.Name = strings.TrimSpace(group + " " + r.Name)
	return r.Row.tip()
}

const (
	barHeight = 19.0
	barGap    = 9.0   // between groups
	subMax    = 190.0 // of the column of bars' names
)

func (v Bars) SVG() (string, error) {
	e, hi, most := extent{math.Inf(1), 0, math.Inf(1), 0}, v.Reference, v.Reference
	names, labels, sub, height := make([]string, len(v.Groups)), 0.0, 0.0, 0.0
	if v.Reference > 0 {
		e = around(v.Reference)
	}
	for i, g := range v.Groups {
		names[i] = g.Name
		height += barHeight*float64(len(g.Bars)) + barGap
		for _, r := range g.Bars {
			sub = max(sub, textWidth(r.Name, smallSize))
			if labels = max(labels, textWidth(r.Label, smallSize)); r.Empty {
				continue
			}
			vs := append(r.numbers(), r.Published...)
			if err := finite(r.Name, vs...); err != nil {
				return "", err
			}
			hi, most = max(hi, slices.Max(vs)), max(most, r.Value, slices.Max(append(r.Published, 0)))
			if v.Dots {
				r.Name = g.Name
				if err := e.add(r.Row, 1); err != nil {
					return "", err
				}
				for _, one := range r.Published {
					if err := e.add(Row{Name: g.Name, Value: one}, 1); err != nil {
						return "", err
					}
				}
			}
		}
	}
	left, short := nameColumn(names)
	if sub > 0 { // converters' fonts are a tenth wider
		left = 1.1*(left+min(sub, subMax)) + 6
	}
	top, bottom := 8.0, 8+max(height, barHeight)
	right := wide - min(labels, 150) - gap
	c := newCanvas(bottom + axisHeight)
	c.width = wide
	a := fromZero(upTo(most, hi), left, right)
	if v.Dots && e.hi > 0 {
		a = e.axis(grid{left: left, right: right})
	}
	c.bottom(a, top, bottom, v.Axis)
	if v.Reference > 0 {
		c.reference(a.pos(v.Reference), top-4, bottom)
	}
	y := top + barGap/2 + barHeight/2
	for i, g := range v.Groups {
		c.text(inkFG, start, textSize, 0, y+4, short[i])
		for _, r := range g.Bars {
			if r.Name != "" {
				c.text(inkMuted, end, smallSize, left-7, y+4, clip(r.Name, subMax, smallSize))
			}
			c.mark("", r.tip(g.Name))
			v.row(c, a, r, y)
			c.shut()
			y += barHeight
		}
		y += barGap
	}
	return c.svg(v.Alt), nil
}

func (v Bars) row(c *canvas, a axis, r BarRow, y float64) {
	if r.Empty && len(r.Published) > 0 { // a label beside the axis would lie under the mark
		c.text(inkMuted, end, smallSize, wide, y+4, r.Label)
		v.published(c, a, r, y)
		return
	}
	if r.Empty {
		label := clip(r.Label, wide-a.from-4, smallSize)
		c.rect(inkUnder, a.from+2, y-7, min(wide-a.from-2, textWidth(label, smallSize)+4), 14) // no line crosses it
		c.text(inkMuted, start, smallSize, a.from+4, y+4, label)
		return
	}
	c.text(inkFG, end, smallSize, wide, y+4, r.Label)
	if v.Dots {
		c.interval(a, r.Row, y)
	} else {
		in, _ := seriesInk(r.Color)
		c.rect(in, a.from, y-6, max(1, a.pos(r.Value)-a.from), 12)
		if r.Bounded {
			lo, _ := a.inside(r.Lo)
			hi, _ := a.inside(r.Hi)
			c.line(inkBG, 4, a.pos(lo), y, a.pos(hi), y) // sets the whiskers off from the bar
			c.bar(inkFG, 1.4, a, r.Lo, r.Hi, y, 3.5)
		}
	}
	v.published(c, a, r, y)
}

func (v Bars) published(c *canvas, a axis, r BarRow, y float64) {
	for _, p := range r.Published {
		c.published(a.pos(p), y)
	}
}

// published draws the open mark of a published number.
func (c *canvas) published(x, y float64) {
	const r = 5.0
	c.add(inked("o", inkFG)+" stroke-width=\"1.6\"", "<path d=\""+points("M", [][2]float64{{x - r, y}, {x, y - r}, {x + r, y}, {x, y + r}})+"Z\"/>")
}
