package chart

import (
	"cmp"
	"math"
	"slices"
)

// A Line is the latency distribution of one network.
type Line struct {
	Name   string
	Color  int
	Points []Quantile // by ascending P
}

// A Quantile is a point of a distribution: a share P in [0, 1) of all samples
// is at most Value.
type Quantile struct{ P, Value float64 }

// Latency shows distributions on a percentile axis that gives every factor of ten of
// rarity the same space (as HdrHistogram's plots do): 90, 99 and 99.9 are equally far
// apart. Names stand at the ends of the lines. Lines without points are left out.
type Latency struct {
	Lines []Line
	Axis  string // the quantity with its unit
	Alt   string // text alternative
}

func (v Latency) SVG() (string, error) {
	lines := slices.DeleteFunc(slices.Clone(v.Lines), func(l Line) bool { return len(l.Points) == 0 })
	lo, hi, far := math.Inf(1), 0.0, 0.9
	names := make([]string, len(lines))
	for i, l := range lines {
		names[i] = l.Name
		for _, q := range l.Points {
			if err := finite(l.Name, q.P, q.Value); err != nil {
				return "", err
			}
			if q.P >= 1 {
				continue
			}
			far = max(far, q.P)
			if q.Value > 0 {
				lo, hi = min(lo, q.Value), max(hi, q.Value)
			}
		}
	}
	if hi == 0 {
		lo, hi = 1, 10
	}
	const left, top, bottom = 44.0, 22.0, 252.0
	namesWidth, short := nameColumn(names)
	right := width - namesWidth - 8
	c := newCanvas(bottom + axisHeight)
	y := logarithmic(lo, hi, bottom, top)
	c.side(y, left, right, v.Axis)
	x := axis{lo: 0, hi: rarity(far), from: left, to: right}
	for _, t := range []struct {
		p float64
		s string
	}{{0.5, "50 %"}, {0.9, "90 %"}, {0.99, "99 %"}, {0.999, "99.9 %"}, {0.9999, "99.99 %"}, {0.99999, "99.999 %"}} {
		if t.p > far*1.0000001 {
			break
		}
		c.line(inkGrid, 1, x.pos(rarity(t.p)), top, x.pos(rarity(t.p)), bottom)
		c.text(inkMuted, middle, smallSize, x.pos(rarity(t.p)), bottom+14, t.s)
	}
	c.text(inkMuted, middle, smallSize, (left+right)/2, bottom+31, "share of all responses that were at least this fast")
	c.curves(lines, short, x, y)
	return c.svg(v.Alt), nil
}

func rarity(p float64) float64 { return -math.Log10(1 - p) }

func (c *canvas) curves(lines []Line, names []string, x, y axis) {
	var tags []tag
	for i, l := range lines {
		in, dash := seriesInk(l.Color)
		var xy [][2]float64
		for _, q := range l.Points {
			if q.P < 1 && q.Value > 0 {
				xy = append(xy, [2]float64{x.pos(rarity(q.P)), y.pos(q.Value)})
			}
		}
		if len(xy) == 0 {
			continue
		}
		c.path(in, 2, dash, xy...)
		last := xy[len(xy)-1]
		tags = append(tags, tag{names[i], in, last[0], last[1]})
	}
	c.tags(tags, x.to, y)
}

// A tag is a name and the end of the line that it belongs to.
type tag struct {
	name string
	ink  ink
	x, y float64
}

// tags prints names at the right of the drawing, apart from each other.
func (c *canvas) tags(tags []tag, right float64, y axis) {
	slices.SortStableFunc(tags, func(a, b tag) int { return cmp.Compare(a.y, b.y) })
	ys := make([]float64, len(tags))
	for i, t := range tags {
		ys[i] = t.y
	}
	spread(ys, 15, y.to+4, y.from-2)
	for i, t := range tags {
		c.path(t.ink, 0.8, "", [2]float64{t.x + 1, t.y}, [2]float64{right + 6, ys[i]})
		c.text(t.ink, start, textSize, right+9, ys[i]+4, t.name)
	}
}

// spread moves ascending positions apart until neighbors are at least d from each other,
// as little as possible and within lo to hi where they fit.
func spread(ys []float64, d, lo, hi float64) {
	if float64(len(ys)-1)*d > hi-lo && len(ys) > 1 {
		d = (hi - lo) / float64(len(ys)-1)
	}
	for range 200 {
		moved := false
		for i := 1; i < len(ys); i++ {
			if short := d - (ys[i] - ys[i-1]); short > 0.01 {
				ys[i-1] -= short / 2
				ys[i] += short / 2
				moved = true
			}
		}
		if n := len(ys); n > 0 {
			ys[0] = max(ys[0], lo)
			ys[n-1] = min(ys[n-1], hi)
		}
		if !moved {
			return
		}
	}
}
