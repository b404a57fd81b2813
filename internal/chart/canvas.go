package chart

import (
	"fmt"
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
)

// An ink is a color by its meaning: the class of the rule in Style that sets it.
type ink string

const (
	inkFG    ink = "f"
	inkMuted ink = "u"
	inkGrid  ink = "g"
	inkBG    ink = "b"
	inkUnder ink = "y" // what a chart lies on: the page, or a box of it
	inkBad   ink = "x"
)

var (
	parts  = palette("m", partColors)    // of a stacked bar
	series = palette("s", seriesColors)  // of networks; the first is the baseline's
	heats  = palette("h", heatColors)    // of a heat map, from low to high
	less   = palette("less", lessColors) // of a flame graph: from little to much less
	more   = palette("more", moreColors)
	dashes = []string{"", "5 3", "1.5 2.5"} // distinguish networks of one color
)

// Colors is how many networks besides the baseline have a color of their own.
var Colors = len(seriesColors) - 1

func palette(name string, colors []string) []ink {
	out := make([]ink, len(colors))
	for i := range colors {
		out[i] = ink(fmt.Sprint(name, i))
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
	middle anchor = " c"
	end    anchor = " e"
)

// A canvas writes SVG. Consecutive elements with the same attributes share a group, to keep charts small.
type canvas struct {
	b       strings.Builder
	width   float64 // 0: that of most charts
	height  float64
	root    string   // attributes of the svg element for the page's script
	attrs   string   // of the elements in pending
	pending []string // <name rest
}

func newCanvas(height float64) *canvas { return &canvas{height: height} }

// add writes an element, such as <path d="…"/>, with further attributes.
func (c *canvas) add(attrs, element string) {
	if attrs != c.attrs {
		c.flush()
		c.attrs = attrs
	}
	c.pending = append(c.pending, element)
}

func (c *canvas) flush() {
	switch {
	case len(c.pending) == 1:
		name, rest, _ := strings.Cut(c.pending[0], " ")
		c.b.WriteString(name + " " + c.attrs + " " + rest + "\n")
	case len(c.pending) > 1:
		c.b.WriteString("<g " + c.attrs + ">" + strings.Join(c.pending, "") + "</g>\n")
	}
	c.pending = c.pending[:0]
}

// open begins a group with these attributes.
func (c *canvas) open(attrs string) {
	c.flush()
	c.b.WriteString("<g" + attrs + ">")
}

// mark begins a group that readers point at: text is what a tooltip and a screen reader say.
func (c *canvas) mark(attrs, text string) {
	c.open(attrs)
	c.b.WriteString("<title>" + foreign.XML(text) + "</title>")
}

func (c *canvas) shut() {
	c.flush()
	c.b.WriteString("</g>\n")
}

// of marks what is drawn for network n, so that readers can hide it. Where high is not 0, it is a row of
// that height: when it is hidden, the rows below it move up.
func of(n int, high float64) string {
	s := fmt.Sprintf(" data-n=\"%d\"", n)
	if high > 0 {
		s += " data-h=\"" + px(high) + "\""
	}
	return s
}

// each is a text for every point of the line that a mark begins with. attribute is data-l, or data-x on the svg element
// for what all its lines have in common.
func each(attribute string, texts []string) string {
	clean := make([]string, len(texts))
	for i, t := range texts {
		clean[i] = strings.ReplaceAll(t, "|", "¦")
	}
	return " " + attribute + "=\"" + foreign.XML(strings.Join(clean, "|")) + "\""
}

// px formats a length. Lengths often lie between two tenths, such as the margin above the highest point. The last bit of
// a calculation, which differs between CPUs that fuse multiplication and addition and others, must not decide there.
func px(v float64) string { return decimal(v+1e-6, 1) }

func inked(kind string, i ink) string { return "class=\"" + kind + " " + string(i) + "\"" }

// stroke draws a line. Lines without a width are as thin as axes.
func (c *canvas) stroke(i ink, w float64, dash, d string) {
	attrs := inked("l", i)
	switch w {
	case 1:
	case 2:
		attrs = inked("w", i)
	case barWidth:
		attrs = inked("q", i)
	default:
		attrs += " stroke-width=\"" + px(w) + "\""
	}
	if dash != "" {
		attrs += " stroke-dasharray=\"" + dash + "\""
	}
	c.add(attrs, "<path d=\""+d+"\"/>")
}

func (c *canvas) path(i ink, w float64, dash string, xy ...[2]float64) {
	c.stroke(i, w, dash, points("M", xy))
}

// points returns path data that begins with first and continues with straight lines.
func points(first string, xy [][2]float64) string {
	var d strings.Builder
	for _, p := range xy {
		d.WriteString(first + px(p[0]) + "," + px(p[1]))
		first = "L"
	}
	return d.String()
}

func (c *canvas) line(i ink, w, x1, y1, x2, y2 float64) {
	switch {
	case px(y1) == px(y2):
		c.stroke(i, w, "", "M"+px(x1)+","+px(y1)+"H"+px(x2))
	case px(x1) == px(x2):
		c.stroke(i, w, "", "M"+px(x1)+","+px(y1)+"V"+px(y2))
	default:
		c.path(i, w, "", [2]float64{x1, y1}, [2]float64{x2, y2})
	}
}

func (c *canvas) rect(i ink, x, y, w, h float64) {
	c.add(inked("a", i), fmt.Sprintf("<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>", px(x), px(y), px(w), px(h)))
}

func (c *canvas) dot(i ink, x, y, r float64) { c.circle(inked("a", i), x, y, r) }

func (c *canvas) ring(i ink, x, y, r, w float64) {
	c.circle(inked("o", i)+" stroke-width=\""+px(w)+"\"", x, y, r)
}

func (c *canvas) circle(attrs string, x, y, r float64) {
	c.add(attrs, fmt.Sprintf("<circle cx=\"%s\" cy=\"%s\" r=\"%s\"/>", px(x), px(y), px(r)))
}

// text draws s with its baseline at y. The browser aligns it, because it knows the font.
func (c *canvas) text(i ink, a anchor, size, x, y float64, s string) {
	kind, more := "t ", ""
	switch size {
	case textSize:
	case smallSize:
		kind = "v "
	default:
		kind, more = "a ", " font-size=\""+px(size)+"\""
	}
	at := ""
	if px(x) != "0" {
		at = "x=\"" + px(x) + "\" "
	}
	c.add("class=\""+kind+string(i)+string(a)+"\""+more, fmt.Sprintf("<text %sy=\"%s\">%s</text>", at, px(y), foreign.XML(s)))
}

// svg returns the drawing; alt is its text alternative. A drawing wider than most does not shrink on a
// narrow page: its figure scrolls.
func (c *canvas) svg(alt string) string {
	c.flush()
	w, class := width, ""
	if c.width > 0 {
		w, class = c.width, fmt.Sprintf(" class=\"wide\" style=\"min-width:%spx;max-width:%spx\"", px(c.width), px(1.25*c.width))
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\"%s role=\"img\" aria-label=\"%s\"%s>\n%s</svg>\n",
		px(w), px(c.height), class, foreign.XML(alt), c.root, c.b.String())
}

// textWidth estimates the width of s in a sans-serif font: Helvetica's advance widths by class of
// character, with a margin for wider fonts. Characters beyond ASCII count as wide as a capital, those of
// Chinese as their height.
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
		case r >= 0x2e80: // Chinese
			w++
		case 'A' <= r && r <= 'Z' || strings.ContainsRune("w", r) || r > 0x7f && r != 'µ' && r != '×' && r != '÷':
			w += 0.72
		default:
			w += 0.56
		}
	}
	return math.Round(106*w*size) / 100
}
