package chart

import (
	"math"
	"slices"
)

// Sweep shows a value over a factor, one curve per network with an interval at every level. The
// vertical axis starts at zero.
type Sweep struct {
	Curves    []Curve
	Reference float64 // draws a line at this value; 0 draws none
	X, Y      string  // titles of the axes
	Alt       string  // text alternative
	Even      bool    // levels an equal step apart, for those that are close to each other in places
}

func (v Sweep) SVG() (string, error) {
	lo, hi, top, most := math.Inf(1), math.Inf(-1), v.Reference, v.Reference
	for _, k := range v.Curves {
		for _, p := range k.Points {
			if !p.Bounded {
				p.Lo, p.Hi = p.Y, p.Y
			} else if endless(p.Hi) {
				p.Hi = p.Y
			}
			if err := finite(k.Name, p.X, p.Y, p.Lo, p.Hi); err != nil {
				return "", err
			}
			lo, hi, top, most = min(lo, p.X), max(hi, p.X), max(top, p.Y, p.Hi), max(most, p.Y)
		}
		for _, m := range k.Published {
			if err := finite(k.Name, m.X, m.Y); err != nil {
				return "", err
			}
			top, most = max(top, m.Y), max(most, m.Y)
		}
	}
	if hi < lo { // no points
		lo, hi = 0, 1
	}
	p := newPlot(v.Curves, 222)
	y := fromZero(upTo(most, top), p.bottom, p.top)
	p.side(y, p.left, p.right, v.Y)
	x := along(lo, hi, p.left+8, p.right-4)
	x.levels(v.Curves, v.Even)
	for _, t := range x.ticks {
		p.line(inkGrid, 1, x.pos(t), p.bottom, x.pos(t), p.bottom+4)
	}
	free := math.Inf(-1) // of labels, which levels can lack the room for
	for _, t := range x.ticks {
		if half := textWidth(tickNum(t), smallSize)/2 + 2; x.pos(t)-half >= free {
			p.text(inkMuted, middle, smallSize, x.pos(t), p.bottom+14, tickNum(t))
			free = x.pos(t) + half
		}
	}
	p.text(inkMuted, middle, smallSize, (p.left+p.right)/2, p.bottom+31, v.X)
	if v.Reference > 0 {
		p.line(inkFG, 1, p.left, y.pos(v.Reference), p.right, y.pos(v.Reference))
	}
	p.curves(v.Curves, x, y, 1.6, true)
	return p.svg(v.Alt), nil
}

// levels puts the ticks at the levels themselves, if they are few and apart, or if they get equal steps.
func (a *axis) levels(curves []Curve, even bool) {
	var xs []float64
	for _, k := range curves {
		for _, p := range k.Points {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	if even && len(xs) > 1 {
		a.ticks, a.even = xs, xs
		return
	}
	for i, x := range xs {
		if i > 0 && a.pos(x)-a.pos(xs[i-1]) < (textWidth(tickNum(x), smallSize)+textWidth(tickNum(xs[i-1]), smallSize))/2+6 {
			return
		}
	}
	if len(xs) > 0 {
		a.ticks = xs
	}
}

// along returns the axis of the levels, logarithmic if they span two orders of magnitude.
func along(lo, hi, from, to float64) axis {
	if lo > 0 && hi/lo >= 100 {
		a := logarithmic(lo, hi, from, to)
		a.lo, a.hi = lo, hi
		a.ticks = slices.DeleteFunc(a.ticks, func(t float64) bool { return t < lo*(1-1e-9) || t > hi*(1+1e-9) })
		return a
	}
	if hi <= lo {
		lo, hi = lo-1, hi+1
	}
	return axis{lo: lo, hi: hi, from: from, to: to, ticks: multiples(step(hi-lo, 5), lo, hi)}
}
