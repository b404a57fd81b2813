package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// An ink is a color by its meaning: a CSS variable, with a fallback for a stand-alone file.
type ink string

const (
	inkFG    ink = "var(--fg,#1b1f24)"
	inkMuted ink = "var(--muted,#5c6570)"
	inkGrid  ink = "var(--grid,#e3e6ea)"
	inkBG    ink = "var(--bg,#ffffff)"
	inkDots  ink = "var(--dots,none)"
	inkBad   ink = "var(--bad,#b3261e)"
)

// Series and parts use Okabe and Ito's palette (jfly.uni-koeln.de/color), darkened to give thin
// lines and small text a contrast of 4.5 on white. Text is legible on every heat color.
var (
	parts  = palette("m", "#2f6f9f", "#8fbcd9", "#d98a2b", "#f0c98a", "#8a6fb0", "#9aa3ad")                                  // of a stacked bar
	series = palette("s", "#5c6570", "#0068a8", "#b84a00", "#007a5a", "#a03d7c", "#8a6100", "#3a7ca5", "#6b4fb3", "#3d4a57") // of networks; the first is the baseline's
	heats  = palette("h", "#f1f6fa", "#dfecf5", "#cce1f0", "#b6d4e9", "#9ec6e1", "#84b6d8", "#6aa5ce")                       // of a heat map, from low to high
	dashes = []string{"", ";stroke-dasharray:5 3", ";stroke-dasharray:1.5 2.5"}                                              // distinguish networks of one color
)

func palette(name string, colors ...string) []ink {
	out := make([]ink, len(colors))
	for i, c := range colors {
		out[i] = ink(fmt.Sprintf("var(--%s%d,%s)", name, i, c))
	}
	return out
}

// seriesInk returns the ink of network n, and dashes if an earlier network has the same color.
func seriesInk(n int) (in ink, dash string) {
	if n <= 0 {
		return series[0], ""
	}
	colors := len(series) - 1
	return series[1+(n-1)%colors], dashes[min((n-1)/colors, len(dashes)-1)]
}

type anchor string

const (
	start  anchor = ""
	middle anchor = ";text-anchor:middle"
	end    anchor = ";text-anchor:end"
)

// A canvas writes SVG. Consecutive elements of one style share a group, to keep charts small.
type canvas struct {
	b      strings.Builder
	width  float64 // 0: that of all charts
	height float64
	style  string // of the open group; "" if none
}

func newCanvas(height float64) *canvas { return &canvas{height: height} }

// use opens a group of this style unless it is open; "" only closes the open one.
func (c *canvas) use(style string) {
	if style == c.style {
		return
	}
	if c.style != "" {
		c.b.WriteString("</g>\n")
	}
	if c.style = style; style != "" {
		fmt.Fprintf(&c.b, "<g style=\"%s\">\n", style)
	}
}

// px formats a length.
func px(v float64) string { return decimal(v, 2) }

func (c *canvas) stroke(i ink, w float64, dash, d string) {
	c.use("fill:none;stroke:" + string(i) + ";stroke-width:" + px(w) + dash)
	fmt.Fprintf(&c.b, "<path d=\"%s\"/>\n", d)
}

func (c *canvas) path(i ink, w float64, dash string, xy ...[2]float64) {
	var d strings.Builder
	for n, p := range xy {
		d.WriteString([]string{"M", "L"}[min(n, 1)] + px(p[0]) + "," + px(p[1]))
	}
	c.stroke(i, w, dash, d.String())
}

func (c *canvas) line(i ink, w, x1, y1, x2, y2 float64) {
	c.path(i, w, "", [2]float64{x1, y1}, [2]float64{x2, y2})
}

func (c *canvas) rect(i ink, x, y, w, h float64) {
	c.use("fill:" + string(i))
	fmt.Fprintf(&c.b, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", px(x), px(y), px(w), px(h))
}

func (c *canvas) dot(i ink, x, y, r float64) { c.circle("fill:"+string(i), x, y, r) }

func (c *canvas) ring(i ink, x, y, r, w float64) {
	c.circle("fill:"+string(inkBG)+";stroke:"+string(i)+";stroke-width:"+px(w), x, y, r)
}

func (c *canvas) circle(style string, x, y, r float64) {
	c.use(style)
	fmt.Fprintf(&c.b, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", px(x), px(y), px(r))
}

func (c *canvas) cross(i ink, x, y, r float64) {
	c.stroke(i, 1.2, "", fmt.Sprintf("M%s,%sL%s,%sM%s,%sL%s,%s", px(x-r), px(y-r), px(x+r), px(y+r), px(x-r), px(y+r), px(x+r), px(y-r)))
}

// text draws s with its baseline at y. The browser aligns it, because it knows the font.
func (c *canvas) text(i ink, a anchor, size, x, y float64, s string) {
	c.use("font-size:" + px(size) + "px;fill:" + string(i) + string(a))
	fmt.Fprintf(&c.b, "<text x=\"%s\" y=\"%s\">%s</text>\n", px(x), px(y), escape(s))
}

// escape returns s as SVG text, without the control characters that XML forbids.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// svg returns the drawing; alt is its text alternative.
func (c *canvas) svg(alt string) string {
	body := c.b.String()
	if c.style != "" {
		body += "</g>\n"
	}
	w, class := width, ""
	if c.width > 0 { // where the page is narrower, the figure scrolls
		w, class = c.width, " class=\"wide\""
		body = "<style>svg.wide{max-width:none;min-width:46rem}figure:has(.wide){overflow-x:auto}</style>\n" + body
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\"%s role=\"img\" aria-label=\"%s\">\n%s</svg>\n",
		px(w), px(c.height), class, escape(alt), body)
}

// textWidth estimates the width of s in a sans-serif font: Helvetica's advance widths by class of
// character, with a margin for wider fonts. Characters beyond ASCII count as wide as a capital.
func textWidth(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijl|'", r):
			w += 0.23
		case strings.ContainsRune(" .,:;!/\\ftI[]()", r):
			w += 0.28
		case strings.ContainsRune("r-`\"°", r):
			w += 0.34
		case strings.ContainsRune("cksvxyz", r):
			w += 0.5
		case strings.ContainsRune("mMW%…", r):
			w += 0.87
		case 'A' <= r && r <= 'Z' || strings.ContainsRune("w", r) || r > 0x7f && r != 'µ' && r != '×' && r != '÷':
			w += 0.72
		default:
			w += 0.56
		}
	}
	return math.Round(106*w*size) / 100
}
