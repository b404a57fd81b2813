// Package picture turns the drawings of package chart into PNG and PDF, for slides and papers.
//
// A drawing is SVG, whose elements are the list of what to draw: every format has the same geometry. The
// package reads what charts consist of: groups, rectangles, circles, paths of straight lines, texts, nested
// drawings, and a style sheet of classes. Anything else is an error, because a picture must not lack a part
// of its drawing. Colors are CSS variables, which a page sets; a picture has their fallbacks.
//
// The package must not know charts or reports.
package picture

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A drawing is what an SVG shows. Lengths are in its units, from its top left corner.
type drawing struct {
	width, height float64
	sheet         []rule
	shapes        []shape // in painting order
}

// A shape has contours, a radius, or a text.
type shape struct {
	style
	contours []contour
	at       point   // of a circle's center or a text
	radius   float64 // of a circle
	text     string
}

type point struct{ x, y float64 }

// A contour is a line through points.
type contour struct {
	points []point
	closed bool
}

// whole returns the points with the first one again at the end of a closed contour.
func (c contour) whole() []point {
	if c.closed && len(c.points) > 0 {
		return append(c.points[:len(c.points):len(c.points)], c.points[0])
	}
	return c.points
}

const (
	longest = 20_000.0 // of the sides and coordinates of a drawing
	largest = 1e7      // of its area, of which a PNG takes 16 bytes for each unit
)

// An element is one of an SVG.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

// read reads an SVG of package chart.
func read(svg string) (d drawing, err error) {
	var root element
	if err = xml.Unmarshal([]byte(svg), &root); err == nil {
		err = d.add(root, plain, frame{scale: 1})
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return d, fmt.Errorf("picture: cannot read the drawing: %w", err)
	case d.width == 0:
		return d, errors.New("picture: the drawing has no <svg>")
	}
	return d, nil
}

// A frame is where the coordinates of an <svg> are in the drawing.
type frame struct{ x, y, scale float64 }

func (f frame) at(x, y float64) point { return point{f.x + f.scale*x, f.y + f.scale*y} }

// add adds an element and its children, which inherit its style.
func (d *drawing) add(e element, inherited style, in frame) (err error) {
	name := e.XMLName.Local
	a := attributes{values: map[string]string{}}
	s := shape{style: inherited}
	for _, x := range e.Attrs {
		a.values[x.Name.Local] = x.Value
	}
	if err := s.style.set(a.values, d.sheet); err != nil {
		return fmt.Errorf("<%s>: %w", name, err)
	}
	switch name {
	case "title": // a tooltip
		return nil
	case "style":
		d.sheet, err = rules(e.Text)
		return err
	case "svg":
		in = d.enter(&a, in)
	case "g":
	case "rect":
		x, y := a.number("x", d.width), a.number("y", d.height)
		w, h := a.number("width", d.width), a.number("height", d.height)
		s.contours = []contour{{points: []point{in.at(x, y), in.at(x+w, y), in.at(x+w, y+h), in.at(x, y+h)}, closed: true}}
	case "circle":
		s.at, s.radius = in.at(a.number("cx", 0), a.number("cy", 0)), in.scale*a.number("r", 0)
	case "path":
		s.contours, a.err = contours(a.values["d"], in)
	case "text":
		s.at, s.text = in.at(a.number("x", 0), a.number("y", 0)), e.Text
	default:
		return fmt.Errorf("<%s>: unknown element", name)
	}
	for _, key := range []string{"transform", "rx", "ry"} {
		if a.values[key] != "" {
			a.err = errors.Join(a.err, fmt.Errorf("unknown attribute %s", key))
		}
	}
	if a.err != nil {
		return fmt.Errorf("<%s>: %w", name, a.err)
	}
	for _, child := range e.Children {
		if err := d.add(child, s.style, in); err != nil {
			return err
		}
	}
	if s.contours != nil || s.radius > 0 || s.text != "" {
		s.style = s.scaled(in.scale)
		d.shapes = append(d.shapes, s)
	}
	return nil
}

// enter returns the frame inside an <svg>. The outer one sets the size.
func (d *drawing) enter(a *attributes, in frame) frame {
	var box [4]float64
	fields := strings.Fields(a.values["viewBox"])
	for i, f := range fields {
		if v, err := strconv.ParseFloat(f, 64); err == nil && i < 4 && math.Abs(v) <= longest {
			box[i] = v
		}
	}
	if len(fields) != 4 || box[2] <= 0 || box[3] <= 0 || box[2]*box[3] > largest {
		a.err = fmt.Errorf("invalid viewBox %q: want four numbers up to %g and an area up to %g", a.values["viewBox"], longest, largest)
		return in
	}
	if d.width == 0 {
		d.width, d.height = box[2], box[3]
		return frame{-box[0], -box[1], 1}
	}
	at, w, h := in.at(a.number("x", 0), a.number("y", 0)), a.number("width", 0), a.number("height", 0)
	scale := w / box[2]
	if math.Abs(h-scale*box[3]) > 0.2 || !(scale > 0) { // lengths are rounded to 0.1
		a.err = errors.Join(a.err, fmt.Errorf("a nested drawing of %g × %g is distorted to %g × %g", box[2], box[3], w, h))
	}
	scale *= in.scale
	return frame{at.x - scale*box[0], at.y - scale*box[1], scale}
}

// attributes are those of one element. err keeps the mistakes in them.
type attributes struct {
	values map[string]string
	err    error
}

// number returns a length, 0 if it is missing. whole is that of 100%.
func (a *attributes) number(key string, whole float64) float64 {
	s := a.values[key]
	if s == "" {
		return 0
	}
	share, isShare := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(share, 64)
	if isShare {
		v *= whole / 100
	}
	if err != nil || !(math.Abs(v) <= longest) {
		a.err = errors.Join(a.err, fmt.Errorf("invalid %s %q: want a number up to %g", key, s, longest))
	}
	return v
}

// contours reads a path of absolute straight lines: the commands M, L, H, V and Z.
func contours(d string, in frame) (out []contour, _ error) {
	for rest := d; rest != ""; {
		op, n := rest[0], strings.IndexAny(rest[1:], "MLHVZ")+1
		if n == 0 {
			n = len(rest)
		}
		fields := strings.FieldsFunc(rest[1:n], func(r rune) bool { return r == ',' || r == ' ' })
		rest = rest[n:]
		v := make([]float64, len(fields))
		for i, f := range fields {
			var err error
			if v[i], err = strconv.ParseFloat(f, 64); err != nil || !(math.Abs(v[i]) <= longest) {
				return nil, fmt.Errorf("invalid number %q in path %q", f, d)
			}
		}
		if want := map[byte]int{'M': 2, 'L': 2, 'H': 1, 'V': 1, 'Z': 0}; !strings.ContainsRune("MLHVZ", rune(op)) || len(v) != want[op] || op != 'M' && out == nil {
			return nil, fmt.Errorf("path %q: cannot draw command %c with %d numbers", d, op, len(v))
		}
		if op == 'M' {
			out = append(out, contour{points: []point{in.at(v[0], v[1])}})
			continue
		}
		c := &out[len(out)-1]
		last := c.points[len(c.points)-1]
		switch op {
		case 'L':
			last = in.at(v[0], v[1])
		case 'H':
			last.x = in.at(v[0], 0).x
		case 'V':
			last.y = in.at(0, v[0]).y
		case 'Z':
			c.closed = true
			continue
		}
		c.points = append(c.points, last)
	}
	return out, nil
}
