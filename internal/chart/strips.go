package chart

import "fmt"

// Strips draws the path of packets through networks, a strip for each: places with their devices, from the sender at
// the left to the receiver at the right. All strips are equally long, so that the ends stand below each other; the
// space is between the places.
type Strips struct {
	Strips []Strip
	Unseen string // what stands where no device was seen
	Alt    string // text alternative
}

// A Strip is one network.
type Strip struct {
	Name   string
	Color  int
	Sums   string // what was measured of the whole path
	Places []Stretch
}

// A Stretch is a network namespace or a machine. Without stops, nothing is known of it but its name.
type Stretch struct {
	Name  string
	Stops []WayStop
	Mark  Badge
}

// A WayStop is a device that packets pass, or, as Plain, what they pass between two devices.
type WayStop struct {
	Name, Kind string
	Plain      bool
	Time       string // that packets take there; "" is not measured
	Mark       Badge
}

// A Badge says what happened at a place; the zero Badge says nothing.
type Badge struct{ Text, Tip string }

const (
	stripHead  = 26.0 // from a strip's name to its places
	stripPlace = 58.0
	stripLine  = 14.0 // of times, and of marks
	stripGap   = 16.0
	stopHeight = 31.0
	stopGap    = 13.0 // arrows between devices
	placeGap   = 26.0 // and between places
	placePad   = 8.0
	stripWide  = 850.0
	stripEdge  = 1.0 // so that no outline is cut
)

func (s WayStop) width() float64 {
	w := max(textWidth(s.Name, smallSize), textWidth(s.Kind, smallSize), textWidth(s.Time, smallSize))
	if s.Plain {
		return w + 6
	}
	return max(w+12, 38)
}

func (p Stretch) width() float64 {
	w := -stopGap
	for _, s := range p.Stops {
		w += s.width() + stopGap
	}
	return max(w, textWidth(p.Name, smallSize)+8) + 2*placePad
}

// width returns how wide a strip is with the least space between its places.
func (s Strip) width() float64 {
	w := -placeGap
	for _, p := range s.Places {
		w += p.width() + placeGap
	}
	return max(w, textWidth(s.Name, textSize)+textWidth(s.Sums, smallSize)+14+2*gap)
}

func (v Strips) SVG() (string, error) {
	if len(v.Strips) == 0 {
		return "", fmt.Errorf("chart: no strip: want one or more")
	}
	c := newCanvas(0)
	c.width = stripWide
	for _, s := range v.Strips {
		c.width = max(c.width, s.width())
	}
	y := 0.0
	for _, s := range v.Strips {
		high := s.height(c.width)
		c.open(of(s.Color, high))
		v.strip(c, s, y)
		c.shut()
		y += high
	}
	c.height = y - stripGap + stripEdge // the outline of the last place
	c.root = fmt.Sprintf(" data-top=\"0\" data-bottom=\"%s\"", px(c.height))
	return c.svg(v.Alt), nil
}

// height is that of a strip with the gap below it.
func (s Strip) height(width float64) float64 {
	high := stripHead + stripPlace + stripGap
	if s.timed() {
		high += stripLine
	}
	return high + stripLine*float64(len(s.badges(width)))
}

func (s Strip) timed() bool {
	for _, p := range s.Places {
		for _, x := range p.Stops {
			if x.Time != "" {
				return true
			}
		}
	}
	return false
}

// A placed badge has the middle of its text.
type placedBadge struct {
	Badge
	at float64
}

// badges lays the marks of a strip out in lines, so that none covers another.
func (s Strip) badges(width float64) (lines [][]placedBadge) {
	var ends []float64
	put := func(b Badge, at float64) {
		if b.Text == "" {
			return
		}
		half := textWidth(b.Text, smallSize)/2 + 2
		at = min(max(at, half), width-half) // inside the drawing
		n := 0
		for n < len(ends) && ends[n] > at-half {
			n++
		}
		if n == len(ends) {
			ends, lines = append(ends, 0), append(lines, nil)
		}
		ends[n], lines[n] = at+half+6, append(lines[n], placedBadge{b, at})
	}
	s.walk(width, func(p Stretch, left, wide float64) { put(p.Mark, left+wide/2) }, func(x WayStop, left, wide float64) { put(x.Mark, left+wide/2) })
	return lines
}

