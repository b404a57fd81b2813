package chart

import (
	"cmp"
	"fmt"
	"math"
)

// Latency shows distributions on a percentile axis that gives every factor of ten of rarity the
// same space (as HdrHistogram's plots do): 90, 99 and 99.9 are equally spaced. X of a point is the
// fraction in [0, 1) of samples that take at most Y; all lines have the same fractions, as far as they go.
// Lines without points are omitted.
type Latency struct {
	Lines []Curve
	Axis  string // the quantity with its unit
	Alt   string // text alternative
	X     string // says what the shares are; "" says it in English
}

func (v Latency) SVG() (string, error) {
	var lines []Curve // by rarity
	var shares []string
	lo, hi, far := math.Inf(1), 0.0, 0.9
	for _, l := range v.Lines {
		var points []CurvePoint
		seen := false
		for _, q := range l.Points {
			if err := finite(l.Name, q.X, q.Y); err != nil {
				return "", err
			}
			if q.X >= 1 {
				break
			}
			far = max(far, q.X)
			if seen = seen || q.Y > 0; q.Y > 0 {
				lo, hi = min(lo, q.Y), max(hi, q.Y)
			}
			points = append(points, CurvePoint{X: rarity(q.X), Y: q.Y, Tip: num(q.Y)})
			if len(points) > len(shares) {
				shares = append(shares, decimal(100*q.X, 1+int(rarity(q.X)))+" %")
			}
		}
		if seen {
			lines = append(lines, Curve{Name: l.Name, Color: l.Color, Points: points})
		}
	}
	if hi == 0 {
		lo, hi = 1, 10
	}
	p := newPlot(lines, 232)
	y := logarithmic(lo, hi, p.bottom, p.top)
	p.open(" data-axes=\"\"") // which a reader who zooms replaces
	p.side(y, p.left, p.right, v.Axis)
	x := axis{lo: 0, hi: rarity(far), from: p.left, to: p.right}
	free := math.Inf(-1) // of labels
	for _, t := range []struct {
		p float64
		s string
	}{{0.5, "50 %"}, {0.9, "90 %"}, {0.99, "99 %"}, {0.999, "99.9 %"}, {0.9999, "99.99 %"}, {0.99999, "99.999 %"}} {
		if t.p > far*1.0000001 {
			break
		}
		at := x.pos(rarity(t.p))
		p.line(inkGrid, 1, at, p.top, at, p.bottom)
		if half := textWidth(t.s, smallSize)/2 + 2; at-half >= free {
			p.text(inkMuted, middle, smallSize, at, p.bottom+14, t.s)
			free = at + half
		}
	}
	p.shut()
	p.text(inkMuted, start, smallSize, 0, p.bottom+31, cmp.Or(v.X, "share of all responses that were at least this fast"))
	p.curves(lines, x, y, 2, false)
	p.root += each("data-x", shares) + fmt.Sprintf(" data-plot=\"%s %s %s %s %.6g %.6g\"", px(p.left), px(p.right), px(p.top), px(p.bottom), y.lo, y.hi)
	return p.svg(v.Alt), nil
}

func rarity(p float64) float64 { return -math.Log10(1 - p) }
