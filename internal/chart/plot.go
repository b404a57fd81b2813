package chart

import (
	"cmp"
	"slices"
)

// A Curve is one network along a horizontal axis.
type Curve struct {
	Name   string
	Color  int
	Points []CurvePoint // by ascending X
	Dashed bool         // computed from others, or the other of two curves of a network
	Plain  bool         // a line without a dot at every point
	// Published holds published numbers by X, drawn as open marks.
	Published []CurvePoint
}

// A CurvePoint is one estimate on a Curve.
type CurvePoint struct {
	X, Y    float64
	Lo, Hi  float64 // read only if Bounded
	Bounded bool
}

// A plot draws curves with their names at their ends.
type plot struct {
	*canvas
	left, right, top, bottom float64
	names                    []string
}

func newPlot(curves []Curve, bottom float64) plot {
	names := make([]string, len(curves))
	for i, k := range curves {
		names[i] = k.Name
	}
	w, short := nameColumn(names)
	return plot{newCanvas(bottom + axisHeight), 44, width - w - 8, 22, bottom, short}
}

// curves draws lines of the given width; dots marks every point with its interval.
func (p plot) curves(curves []Curve, x, y axis, width float64, dots bool) {
	var tags []tag
	for i, k := range curves {
		in, dash := seriesInk(k.Color)
		if k.Dashed {
			dash = ";stroke-dasharray:2 3"
		}
		var xy [][2]float64
		for _, pt := range k.Points {
			at := [2]float64{x.pos(pt.X), y.pos(pt.Y)}
			xy = append(xy, at)
			if pt.Bounded {
				p.line(in, 1.4, at[0], y.pos(max(pt.Lo, 0)), at[0], y.pos(pt.Hi))
			}
			if dots && !k.Plain {
				p.dot(in, at[0], at[1], 2.6)
			}
		}
		if len(xy) == 0 {
			continue
		}
		p.path(in, width, dash, xy...)
		last := xy[len(xy)-1]
		tags = append(tags, tag{p.names[i], in, last[0], last[1]})
	}
	for _, k := range curves {
		for _, m := range k.Published {
			p.published(x.pos(m.X), y.pos(m.Y))
		}
	}
	p.tags(tags, y)
}

// A tag is a name at the end of its line.
type tag struct {
	name string
	ink  ink
	x, y float64
}

// tags prints names at the right of the drawing without overlap.
func (p plot) tags(tags []tag, y axis) {
	slices.SortStableFunc(tags, func(a, b tag) int { return cmp.Compare(a.y, b.y) })
	ys := make([]float64, len(tags))
	for i, t := range tags {
		ys[i] = t.y
	}
	spread(ys, 15, y.to+4, y.from-2)
	for i, t := range tags {
		p.path(t.ink, 0.8, "", [2]float64{t.x + 1, t.y}, [2]float64{p.right + 6, ys[i]})
		p.text(t.ink, start, textSize, p.right+9, ys[i]+4, t.name)
	}
}

// spread moves ascending positions at least d apart, within lo to hi if they fit.
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
