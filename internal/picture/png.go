package picture

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Scale is the number of pixels of a PNG for each unit of its drawing.
const Scale = 2

// PNG writes an SVG of package chart as an image of twice its size, on white.
func PNG(w io.Writer, svg string) error {
	d, err := read(svg)
	if err != nil {
		return err
	}
	f, err := regular()
	if err != nil {
		return err
	}
	r := raster{font: f, faces: map[float64]font.Face{},
		image: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(Scale*d.width)), int(math.Ceil(Scale*d.height))))}
	draw.Draw(r.image, r.image.Bounds(), image.White, image.Point{}, draw.Src)
	for _, s := range d.shapes {
		if err := r.shape(s); err != nil {
			return err
		}
	}
	return png.Encode(w, r.image)
}

type raster struct {
	image *image.RGBA
	area  vector.Rasterizer
	font  *opentype.Font
	faces map[float64]font.Face // by size in pixels
}

func (r *raster) shape(s shape) error {
	if s.text != "" {
		return r.text(s)
	}
	lines := s.contours
	if s.radius > 0 {
		lines = []contour{{points: round(s.at, s.radius), closed: true}}
	}
	var insides, outlines [][]point
	for _, c := range lines {
		insides = append(insides, c.points)
		for _, part := range dashed(c, s.dash) {
			outlines = append(outlines, outline(part, s.width)...)
			if s.round && !part.closed && len(part.points) > 1 {
				outlines = append(outlines, round(part.points[0], s.width/2), round(part.points[len(part.points)-1], s.width/2))
			}
		}
	}
	r.fill(s.inside(), insides)
	r.fill(s.outside(), outlines)
	return nil
}

// round returns the points of a circle. 64 are within 0.05 pixels of one as large as a chart's dot.
func round(at point, radius float64) (out []point) {
	const n = 64
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		out = append(out, point{at.x + radius*cos, at.y + radius*sin})
	}
	return out
}

// fill paints polygons, which can overlap, as one area.
func (r *raster) fill(c color.NRGBA, polygons [][]point) {
	lo, hi := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, polygon := range polygons {
		for _, p := range polygon {
			lo, hi = point{min(lo.x, p.x), min(lo.y, p.y)}, point{max(hi.x, p.x), max(hi.y, p.y)}
		}
	}
	if c.A == 0 || lo.x > hi.x {
		return
	}
	pixel := func(v float64) int { return int(Scale * v) }
	box := image.Rect(pixel(lo.x)-1, pixel(lo.y)-1, pixel(hi.x)+2, pixel(hi.y)+2).Intersect(r.image.Bounds())
	if box.Empty() {
		return
	}
	r.area.Reset(box.Dx(), box.Dy())
	for _, polygon := range polygons {
		if clockwise(polygon) { // the rasterizer adds areas up, with their signs
			polygon = slices.Clone(polygon)
			slices.Reverse(polygon)
		}
		for i, p := range polygon {
			x, y := float32(Scale*p.x-float64(box.Min.X)), float32(Scale*p.y-float64(box.Min.Y))
			if i == 0 {
				r.area.MoveTo(x, y)
			} else {
				r.area.LineTo(x, y)
			}
		}
		r.area.ClosePath()
	}
	r.area.Draw(r.image, box, image.NewUniform(c), image.Point{})
}

func clockwise(polygon []point) bool {
	sum := 0.0
	for i, p := range polygon {
		q := polygon[(i+1)%len(polygon)]
		sum += p.x*q.y - q.x*p.y
	}
	return sum < 0
}

func (r *raster) text(s shape) error {
	text, _ := legible(r.font, s.text)
	size := s.size * Scale
	face := r.faces[size]
	if face == nil {
		var err error
		if face, err = opentype.NewFace(r.font, &opentype.FaceOptions{Size: size, DPI: 72}); err != nil {
			return fmt.Errorf("picture: text of size %g: %w", s.size, err)
		}
		r.faces[size] = face
	}
	d := font.Drawer{Dst: r.image, Src: image.NewUniform(s.inside()), Face: face}
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(s.at.x * Scale * 64), Y: fixed.Int26_6(s.at.y * Scale * 64)}
	switch w := d.MeasureString(text); s.anchor {
	case "middle":
		d.Dot.X -= w / 2
	case "end":
		d.Dot.X -= w
	}
	d.DrawString(text)
	return nil
}
