package picture

import "math"

// miterLimit is that of SVG: a sharper corner is cut off.
const miterLimit = 4.0

// outline returns polygons that together cover a line of a width, with mitered corners and without caps.
func outline(c contour, width float64) (out [][]point) {
	var ps []point
	for _, p := range c.whole() {
		if len(ps) == 0 || p != ps[len(ps)-1] {
			ps = append(ps, p)
		}
	}
	half := width / 2
	for i := 1; i < len(ps); i++ {
		a, b := ps[i-1], ps[i]
		u := direction(a, b)
		dx, dy := -u.y*half, u.x*half
		out = append(out, []point{{a.x + dx, a.y + dy}, {b.x + dx, b.y + dy}, {b.x - dx, b.y - dy}, {a.x - dx, a.y - dy}})
		switch {
		case i+1 < len(ps):
			out = append(out, corner(a, b, ps[i+1], half))
		case c.closed && len(ps) > 2:
			out = append(out, corner(a, b, ps[1], half))
		}
	}
	return out
}

func direction(a, b point) point {
	l := math.Hypot(b.x-a.x, b.y-a.y)
	return point{(b.x - a.x) / l, (b.y - a.y) / l}
}

// corner returns what is missing at b between the segments from a and to c, on the outer side of the turn.
func corner(a, b, c point, half float64) []point {
	u, v := direction(a, b), direction(b, c)
	if u.x*v.y-u.y*v.x > 0 {
		half = -half
	}
	m, n := point{-u.y * half, u.x * half}, point{-v.y * half, v.x * half}
	out := []point{b, {b.x + m.x, b.y + m.y}}
	// The tip is 1/cos of half the turn away, in half widths; 1+dot is twice the square of that cosine.
	if dot := u.x*v.x + u.y*v.y; 1+dot >= 2/(miterLimit*miterLimit) {
		out = append(out, point{b.x + (m.x+n.x)/(1+dot), b.y + (m.y+n.y)/(1+dot)})
	}
	return append(out, point{b.x + n.x, b.y + n.y})
}

// dashed cuts a contour into dashes, by lengths of dashes and gaps; without any, it stays whole.
func dashed(c contour, lengths []float64) (out []contour) {
	ps := c.whole()
	if len(lengths) == 0 || len(ps) == 0 {
		return []contour{c}
	}
	n, left := 0, lengths[0] // even ones are dashes
	dash := []point{ps[0]}
	for i := 1; i < len(ps); i++ {
		a, b := ps[i-1], ps[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		at := 0.0
		for ; length-at > left; left = lengths[n%len(lengths)] {
			at += left
			p := point{a.x + (b.x-a.x)*at/length, a.y + (b.y-a.y)*at/length}
			if n%2 == 0 {
				out = append(out, contour{points: append(dash, p)})
			}
			dash = []point{p}
			n++
		}
		left -= length - at
		if n%2 == 0 {
			dash = append(dash, b)
		}
	}
	if n%2 == 0 {
		out = append(out, contour{points: dash})
	}
	return out
}
