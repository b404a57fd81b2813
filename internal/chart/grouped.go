package chart

import "slices"

// Grouped has groups of rows under headings, such as the levels of a factor under each network. It
// draws values on an axis from zero, or, with One, ratios on a logarithmic axis with a line at 1.
type Grouped struct {
	Groups []RowGroup
	One    string // name of the line at 1; "" for values
	Axis   string // the quantity with its unit or better direction
	Alt    string // text alternative
}

// A RowGroup is the rows under one heading.
type RowGroup struct {
	Name string
	Rows []Row
}

func (v Grouped) SVG() (string, error) {
	e, top, most := around(1), 0.0, 0.0
	var rows []Row
	for _, g := range v.Groups {
		rows = append(rows, Row{Name: g.Name})
		for _, r := range g.Rows {
			if v.One != "" {
				if err := e.add(r, 1); err != nil {
					return "", err
				}
			}
			if err := finite(r.Name, r.numbers()...); err != nil {
				return "", err
			}
			top, most = max(top, slices.Max(r.numbers())), max(most, r.Value)
			r.Name = "  " + r.Name // as wide as the indent
			rows = append(rows, r)
		}
	}
	margin := 4.0
	if v.One != "" {
		margin = 18
	}
	g := newGrid(rows, margin)
	g.height = 22
	g.bottom = g.top + max(1, float64(len(rows)))*g.height
	c := newCanvas(g.bottom + axisHeight)
	a := fromZero(upTo(most, top), g.left, g.right)
	if v.One != "" {
		a = e.axis(g)
	}
	c.bottom(a, g.top, g.bottom, v.Axis)
	if v.One != "" {
		one := a.pos(1)
		c.reference(one, g.top-4, g.bottom)
		c.text(inkFG, anchorFor(one, g), smallSize, one, g.top-8, clip(v.One, nameMax, smallSize)+" = 1")
	}
	i := 0
	for _, group := range v.Groups {
		c.text(inkFG, start, textSize, 0, g.y(i)+5, g.names[i])
		i++
		for _, r := range group.Rows {
			c.mark("", group.Name+", "+r.tip())
			c.text(inkMuted, start, textSize, gap, g.y(i)+4, g.names[i])
			c.text(inkFG, end, textSize, width, g.y(i)+4, r.Label)
			c.interval(a, r, g.y(i))
			c.shut()
			i++
		}
	}
	return c.svg(v.Alt), nil
}
