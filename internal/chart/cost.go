package chart

import (
	"fmt"
	"strings"
)

// barWidth is the width of lines that are bars.
const barWidth = 14.0

// A Bar is one network of a stacked chart.
type Bar struct {
	Name  string
	Color int       // of the network
	Parts []float64 // in the order of Cost.Names
}

// Cost has one stacked bar per network, such as CPU time per unit of work by CPU mode.
type Cost struct {
	Bars  []Bar
	Names []string // of the parts, at most six
	Axis  string   // the quantity with its unit
	Alt   string   // text alternative
}

func (v Cost) SVG() (string, error) {
	if len(v.Names) > len(parts) {
		return "", fmt.Errorf("chart: a bar has %d parts: want %d at most", len(v.Names), len(parts))
	}
	rows, hi := make([]Row, len(v.Bars)), 0.0
	for i, b := range v.Bars {
		if err := finite(b.Name, b.Parts...); err != nil {
			return "", err
		}
		if len(b.Parts) > len(v.Names) {
			return "", fmt.Errorf("chart: %s: %d parts but %d names", b.Name, len(b.Parts), len(v.Names))
		}
		sum := 0.0
		for _, p := range b.Parts {
			sum += max(p, 0)
		}
		rows[i] = Row{Name: b.Name, Label: num(sum), Tip: v.tip(b)}
		hi = max(hi, sum)
	}
	g := newGrid(rows, 26)
	c := newCanvas(g.bottom + axisHeight)
	a := fromZero(hi, g.left, g.right)
	c.bottom(a, g.top, g.bottom, v.Axis)
	x := 0.0
	for i, n := range v.Names {
		c.rect(parts[i], x, 4, 9, 9)
		c.text(inkMuted, start, smallSize, x+13, 12.5, n)
		x += 13 + textWidth(n, smallSize) + 10
	}
	for i, b := range v.Bars {
		c.mark(of(b.Color, g.height), rows[i].tip())
		g.row(c, i, rows[i])
		at := g.left
		for p, part := range b.Parts {
			if w := a.pos(max(part, 0)) - g.left; w > 0 {
				c.line(parts[p], barWidth, at, g.y(i), at+w, g.y(i))
				at += w
			}
		}
		c.shut()
	}
	return c.svg(v.Alt), nil
}

// tip names every part of a bar.
func (v Cost) tip(b Bar) string {
	var texts []string
	for i, p := range b.Parts {
		texts = append(texts, v.Names[i]+" "+num(max(p, 0)))
	}
	return b.Name + ": " + strings.Join(texts, ", ")
}
