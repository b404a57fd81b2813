package chart

import "fmt"

// Machines draws what was measured: two sides, and a line per network between their devices.
type Machines struct {
	Left, Right Side
	Links       []Link
	Alt         string // text alternative
}

// A Side is a machine, or several that play the same part.
type Side struct {
	Title string
	Lines []string // below the title
}

// A Link is a network between devices of both sides.
type Link struct {
	Name, About string // above and below the line
	Color       int    // of the network; 0 is the baseline's
	Left, Right string // devices; "" if unknown
}

func (v Machines) SVG() (string, error) {
	const pad, line, row, chip = 10.0, 15.0, 46.0, 20.0
	if len(v.Links) == 0 {
		return "", fmt.Errorf("chart: %s and %s: no network between them to draw", v.Left.Title, v.Right.Title)
	}
	widest := func(s Side, dev func(Link) string) float64 {
		w := textWidth(s.Title, textSize)
		for _, l := range s.Lines {
			w = max(w, textWidth(l, smallSize))
		}
		for _, l := range v.Links {
			w = max(w, textWidth(dev(l), smallSize)+2*pad)
		}
		return min(max(w+2*pad, 90), 165)
	}
	left := widest(v.Left, func(l Link) string { return l.Left })
	right := widest(v.Right, func(l Link) string { return l.Right })
	head := 24 + line*float64(max(len(v.Left.Lines), len(v.Right.Lines)))
	bottom := head + row*float64(len(v.Links))
	c := newCanvas(bottom + 6)
	c.width = wide
	side := func(s Side, x, w float64) {
		c.frame(inkMuted, 1.2, x+1, 2, w-2, bottom)
		c.text(inkFG, middle, textSize, x+w/2, 20, clip(s.Title, w-pad, textSize))
		for i, l := range s.Lines {
			c.text(inkMuted, middle, smallSize, x+w/2, 20+line*float64(i+1), clip(l, w-pad, smallSize))
		}
	}
	side(v.Left, 0, left)
	side(v.Right, wide-right, right)
	device := func(name string, in ink, edge, w float64, a anchor, y float64) {
		if name == "" {
			return
		}
		name = clip(name, w-3*pad, smallSize)
		own := textWidth(name, smallSize) + 12
		x := edge
		if a == end {
			x = edge - own
		}
		c.rect(inkBG, x, y-chip/2, own, chip)
		c.frame(in, 1.2, x, y-chip/2, own, chip)
		c.text(inkFG, middle, smallSize, x+own/2, y+4, name)
	}
	for i, l := range v.Links {
		y := head + row*(float64(i)+0.5)
		in, dash := seriesInk(l.Color)
		from, to := left, wide-right
		c.path(in, 2, dash, [2]float64{from - 8, y}, [2]float64{to + 8, y})
		device(l.Left, in, from-8, left, end, y)
		device(l.Right, in, to+8, right, start, y)
		c.text(inkFG, middle, textSize, (from+to)/2, y-6, clip(l.Name, to-from-6, textSize))
		c.text(inkMuted, middle, smallSize, (from+to)/2, y+15, clip(l.About, to-from-6, smallSize))
	}
	return c.svg(v.Alt), nil
}

// frame draws the outline of a rectangle.
func (c *canvas) frame(i ink, w, x, y, width, height float64) {
	c.stroke(i, w, "", fmt.Sprintf("M%s,%sH%sV%sH%sZ", px(x), px(y), px(x+width), px(y+height), px(x)))
}
