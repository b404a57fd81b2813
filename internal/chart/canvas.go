package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// An ink is a colour by its meaning. The page decides what it looks like.
type ink uint8

const (
	inkFG ink = iota + 1
	inkMuted
	inkGrid
	inkBG
	inkDots
	inkBad
	inkPart0   // of a stacked bar
	inkSeries0 = inkPart0 + parts
	inkHeat0   = inkSeries0 + series + 1
)

const (
	parts  = 6
	series = 8 // colours of networks beside the baseline's
	heats  = 7 // of a heat map, from little to much; text must stay legible on each
)

// inks holds the CSS variable of every ink, and the colour where none is set.
// Series and parts are Okabe and Ito's palette (jfly.uni-koeln.de/color),
// darkened until thin lines and small text keep a contrast of 4.5 on white.
var inks = map[ink][2]string{
	inkFG:          {"fg", "#1b1f24"},
	inkMuted:       {"muted", "#5c6570"},
	inkGrid:        {"grid", "#e3e6ea"},
	inkBG:          {"bg", "#ffffff"},
	inkDots:        {"dots", "none"},
	inkBad:         {"bad", "#b3261e"},
	inkPart0:       {"m0", "#2f6f9f"},
	inkPart0 + 1:   {"m1", "#8fbcd9"},
	inkPart0 + 2:   {"m2", "#d98a2b"},
	inkPart0 + 3:   {"m3", "#f0c98a"},
	inkPart0 + 4:   {"m4", "#8a6fb0"},
	inkPart0 + 5:   {"m5", "#9aa3ad"},
	inkSeries0:     {"s0", "#5c6570"},
	inkSeries0 + 1: {"s1", "#0068a8"},
	inkSeries0 + 2: {"s2", "#b84a00"},
	inkSeries0 + 3: {"s3", "#007a5a"},
	inkSeries0 + 4: {"s4", "#a03d7c"},
	inkSeries0 + 5: {"s5", "#8a6100"},
	inkSeries0 + 6: {"s6", "#3a7ca5"},
	inkSeries0 + 7: {"s7", "#6b4fb3"},
	inkSeries0 + 8: {"s8", "#3d4a57"},
	inkHeat0:       {"h0", "#f1f6fa"},
	inkHeat0 + 1:   {"h1", "#dfecf5"},
	inkHeat0 + 2:   {"h2", "#cce1f0"},
	inkHeat0 + 3:   {"h3", "#b6d4e9"},
	inkHeat0 + 4:   {"h4", "#9ec6e1"},
	inkHeat0 + 5:   {"h5", "#84b6d8"},
	inkHeat0 + 6:   {"h6", "#6aa5ce"},
}

// seriesInk returns the ink of network n, and the dashes that tell it from an
// earlier network of the same colour.
func seriesInk(n int) (ink, []float64) {
	if n <= 0 {
		return inkSeries0, nil
	}
	round := (n - 1) / series
	return inkSeries0 + 1 + ink((n-1)%series), [][]float64{nil, {5, 3}, {1.5, 2.5}}[min(round, 2)]
}

type anchor uint8

const (
	start anchor = iota + 1
	middle
	end
)

// A canvas draws with its origin at the top left, as SVG does.
type canvas struct {
	svg    *vgsvg.Canvas
	height float64
}

func newCanvas(height float64) *canvas {
	return &canvas{svg: vgsvg.New(vg.Length(width), vg.Length(height)), height: height}
}

func (c *canvas) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(c.height - y)}
}

// use sets the colour that stands for i; the blue byte marks it as ours.
func (c *canvas) use(i ink, a anchor) {
	c.svg.SetColor(color.RGBA{R: uint8(i), G: uint8(a), B: sentinel, A: 255})
}

const sentinel = 0xE5

