package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
)

// A Flame is a flame graph: a frame's width is its share of the whole, below it is what it calls, and its color
// is its difference from something else. The callers are on top, because readers begin there. Every frame has a
// tooltip, and none needs a script.
type Flame struct {
	Frames     []Frame
	Less, More string // of the legend: what the colors at the ends mean
	Alt        string
}

// A Frame is a box of a flame graph.
type Frame struct {
	Label, Long string  // Long is drawn where it fits, otherwise Label, or its beginning
	Title       string  // of the tooltip
	Value       float64 // with Calls; at least their sum
	Shade       float64 // in -1..1: less to more
	Calls       []Frame // the first is left
}

const (
	flameWidth  = 960.0 // a flame graph is as wide as the page
	flameRow    = 18.0
	flameText   = 11.0
	flameSteps  = 3   // of color on each side, the length of lessColors
	mostFrames  = 250 // with tooltips, 45 kB; narrower ones are left out
	narrowest   = 1.0
	leastLabel  = 44.0
	legendSpace = 34.0
)

// A box is a frame in its place.
type box struct {
	Frame
	x, w  float64
	depth int
}

func (v Flame) SVG() (string, error) {
	sum := 0.0
	for _, f := range v.Frames {
		if err := f.check(0); err != nil {
			return "", err
		}
		sum += f.Value
	}
	if !(sum > 0) {
		return "", fmt.Errorf("chart: flame graph of %v in all: want more than 0", sum)
	}
	boxes := place(nil, v.Frames, 0, flameWidth/sum, 0)
	if len(boxes) > mostFrames { // those below a left-out frame are narrower still
		slices.SortStableFunc(boxes, func(a, b box) int { return cmp.Compare(b.w, a.w) })
		boxes = boxes[:mostFrames]
	}
	rows := 0
	for _, b := range boxes {
		rows = max(rows, b.depth+1)
	}
	c := newCanvas(float64(rows)*flameRow + legendSpace)
	c.width = flameWidth
	for step := -flameSteps; step <= flameSteps; step++ {
		for _, b := range boxes {
			if shadeStep(b.Shade) == step {
				c.add(inked("d", flameInk(step))+" stroke-width=\".7\"", fmt.Sprintf("<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>%s</title></rect>",
					px(b.x), px(float64(b.depth)*flameRow), px(b.w), px(flameRow-1), foreign.XML(b.Title)))
			}
		}
	}
	c.open(" pointer-events=\"none\"") // the tooltip is the box's
	for _, b := range boxes {
		if text := b.label(); text != "" {
			c.text(inkFG, start, flameText, b.x+4, float64(b.depth)*flameRow+12.5, text)
		}
	}
	c.shut()
	v.legend(c, float64(rows)*flameRow+22)
	return c.svg(v.Alt), nil
}

// mostDepth bounds what a chart can be asked to draw.
const mostDepth = 200

func (f Frame) check(depth int) error {
	if err := finite(f.Label, f.Value, f.Shade); err != nil {
		return err
	}
	if depth > mostDepth || f.Value < 0 {
		return fmt.Errorf("chart: frame %q at depth %d has %v: want at least 0, and a depth up to %d", f.Label, depth, f.Value, mostDepth)
	}
	for _, k := range f.Calls {
		if err := k.check(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

// place adds the boxes of frames from x on, without those that are too narrow to see.
func place(all []box, frames []Frame, x, scale float64, depth int) []box {
	for _, f := range frames {
		w := f.Value * scale
		if w >= narrowest {
			all = append(all, box{f, x, w, depth})
			all = place(all, f.Calls, x, scale, depth+1)
		}
		x += w
	}
	return all
}

func (b box) label() string {
	room := b.w - 8
	switch {
	case textWidth(b.Long, flameText) <= room:
		return b.Long
	case textWidth(b.Label, flameText) <= room:
		return b.Label
	case b.w >= leastLabel:
		return clip(b.Label, room, flameText)
	}
	return ""
}

func shadeStep(shade float64) int {
	return int(math.Round(max(-1, min(shade, 1)) * flameSteps))
}

// flameInk returns the color of less (blue) or more (orange), or the gray of no difference.
func flameInk(step int) ink {
	switch {
	case step < 0:
		return less[-step-1]
	case step > 0:
		return more[step-1]
	}
	return inkGrid
}

func (v Flame) legend(c *canvas, y float64) {
	x := 0.0
	if v.Less != "" {
		c.text(inkMuted, start, flameText, x, y, v.Less)
		x += textWidth(v.Less, flameText) + 14
	}
	for step := -flameSteps; step <= flameSteps; step++ {
		c.rect(flameInk(step), x, y-10, 20, 12)
		x += 20
	}
	c.text(inkMuted, start, flameText, x+8, y, strings.TrimSpace(v.More))
}
