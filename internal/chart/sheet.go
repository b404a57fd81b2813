package chart

import (
	"fmt"
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
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
	fonts      = "Helvetica, Arial, sans-serif" // as wide as textWidth estimates, where they exist
)

func (v Sheet) SVG() (string, error) {
	c := newCanvas(0)
	y, whole := 8.0, sheetWidth
	panes := make([]placed, len(v.Panes))
	for i, p := range v.Panes {
		var err error
		if panes[i], err = p.draw(); err != nil {
			return "", err
		}
		whole = max(whole, panes[i].scale*panes[i].width)
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
		at := panes[i]
		fmt.Fprintf(&c.b, "<g transform=\"translate(0 %s) scale(%s)\">%s</g>\n", px(y), decimal(at.scale, 4), at.elements)
		y += at.scale*at.height + 6
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
	w, h := px(math.Ceil(whole+2*margin)), px(math.Ceil(y+10+margin))
	return plain(fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"%s\" font-family=\"%s\">\n"+
		"<rect width=\"%s\" height=\"%s\" %s/>\n<g transform=\"translate(%s %s)\" stroke=\"none\">\n%s</g>\n</svg>\n",
		w, h, w, h, foreign.XML(v.Title+" "+v.Subtitle), fonts, w, h, inked("a", inkBG), px(margin), px(margin/2), c.b.String())), nil
}

// A placed drawing is scaled to the width of a sheet.
type placed struct {
	elements             string
	width, height, scale float64
}

func (p Pane) draw() (out placed, _ error) {
	svg, err := p.Chart.SVG()
	if err != nil {
		return out, err
	}
	if _, err := fmt.Sscanf(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %f %f\"", &out.width, &out.height); err != nil {
		return out, fmt.Errorf("chart: pane %q is not a drawing of this package: %w", p.Title, err)
	}
	_, out.elements, _ = strings.Cut(strings.TrimSuffix(svg, "</svg>\n"), ">")
	out.scale = max(1, sheetWidth/out.width) // wider ones keep their size: their text would be too small
	return out, nil
}

// widest is how many times as wide as Helvetica DejaVu Sans is, which stands in for it where neither Helvetica nor Arial is installed.
const widest = 1.1

// wrap breaks s into lines of at most w: at spaces, and around Chinese characters, which have none between them.
func wrap(s string, w, size float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		space := " "
		for _, piece := range lang.Pieces(word) {
			if next := strings.TrimSpace(line + space + piece); line == "" || widest*textWidth(next, size) <= w {
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
