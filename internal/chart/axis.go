package chart

import (
	"fmt"
	"math"
	"sort"

	"github.com/weir-bench/weir/internal/foreign"
)

// An axis maps values to positions on a line of the drawing.
type axis struct {
	lo, hi   float64 // of the values
	from, to float64 // of the drawing
	log      bool
	ticks    []float64
	even     []float64 // levels an equal step apart; nil: values are as far apart as their difference
}

// pos returns the position of v. A logarithmic axis has no 0, which is at its beginning.
func (a axis) pos(v float64) float64 {
	switch {
	case a.log && v <= 0:
		return a.from
	case endless(v):
		return a.to
	}
	if n := len(a.even); n > 1 {
		i := max(0, min(n-2, sort.SearchFloat64s(a.even, v)-1))
		return a.from + (float64(i)+(v-a.even[i])/(a.even[i+1]-a.even[i]))/float64(n-1)*(a.to-a.from)
	}
	lo, hi := a.lo, a.hi
	if a.log {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	if hi <= lo {
		return a.from
	}
	return a.from + (a.to-a.from)*(v-lo)/(hi-lo)
}

// inside clamps v to the axis and reports whether it moved.
func (a axis) inside(v float64) (float64, bool) {
	w := min(max(v, a.lo), a.hi)
	return w, w != v
}

// step returns the distance for about n ticks: 1, 2 or 5 times a power of ten.
func step(span float64, n int) float64 {
	raw := span / float64(n)
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= raw*0.999 {
			return m * base
		}
	}
	return 10 * base
}

// multiples returns the multiples of s from lo to hi, at most 20: a loop over floats needs a bound.
func multiples(s, lo, hi float64) []float64 {
	var out []float64
	first := math.Ceil(lo/s - 1e-9)
	for n := range 20 {
		v := (first + float64(n)) * s
		if v > hi*(1+1e-9) {
			break
		}
		out = append(out, v)
	}
	return out
}

// fromZero returns a linear axis from 0 to at least hi.
func fromZero(hi, from, to float64) axis {
	if hi <= 0 {
		hi = 1
	}
	return axis{hi: hi * 1.03, from: from, to: to, ticks: multiples(step(hi, 5), 0, hi*1.03)}
}

// logarithmic returns an axis between positive lo and hi with at most nine ticks at round numbers.
func logarithmic(lo, hi, from, to float64) axis {
	pad := max(math.Pow(hi/lo, 0.06), 1.01)
	a := axis{lo: lo / pad, hi: hi * pad, from: from, to: to, log: true}
	if a.hi/a.lo < 3 {
		a.ticks = multiples(step(a.hi-a.lo, 5), a.lo, a.hi)
		return a
	}
	marks := []float64{1, 2, 5}
	if a.hi/a.lo > 1000 {
		marks = []float64{1}
	}
	for e := math.Floor(math.Log10(a.lo)); e <= math.Log10(a.hi); e++ {
		for _, m := range marks {
			if v := m * math.Pow(10, e); v >= a.lo && v <= a.hi {
				a.ticks = append(a.ticks, v)
			}
		}
	}
	return a
}

func (c *canvas) bottom(a axis, top, y float64, title string) {
	c.open(" data-stretch=\"\"")
	for _, t := range a.ticks {
		c.line(inkGrid, 1, a.pos(t), top, a.pos(t), y)
	}
	c.shut()
	c.open(" data-foot=\"\"")
	free := math.Inf(-1)
	for _, t := range a.ticks {
		if half := textWidth(tickNum(t), smallSize) / 2; a.pos(t)-half >= free {
			c.text(inkMuted, middle, smallSize, a.pos(t), y+14, tickNum(t))
			free = a.pos(t) + half + 2
		}
	}
	at := max((a.from+a.to)/2, textWidth(title, smallSize)/2)
	c.text(inkMuted, middle, smallSize, min(at, max(width, c.width)-textWidth(title, smallSize)/2), y+31, title)
	c.shut()
	c.root = fmt.Sprintf(" data-top=\"%s\" data-bottom=\"%s\"", px(top), px(y))
}

// reference draws the line of a value that the others are compared with.
func (c *canvas) reference(x, top, bottom float64) {
	c.open(" data-stretch=\"\"")
	c.line(inkFG, 1, x, top, x, bottom)
	c.shut()
}

// side draws a vertical axis with its numbers at the left and its title above.
func (c *canvas) side(a axis, left, right float64, title string) {
	for _, t := range a.ticks {
		c.line(inkGrid, 1, left, a.pos(t), right, a.pos(t))
	}
	for _, t := range a.ticks {
		c.text(inkMuted, end, smallSize, left-6, a.pos(t)+4, tickNum(t))
	}
	c.text(inkMuted, start, smallSize, 0, 10, title)
	c.root = " data-u=\"" + foreign.XML(title) + "\""
}
