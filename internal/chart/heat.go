package chart

import "fmt"

// A Cell is one place of a heat map. One that has no Label is empty.
type Cell struct {
	Value float64 // 0 or more
	Label string  // printed where it fits
}

// Heat draws a matrix: cells[i][n] is what goes from rows[i] to columns[n]. Colours
// start at zero, as the axes of other charts do, so that what differs little looks
// alike. title is what is measured, with its unit.
func Heat(rows, columns []string, cells [][]Cell, title, alt string) ([]byte, error) {
	const head, height, widest, box = 34.0, 30.0, 84.0, 12.0
	hi := 0.0
	for i, row := range cells {
		if len(cells) != len(rows) || len(row) != len(columns) {
			return nil, fmt.Errorf("chart: a row of %d cells, and %d rows, are no %d by %d", len(row), len(cells), len(rows), len(columns))
		}
		for _, x := range row {
			if err := finite(rows[i], x.Value); err != nil {
				return nil, err
			}
			hi = max(hi, x.Value)
		}
	}
	left, short := nameColumn(rows)
	left += textWidth("from ", smallSize)
	w := min(widest, (width-left)/float64(max(1, len(columns))))
	bottom := head + height*float64(len(rows))
	c := newCanvas(bottom + axisHeight)
	c.text(inkMuted, start, smallSize, left, 11, "to")
	c.text(inkMuted, start, smallSize, 0, head-6, "from")
	for n, name := range columns {
		c.text(inkFG, middle, smallSize, left+w*(float64(n)+0.5), head-6, clip(name, w-2, smallSize))
	}
	for i, row := range cells {
		y := head + height*float64(i)
		c.text(inkFG, start, textSize, 0, y+height/2+4, short[i])
		for n, x := range row {
			at := left + w*float64(n)
			if x.Label == "" {
				continue
			}
			c.rect(heatInk(x.Value, hi), at+1, y+1, w-2, height-2)
			if textWidth(x.Label, smallSize) <= w {
				c.text(inkFG, middle, smallSize, at+w/2, y+height/2+4, x.Label)
			}
		}
	}
	x, y := left, bottom+16
	c.text(inkMuted, end, smallSize, x-4, y+box-2, "0")
	for n := range heats {
		c.rect(inkHeat0+ink(n), x, y, box, box)
		x += box
	}
	c.text(inkMuted, start, smallSize, x+4, y+box-2, num(hi)+"  "+title)
	return c.bytes(alt)
}

// heatInk returns the colour of v on a scale from 0 to hi.
func heatInk(v, hi float64) ink {
	if hi <= 0 {
		return inkHeat0
	}
	return inkHeat0 + ink(min(max(v, 0)/hi*heats, heats-1))
}
