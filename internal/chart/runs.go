package chart

import (
	"cmp"
	"fmt"
	"math"
)

// Runs shows ratios over several runs in the order of time, one curve per network, on a logarithmic axis with
// a line at 1. Runs are equally far apart, because they come in bursts. A letter above a dashed line between
// two runs stands for what changed.
type Runs struct {
	Dates  []string // of the runs
	Marks  []string // after each run; "" for none
	Curves []Curve  // X is the place of the run, from 0
	Axis   string   // the divided quantity and its better direction
	Alt    string   // text alternative
	X      string   // names the axis of runs; "" does in English
}

func (v Runs) SVG() (string, error) {
	e, n := around(1), float64(len(v.Dates))
	for _, k := range v.Curves {
		for _, p := range k.Points {
			if !(p.X > -0.5 && p.X < n-0.5) {
				return "", fmt.Errorf("chart: %s: run %v: want 0 to %v", k.Name, p.X, n-1)
			}
			if err := e.add(Row{Name: k.Name, Value: p.Y, Lo: p.Lo, Hi: p.Hi, Bounded: p.Bounded}, 1); err != nil {
				return "", err
			}
		}
	}
	p := newPlot(v.Curves, 226)
	p.top = 34
	y := e.axis(grid{left: p.bottom, right: p.top})
	p.side(y, p.left, p.right, v.Axis)
	x := axis{lo: -0.5, hi: n - 0.5, from: p.left, to: p.right}
	spacing := 0.0 // of the dates
	for _, d := range v.Dates {
		spacing = max(spacing, textWidth(d, smallSize)+8)
	}
	each := max(1, int(math.Ceil(spacing/(x.pos(1)-x.pos(0)))))
	for i := 0; i < len(v.Dates); i += each {
		p.text(inkMuted, middle, smallSize, x.pos(float64(i)), p.bottom+14, v.Dates[i])
	}
	p.text(inkMuted, middle, smallSize, (p.left+p.right)/2, p.bottom+31, cmp.Or(v.X, "runs in the order of time"))
	p.line(inkFG, 1, p.left, y.pos(1), p.right, y.pos(1))
	for i, m := range v.Marks {
		if at := x.pos(float64(i) + 0.5); m != "" {
			p.path(inkMuted, 1, "2 2", [2]float64{at, p.top}, [2]float64{at, p.bottom})
			p.text(inkMuted, middle, smallSize, at, p.top-5, m)
		}
	}
	p.curves(v.Curves, x, y, 1.4, true)
	return p.svg(v.Alt), nil
}
