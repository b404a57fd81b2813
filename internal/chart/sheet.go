package chart

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
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
	y, whole := 8.0, sheetWidth
	drawn := make([]string, len(v.Panes))
	sizes := make([][2]float64, len(v.Panes))
	for i, p := range v.Panes {
		var err error
		if drawn[i], err = p.Chart.SVG(); err != nil {
			return "", err
		}
		size := &sizes[i]
		if _, err := fmt.Sscanf(drawn[i], "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %f %f\"", &size[0], &size[1]); err != nil {
			return "", fmt.Errorf("chart: pane %q is not a drawing of this package: %w", p.Title, err)
		}
		if size[0] < sheetWidth { // wider ones keep their size: their text would be too small
			size[0], size[1] = sheetWidth, size[1]*sheetWidth/size[0]
		}
		whole = max(whole, size[0])
	}
	lines := func(s string, in ink, size float64) {
		for _, l := range wrap(s, whole, size) {
			y += size * 1.3
			c.text(in, start, size, 0, y, l)
		}
	}
	lines(v.Title, inkFG, 16)
	lines(v.Subtitle, inkMuted, textSize)
	y += 8
	for i, p := range v.Panes {
		if p.Title != "" {
			y += 6
			lines(p.Title, inkFG, 13.5)
			y += 6
		}
		c.flush()
		c.b.WriteString(strings.Replace(drawn[i], "<svg ", fmt.Sprintf("<svg y=\"%s\" width=\"%s\" height=\"%s\" ", px(y), px(sizes[i][0]), px(sizes[i][1])), 1))
		y += sizes[i][1] + 6
	}
	if v.Measured != "" {
		y += 14
		c.dot(inkFG, 6, y-4, 4)
		c.text(inkMuted, start, smallSize, 16, y, v.Measured)
	}
	if v.Published != "" {
		for i, l := range wrap(v.Published, whole-16, smallSize) {
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
		px(-margin), px(-margin/2), px(whole+2*margin), px(y+10+margin), escape(v.Title+" "+v.Subtitle), c.b.String())), nil
}

// wrap breaks s into lines of at most w: at spaces, and around Chinese characters, which have none between them.
func wrap(s string, w, size float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		space := " "
		for _, piece := range lang.Pieces(word) {
			if next := strings.TrimSpace(line + space + piece); line == "" || textWidth(next, size) <= w {
				line = next
			} else {
				lines, line = append(lines, line), piece
			}
			space = ""
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
