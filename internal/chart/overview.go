package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Overview has all ratios of a run on one logarithmic axis: groups of rows, each a dot with its interval, and a line at 1.
// The dots decide how far the axis goes. What an interval has beyond it ends in an arrow, so that one that says nothing
// leaves the others room.
type Overview struct {
	Groups []RowGroup
	One    string // name of the line at 1
	Axis   string
	Alt    string // text alternative
}

const (
	// roomy is how much the axis has beyond the outermost dots, as a factor.
	roomy = 1.6
	// headHeight, rowHeight and tightHeight are those of a heading, of a row, and of one among many.
	headHeight, rowHeight, tightHeight = 20.0, 20.0, 15.0
	manyOverview                       = 20
	// nextLine is from a line of a name to the next one.
	nextLine = 13.0
)

func (v Overview) SVG() (string, error) {
	lo, hi := 1.0, 1.0
	var all []Row
	names := [][]string{}
	for _, g := range v.Groups {
		all, names = append(all, Row{}), append(names, nil)
		for _, r := range g.Rows {
			if err := finite(r.Name, r.numbers()...); err != nil {
				return "", err
			}
			if r.Value < 0 {
				return "", fmt.Errorf("chart: %s: cannot draw a ratio of %v", r.Name, r.Value)
			}
			if r.Value > 0 {
				lo, hi = min(lo, r.Value), max(hi, r.Value)
			}
			lines := wrapped(r.Name, nameMax, textSize)
			r.Name = slices.MaxFunc(lines, func(a, b string) int { return cmp.Compare(textWidth(a, textSize), textWidth(b, textSize)) })
			all, names = append(all, r), append(names, lines)
		}
	}
	lo, hi = v.reach(lo/roomy, hi*roomy)
	g := newGrid(all, 18)
	g.left += gap // rows are indented
	height := rowHeight
	if len(all) > manyOverview {
		height = tightHeight
	}
	ys, y := make([]float64, len(all)), g.top
	for i, n := 0, 0; i < len(v.Groups); i++ {
		y += headHeight
		ys[n] = y - 6
		for range v.Groups[i].Rows {
			n++
			high := height + nextLine*float64(len(names[n])-1)
			ys[n] = y + high/2
			y += high
		}
		n++
	}
	g.bottom = y + 4
	c := newCanvas(g.bottom + axisHeight)
	a := logarithmic(lo, hi, g.left, g.right)
	c.bottom(a, g.top, g.bottom, v.Axis)
	one := a.pos(1)
	c.reference(one, g.top-4, g.bottom)
	c.text(inkFG, anchorFor(one, g), smallSize, one, g.top-8, clip(v.One, nameMax, smallSize)+" = 1")
	n := 0
	for _, group := range v.Groups {
		name := clip(group.Name, width, textSize)
		if w := textWidth(name, textSize); w > g.left { // no line crosses it
			c.rect(inkUnder, 0, ys[n]-11, min(width, w+3), 14)
		}
		c.text(inkFG, start, textSize, 0, ys[n], name)
		for _, r := range group.Rows {
			n++
			c.mark("", group.Name+", "+r.tip())
			for i, line := range names[n] {
				c.text(inkMuted, start, textSize, gap, ys[n]+4+nextLine*(float64(i)-float64(len(names[n])-1)/2), line)
			}
			c.text(inkFG, end, textSize, width, ys[n]+4, r.Label)
			c.clipped(a, r, ys[n])
			c.shut()
		}
		n++
	}
	return c.svg(v.Alt), nil
}

// reach shrinks the axis to what the intervals need.
func (v Overview) reach(lo, hi float64) (float64, float64) {
	low, high := 1.0, 1.0
	for _, g := range v.Groups {
		for _, r := range g.Rows {
			for _, x := range r.numbers() {
				if x > 0 {
					low, high = min(low, x), max(high, x)
				}
			}
		}
	}
	return max(lo, min(low, 0.95)), min(hi, max(high, 1.05))
}

// clipped draws an interval, whose ends beyond the axis are arrows.
func (c *canvas) clipped(a axis, r Row, y float64) {
	in, _ := seriesInk(r.Color)
	x := math.Max(a.from, math.Min(a.to, a.pos(math.Max(r.Value, a.lo))))
	if !r.Bounded {
		c.ring(in, x, y, 3.5, 1.6)
		return
	}
	c.bar(in, 2, a, r.Lo, r.Hi, y, 3)
	c.spot(in, r.Color, x, y, 4)
}

// spot marks an estimate: a dot, or a square once all colors are used.
func (c *canvas) spot(in ink, color int, x, y, r float64) {
	if color > len(series)-1 {
		c.add(inked("d", in), fmt.Sprintf("<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>", px(x-r), px(y-r), px(2*r), px(2*r)))
		return
	}
	c.circle(inked("d", in), x, y, r)
}
