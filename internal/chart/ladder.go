package chart

import (
	"fmt"
	"math"
	"strconv"
)

// A Group is one network of a ladder.
type Group struct {
	Name  string
	Color int
	Steps []Step // in path order
}

// A Step is the rate at one place of the path.
type Step struct {
	Name  string
	Value float64
}

// lossShown is the smallest loss printed: 0.1 % rounded.
const lossShown = 0.0005

// Ladder shows where packets are lost: one bar per step, from offered to delivered, and each step's
// loss in percent of the step before.
type Ladder struct {
	Groups []Group
	Axis   string // the unit of the rates
	Alt    string // text alternative
}

func (v Ladder) SVG() (string, error) {
	const bar, between, stepName = 15.0, 14.0, 62.0
	names, lo, hi, height := make([]string, len(v.Groups)), 100.0, 0.0, 4.0
	for i, g := range v.Groups {
		names[i] = g.Name
		height += bar*float64(len(g.Steps)) + between
		for _, s := range g.Steps {
			if err := finite(g.Name, s.Value); err != nil {
				return "", err
			}
			hi = max(hi, s.Value)
			if s.Value > 0 {
				lo = min(lo, s.Value)
			}
		}
	}
	left, short := nameColumn(names)
	left += stepName
	c := newCanvas(height + axisHeight)
	a := fromZero(hi, left, width-92)
	c.bottom(a, 0, height, v.Axis)
	digits := min(max(0, 2-int(math.Floor(math.Log10(lo)))), 3)
	y := 8.0
	for i, g := range v.Groups {
		in, _ := seriesInk(g.Color)
		c.text(inkFG, start, textSize, 0, y+bar-4, short[i])
		for n, s := range g.Steps {
			c.text(inkMuted, end, smallSize, left-6, y+bar-4, s.Name)
			c.rect(in, left, y+2, max(1, a.pos(s.Value)-left), bar-4)
			c.text(inkFG, start, smallSize, a.pos(s.Value)+5, y+bar-4, strconv.FormatFloat(s.Value, 'f', digits, 64))
			if n > 0 && g.Steps[n-1].Value > 0 {
				if loss := 1 - s.Value/g.Steps[n-1].Value; loss >= lossShown {
					c.text(inkBad, end, smallSize, width, y+bar-4, fmt.Sprintf("−%.1f %%", 100*loss))
				}
			}
			y += bar
		}
		y += between
	}
	return c.svg(v.Alt), nil
}
