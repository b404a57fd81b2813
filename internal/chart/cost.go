package chart

import "fmt"

// A Bar is one network of a stacked chart.
type Bar struct {
	Name  string
	Parts []float64 // in the order of the names of the parts
}

// Cost draws one stacked bar per network: what a packet, a bit or a
// transaction costs in CPU time, split by the mode that the CPU was in.
func Cost(bars []Bar, names []string, axisTitle, alt string) ([]byte, error) {
	if len(names) > parts {
		return nil, fmt.Errorf("chart: %d parts of a bar is more than %d", len(names), parts)
	}
	rows, hi := make([]Row, len(bars)), 0.0
	for i, b := range bars {
		if err := finite(b.Name, b.Parts...); err != nil {
			return nil, err
		}
		if len(b.Parts) > len(names) {
			return nil, fmt.Errorf("chart: %s: %d parts but %d names", b.Name, len(b.Parts), len(names))
		}
		sum := 0.0
		for _, p := range b.Parts {
			sum += max(p, 0)
		}
		rows[i] = Row{Name: b.Name, Label: num(sum)}
		hi = max(hi, sum)
	}
	g := newGrid(rows, 26)
	c := newCanvas(g.bottom + axisHeight)
	a := fromZero(hi, g.left, g.right)
	c.bottom(a, g.top, g.bottom, axisTitle)
	x := g.left
	for i, n := range names {
		c.rect(inkPart0+ink(i), x, 4, 9, 9)
		c.text(inkMuted, start, smallSize, x+13, 12.5, n)
		x += 13 + textWidth(n, smallSize) + 12
	}
	for i, b := range bars {
		g.row(c, i, rows[i])
		at := g.left
		for p, v := range b.Parts {
			if w := a.pos(max(v, 0)) - g.left; w > 0 {
				c.rect(inkPart0+ink(p), at, g.y(i)-7, w, 14)
				at += w
			}
		}
	}
	return c.bytes(alt)
}