// walk visits the places and their stops from left to right, with their left edges and widths.
func (s Strip) walk(width float64, place func(Stretch, float64, float64), stop func(WayStop, float64, float64)) {
	space := width
	for _, p := range s.Places {
		space -= p.width()
	}
	space, left := space-2*stripEdge, stripEdge
	for _, p := range s.Places {
		wide := p.width()
		place(p, left, wide)
		at := left + placePad
		for _, x := range p.Stops {
			stop(x, at, x.width())
			at += x.width() + stopGap
		}
		left += wide + space/float64(max(1, len(s.Places)-1))
	}
}

func (v Strips) strip(c *canvas, s Strip, top float64) {
	in, _ := seriesInk(s.Color)
	c.spot(in, s.Color, 5, top+8, 4)
	c.text(inkFG, start, textSize, 14, top+12, s.Name)
	c.text(inkMuted, start, smallSize, 14+textWidth(s.Name, textSize)+2*gap, top+12, s.Sums)
	top += stripHead
	y, bottom := top+placePad+14+stopHeight/2, top+stripPlace
	before, known := -1.0, true // the right edge of the place before, and whether its devices are known
	inside := -1.0
	s.walk(c.width, func(p Stretch, left, wide float64) {
		if before >= 0 {
			v.between(c, before, left, y, known && len(p.Stops) > 0)
		}
		before, known, inside = left+wide, len(p.Stops) > 0, -1
		c.outline(inkGrid, left, top, wide, stripPlace)
		c.text(inkMuted, start, smallSize, left+placePad, top+14, p.Name)
	}, func(x WayStop, left, wide float64) {
		if inside >= 0 {
			c.arrow(inkMuted, inside+2, left-2, y)
		}
		inside = left + wide
		c.stop(in, x, left, wide, y)
		if x.Time != "" {
			c.text(inkFG, middle, smallSize, left+wide/2, bottom+stripLine-2, x.Time)
		}
	})
	if s.timed() {
		bottom += stripLine
	}
	for _, line := range s.badges(c.width) {
		bottom += stripLine
		for _, b := range line {
			c.mark("", b.Tip)
			c.text(inkBad, middle, smallSize, b.at, bottom-2, b.Text)
			c.shut()
		}
	}
}

// between draws the way from one place to the next: dashed and named where nothing was seen of it.
func (v Strips) between(c *canvas, from, to, y float64, seen bool) {
	if seen {
		c.arrow(inkMuted, from+2, to-2, y)
		return
	}
	c.path(inkMuted, 1.2, "3 3", [2]float64{from + 2, y}, [2]float64{to - 2, y})
	c.text(inkMuted, middle, smallSize, (from+to)/2, y-6, v.Unseen)
}

// stop draws a device as a box around its name and kind.
func (c *canvas) stop(in ink, x WayStop, left, wide, y float64) {
	if x.Plain {
		c.text(inkMuted, middle, smallSize, left+wide/2, y+4, x.Name)
		return
	}
	c.outline(in, left, y-stopHeight/2, wide, stopHeight)
	if x.Kind == "" {
		c.text(inkFG, middle, smallSize, left+wide/2, y+4, x.Name)
	} else {
		c.text(inkFG, middle, smallSize, left+wide/2, y-2.5, x.Name)
		c.text(inkMuted, middle, smallSize, left+wide/2, y+10.5, x.Kind)
	}
}

// outline draws a rounded rectangle that covers what is below it.
func (c *canvas) outline(in ink, x, y, w, h float64) {
	c.add(inked("o", in)+" stroke-width=\"1.2\"", fmt.Sprintf("<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"4\"/>", px(x), px(y), px(w), px(h)))
}

func (c *canvas) arrow(in ink, from, to, y float64) {
	c.stroke(in, 1.2, "", fmt.Sprintf("M%s,%sH%sM%s,%sL%s,%sL%s,%s", px(from), px(y), px(to), px(to-4), px(y-3), px(to), px(y), px(to-4), px(y+3)))
}
