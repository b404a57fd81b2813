package chart

import (
	"fmt"
	"strings"
)

// Sheet is a picture that stands alone: a title, charts below each other, a legend and notes.
type Sheet struct {
	Title     string
	Subtitle  string
	Panes     []Pane
	Published string   // legend of the open marks; "" without marks
	Measured  string   // legend of the other values
	Notes     []string // small, below
}

// A Pane is one chart of a sheet.
type Pane struct {
	Title string
	Chart interface{ SVG() (string, error) }
}

const (
	margin     = 14.0
	sheetWidth = wide
)

func (v Sheet) SVG() (string, error) {
	c := newCanvas(0)
	y := 8.0
	lines := func(s string, in ink, size float64) {
		for _, l := range wrap(s, sheetWidth, size) {
			y += size * 1.3
			c.text(in, start, size, 0, y, l)
		}
	}
	lines(v.Title, inkFG, 16)
	lines(v.Subtitle, inkMuted, textSize)
	y += 8
	for _, p := range v.Panes {
		one, err := p.Chart.SVG()
		if err != nil {
			return "", err
		}
		var w, h float64
		if _, err := fmt.Sscanf(one, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %f %f\"", &w, &h); err != nil {
			return "", fmt.Errorf("chart: pane %q is not a drawing of this package: %w", p.Title, err)
		}
		if p.Title != "" {
			y += 6
			lines(p.Title, inkFG, 13.5)
			y += 6
		}
		h *= sheetWidth / w
		c.flush()
		c.b.WriteString(strings.Replace(one, "<svg ", fmt.Sprintf("<svg y=\"%s\" width=\"%s\" height=\"%s\" ", px(y), px(sheetWidth), px(h)), 1))
		y += h + 6
	}
	if v.Measured != "" {
		y += 14
		c.dot(inkFG, 6, y-4, 4)
		c.text(inkMuted, start, smallSize, 16, y, v.Measured)
	}
	if v.Published != "" {
		for i, l := range wrap(v.Published, sheetWidth-16, smallSize) {
			y += 15
			if i == 0 {
				c.published(6, y-4)
			}
			c.text(inkMuted, start, smallSize, 16, y, l)
		}
	}
	for _, n := range v.Notes {
		y += 3
		lines(n, inkMuted, smallSize)
	}
	c.flush()
	return Standalone(fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"%s %s %s %s\" role=\"img\" aria-label=\"%s\">\n%s</svg>\n",
		px(-margin), px(-margin/2), px(sheetWidth+2*margin), px(y+10+margin), escape(v.Title+" "+v.Subtitle), c.b.String())), nil
}

// wrap breaks s at spaces into lines of at most w.
func wrap(s string, w, size float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if next := strings.TrimSpace(line + " " + word); line == "" || textWidth(next, size) <= w {
			line = next
			continue
		}
		lines, line = append(lines, line), word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
