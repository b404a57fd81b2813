package chart

import (
	"cmp"
	"fmt"
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
	Tip     string // of the tooltip; "" means the numbers
}

func (p CurvePoint) tip() string {
	text := tickNum(p.X) + ": " + num(p.Y)
	if p.Bounded {
		text += " [" + num(p.Lo) + ", " + num(p.Hi) + "]"
	}
	return cmp.Or(p.Tip, text)
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
	w, short := column(names, tagMax)
	return plot{newCanvas(bottom + axisHeight), 40, width - w - 4, 22, bottom, short}
}

// tagMax is the most space for names at the ends of lines.
const tagMax = 124.0

// curves draws lines of the given width; dots marks every point with its interval.
func (p plot) curves(curves []Curve, x, y axis, width float64, dots bool) {
	var tags []tag
	for i, k := range curves {
		in, dash := seriesInk(k.Color)
		if k.Dashed {
			dash = "2 3"
		}
		var xy [][2]float64
		var tips []string
		for _, pt := range k.Points {
			xy = append(xy, [2]float64{x.pos(pt.X), y.pos(pt.Y)})
			tips = append(tips, pt.tip())
		}
		if len(xy) == 0 {
			continue
		}
		p.mark(of(k.Color, 0)+each("data-l", tips), k.Name)
		p.path(in, width, dash, xy...) // the first of the group: a point for every tip
		for n, pt := range k.Points {
			if pt.Bounded {
				p.upright(in, y, pt, xy[n][0])
			}
			if dots && !k.Plain {
				p.dot(in, xy[n][0], xy[n][1], 2.6)
			}
		}
		p.shut()
		last := xy[len(xy)-1]
		tags = append(tags, tag{p.names[i], in, k.Color, last[0], last[1]})
	}
	for _, k := range curves {
		for _, m := range k.Published {
			p.published(x.pos(m.X), y.pos(m.Y))
		}
	}
	p.tags(tags, y)
}

// upright draws the interval of a point. What it has above the axis ends in an arrow.
func (p plot) upright(in ink, y axis, pt CurvePoint, x float64) {
	lo, _ := y.inside(max(pt.Lo, 0))
	hi, above := y.inside(pt.Hi)
	d := fmt.Sprintf("M%s,%sV%s", px(x), px(y.pos(lo)), px(y.pos(hi)))
	if above {
		top := y.pos(hi)
		d += fmt.Sprintf("M%s,%sL%s,%sL%s,%s", px(x-3.5), px(top+4), px(x), px(top), px(x+3.5), px(top+4))
	}
	p.stroke(in, 1.4, "", d)
}

// A tag is a name at the end of its line.
type tag struct {
	name    string
	ink     ink
	network int // -1: none
	x, y    float64
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
		attrs := " data-tag=\"\""
		if t.network >= 0 {
			attrs += of(t.network, 0)
		}
		p.open(attrs)
		p.path(t.ink, 0.8, "", [2]float64{t.x + 1, t.y}, [2]float64{p.right + 6, ys[i]})
		p.text(t.ink, start, textSize, p.right+9, ys[i]+4, t.name)
		p.shut()
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