func (c *canvas) path(i ink, w float64, dashes []float64, xy ...[2]float64) {
	var p vg.Path
	for n, pt := range xy {
		if n == 0 {
			p.Move(c.at(pt[0], pt[1]))
		} else {
			p.Line(c.at(pt[0], pt[1]))
		}
	}
	var d []vg.Length
	for _, v := range dashes {
		d = append(d, vg.Length(v))
	}
	c.use(i, 0)
	c.svg.SetLineDash(d, 0)
	c.svg.SetLineWidth(vg.Length(w))
	c.svg.Stroke(p)
	c.svg.SetLineDash(nil, 0)
}

func (c *canvas) line(i ink, w, x1, y1, x2, y2 float64) {
	c.path(i, w, nil, [2]float64{x1, y1}, [2]float64{x2, y2})
}

func (c *canvas) rect(i ink, x, y, w, h float64) {
	var p vg.Path
	p.Move(c.at(x, y))
	p.Line(c.at(x+w, y))
	p.Line(c.at(x+w, y+h))
	p.Line(c.at(x, y+h))
	p.Close()
	c.use(i, 0)
	c.svg.Fill(p)
}

func circle(c *canvas, x, y, r float64) vg.Path {
	var p vg.Path
	p.Move(c.at(x+r, y))
	p.Arc(c.at(x, y), vg.Length(r), 0, 2*math.Pi)
	p.Close()
	return p
}

func (c *canvas) dot(i ink, x, y, r float64) {
	c.use(i, 0)
	c.svg.Fill(circle(c, x, y, r))
}

func (c *canvas) ring(i ink, x, y, r, w float64) {
	c.dot(inkBG, x, y, r)
	c.use(i, 0)
	c.svg.SetLineWidth(vg.Length(w))
	c.svg.Stroke(circle(c, x, y, r))
}

func (c *canvas) cross(i ink, x, y, r float64) {
	c.line(i, 1.2, x-r, y-r, x+r, y+r)
	c.line(i, 1.2, x-r, y+r, x+r, y-r)
}

// text draws s with its baseline at y. The browser aligns it at x, because the
// page's font is not the one that this program could measure.
func (c *canvas) text(i ink, a anchor, size, x, y float64, s string) {
	c.use(i, a)
	c.svg.FillString(face(size), c.at(x, y), s)
}

func face(size float64) font.Face {
	return font.DefaultCache.Lookup(font.Font{Typeface: plot.DefaultFont.Typeface, Variant: "Sans"}, vg.Length(size))
}

// textWidth is the width of s in Liberation Sans, with a margin for wider fonts.
func textWidth(s string, size float64) float64 {
	f := face(size)
	return 1.06 * f.Width(s).Points()
}

var (
	prolog  = regexp.MustCompile(`(?s)^.*?<svg[^>]*>\s*`)
	styling = regexp.MustCompile(`\s*style="([^"]*)"`)
	fonts   = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;?`)
	inked   = regexp.MustCompile(`#([0-9A-Fa-f]{2})([0-9A-Fa-f]{2})E5`)
)

// bytes returns the drawing with our colours for the canvas's, the page's font,
// and alt for those who cannot see it.
func (c *canvas) bytes(alt string) ([]byte, error) {
	var b bytes.Buffer
	if _, err := c.svg.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	// Only styles are rewritten: a name in the text may look like one.
	out := styling.ReplaceAllFunc(prolog.ReplaceAll(b.Bytes(), nil), func(s []byte) []byte {
		s = fonts.ReplaceAll(bytes.TrimSpace(s), nil)
		return append([]byte(" "), inked.ReplaceAllFunc(s, recolor)...)
	})
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s">`,
		width, c.height, html.EscapeString(strings.ToValidUTF8(alt, "�")))
	return append([]byte(head+"\n"), out...), nil
}

func recolor(b []byte) []byte {
	var i, a uint8
	if _, err := fmt.Sscanf(string(b), "#%02X%02X", &i, &a); err != nil {
		return b
	}
	v := inks[ink(i)]
	return []byte(fmt.Sprintf("var(--%s,%s)", v[0], v[1]) + [...]string{"", "", ";text-anchor:middle", ";text-anchor:end"}[a])
}
