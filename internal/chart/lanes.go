package chart

import (
	"fmt"
	"slices"
)

// Lanes follows packets through places: a lane per place, time to the right, and a panel per packet. A bar
// is the time that leads to a stop, in the stop's lane; its color says what happens in that time.
type Lanes struct {
	Lanes  []string // places, from top to bottom
	Panels []LanePanel
	Parts  [6]string // what the colors mean, with their sums; "" is left out
	Axis   string
	Alt    string // text alternative
}

// A LanePanel is one packet's path.
type LanePanel struct {
	Name  string
	Stops []Stop
}

// A Stop is a moment on the path. The times of a panel begin with 0 and ascend.
type Stop struct {
	Lane  int
	At    float64
	Color int    // of the time since the stop before: 0 to 5
	Label string // of the place in the lane where the packet now is: a device
	Value string // of the time since the stop before, shown where there is room
}

const (
	laneHeight = 34.0
	laneBar    = 11.0
	laneTitle  = 18.0
	laneGap    = 10.0
)

func (v Lanes) SVG() (string, error) {
	hi, err := v.check()
	if err != nil {
		return "", err
	}
	left, names := nameColumn(v.Lanes)
	panel := laneTitle + laneHeight*float64(len(v.Lanes))
	bottom := (panel+laneGap)*float64(len(v.Panels)) - laneGap
	legend := bottom + axisHeight + 4
	c := newCanvas(legend)
	c.width = wide
	x := fromZero(hi, left, wide-8)
	c.bottom(x, 0, bottom, v.Axis)
	for i, p := range v.Panels {
		c.lanes(x, p, names, float64(i)*(panel+laneGap))
	}
	at := 0.0
	for i, name := range v.Parts {
		if name == "" {
			continue
		}
		w := 13 + textWidth(name, smallSize) + 14
		if at > 0 && at+w > wide {
			at, legend = 0, legend+legendRow
		}
		c.rect(parts[i], at, legend, 9, 9)
		c.text(inkFG, start, smallSize, at+13, legend+8.5, name)
		at += w
	}
	c.height = legend + legendRow
	return c.svg(v.Alt), nil
}

// check returns the last time.
func (v Lanes) check() (hi float64, err error) {
	for _, p := range v.Panels {
		before := 0.0
		for _, s := range p.Stops {
			switch err := finite(p.Name, s.At); {
			case err != nil:
				return 0, err
			case s.At < before:
				return 0, fmt.Errorf("chart: %s: time %v follows %v: want ascending times from 0", p.Name, s.At, before)
			case s.Lane < 0 || s.Lane >= len(v.Lanes), s.Color < 0 || s.Color >= len(v.Parts):
				return 0, fmt.Errorf("chart: %s: lane %d and color %d: want lanes below %d and colors below %d", p.Name, s.Lane, s.Color, len(v.Lanes), len(v.Parts))
			}
			before = s.At
			hi = max(hi, s.At)
		}
	}
	return hi, nil
}

// lanes draws a panel below top.
func (c *canvas) lanes(x axis, p LanePanel, names []string, top float64) {
	mid := func(lane int) float64 { return top + laneTitle + laneHeight*(float64(lane)+0.66) }
	c.text(inkMuted, start, smallSize, 0, top+11, p.Name)
	for i, name := range names {
		c.line(inkGrid, 1, x.from, mid(i), x.to, mid(i))
		c.text(inkFG, start, textSize, 0, mid(i)+4, name)
	}
	for i, s := range p.Stops[min(1, len(p.Stops)):] {
		before := p.Stops[i]
		if before.Lane != s.Lane {
			c.line(inkMuted, 1.2, x.pos(before.At), mid(before.Lane), x.pos(before.At), mid(s.Lane))
		}
	}
	for i, s := range p.Stops[min(1, len(p.Stops)):] {
		from, to := x.pos(p.Stops[i].At), x.pos(s.At)
		c.rect(parts[s.Color], from, mid(s.Lane)-laneBar/2, max(0.6, to-from-0.6), laneBar)
	}
	for i, s := range p.Stops[min(1, len(p.Stops)):] {
		if from, to := x.pos(p.Stops[i].At), x.pos(s.At); textWidth(s.Value, smallSize) < to-from {
			c.text(inkFG, middle, smallSize, (from+to)/2, mid(s.Lane)+laneBar/2+11, s.Value)
		}
	}
	free := slices.Repeat([]float64{x.from - 2}, len(names)) // where the next label of a lane has room
	last := slices.Repeat([]string{""}, len(names))
	for i, s := range p.Stops {
		from := x.pos(s.At)
		if i > 0 {
			from = x.pos(p.Stops[i-1].At)
		}
		w := textWidth(s.Label, smallSize)
		if at := max(free[s.Lane], min(from+2.5, x.to-w)); s.Label != last[s.Lane] && at+w <= x.to+2 {
			c.text(inkMuted, start, smallSize, at, mid(s.Lane)-laneBar/2-3, s.Label)
			free[s.Lane], last[s.Lane] = at+w+4, s.Label
		}
	}
}
