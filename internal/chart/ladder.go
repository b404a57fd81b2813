package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
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
	Lost  float64 // share of what the step above had, 0..1
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
	const bar, between, heading, left, right = 15.0, 10.0, 17.0, 62.0, 92.0
	lo, hi, height := 100.0, 0.0, 4.0
	high := func(g Group) float64 { return heading + bar*float64(len(g.Steps)) + between }
	for _, g := range v.Groups {
		height += high(g)
		for _, s := range g.Steps {
			if err := finite(g.Name, s.Value, s.Lost); err != nil {
				return "", err
			}
			hi = max(hi, s.Value)
			if s.Value > 0 {
				lo = min(lo, s.Value)
			}
		}
	}
	c := newCanvas(height + axisHeight)
	a := fromZero(hi, left, width-right)
	c.bottom(a, 0, height, v.Axis)
	digits := min(max(0, 2-int(math.Floor(math.Log10(lo)))), 3)
	y := 4.0
	for _, g := range v.Groups {
		in, _ := seriesInk(g.Color)
		c.open(of(g.Color, high(g)))
		c.text(inkFG, start, textSize, 0, y+heading-5, clip(g.Name, width, textSize))
		bars, values, tips, at := "", []string{}, []string{}, y+heading
		for i, s := range g.Steps {
			values = append(values, strconv.FormatFloat(s.Value, 'f', digits, 64))
			tips = append(tips, s.Name+" "+values[i])
			middle := at + bar*(float64(i)+0.5)
			bars += "M" + px(left) + "," + px(middle) + "H" + px(max(left+1, a.pos(s.Value)))
			c.text(inkMuted, end, smallSize, left-6, middle+3.5, s.Name)
		}
		c.stroke(in, bar-4, "", bars)
		for i, s := range g.Steps {
			c.text(inkFG, start, smallSize, a.pos(s.Value)+5, at+bar*float64(i)+11, values[i])
		}
		for i, s := range g.Steps {
			if s.Lost >= lossShown {
				loss := fmt.Sprintf("−%.1f %%", 100*s.Lost)
				tips[i] += " (" + loss + ")"
				c.text(inkBad, end, smallSize, width, at+bar*float64(i)+11, loss)
			}
		}
		c.flush()
		c.b.WriteString("<title>" + foreign.XML(g.Name+": "+strings.Join(tips, ", ")) + "</title>")
		c.shut()
		y += high(g)
	}
	return c.svg(v.Alt), nil
}
