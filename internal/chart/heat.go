package chart

import (
	"cmp"
	"fmt"
	"strings"
)

// A Square is one place of a heat map; without a Label it is empty.
type Square struct {
	Value float64 // 0 or more
	Label string  // its lines are printed where they fit
}

// Heat is a matrix: Cells[i][n] goes from Rows[i] to Columns[n]. Its color scale starts at zero.
type Heat struct {
	Rows, Columns []string
	Cells         [][]Square
	Top           float64 // end of the color scale; 0: the largest value
	Axis          string  // the quantity with its unit
	Alt           string  // text alternative
	From, To      string  // name the sides; "" does in English
}

func (v Heat) SVG() (string, error) {
	const head, box, line = 34.0, 12.0, 13.0
	height, widest, hi := 30.0, 84.0, v.Top
	for i, row := range v.Cells {
		if len(v.Cells) != len(v.Rows) || len(row) != len(v.Columns) {
			return "", fmt.Errorf("chart: %d cells in one of %d rows: want %d rows of %d cells", len(row), len(v.Cells), len(v.Rows), len(v.Columns))
		}
		for _, x := range row {
			if err := finite(v.Rows[i], x.Value); err != nil {
				return "", err
			}
			hi = max(hi, x.Value)
			if n := strings.Count(x.Label, "\n"); n > 0 {
				height, widest = max(height, 20+line*float64(n)), 124
			}
		}
	}
	v.From, v.To = cmp.Or(v.From, "from"), cmp.Or(v.To, "to")
	left, short := nameColumn(v.Rows)
	left += textWidth(v.From+" ", smallSize)
	bottom := head + height*float64(len(v.Rows))
	c := newCanvas(bottom + axisHeight)
	if len(v.Columns) > 5 {
		c.width = wide
	}
	w := min(widest, (max(width, c.width)-left)/float64(max(1, len(v.Columns))))
	c.text(inkMuted, start, smallSize, left, 11, v.To)
	c.text(inkMuted, start, smallSize, 0, head-6, v.From)
	for n, name := range v.Columns {
		c.text(inkFG, middle, smallSize, left+w*(float64(n)+0.5), head-6, clip(name, w-2, smallSize))
	}
	for i, row := range v.Cells {
		y := head + height*float64(i)
		c.text(inkFG, start, textSize, 0, y+height/2+4, short[i])
		for n, x := range row {
			at := left + w*float64(n)
			if x.Label == "" {
				continue
			}
			c.mark("", fmt.Sprintf("%s %s %s %s: %s", v.From, v.Rows[i], v.To, v.Columns[n], strings.ReplaceAll(x.Label, "\n", " ")))
			c.rect(heatInk(x.Value, hi), at+1, y+1, w-2, height-2)
			ls := strings.Split(x.Label, "\n")
			for i, l := range ls {
				size := smallSize
				if i == 0 && len(ls) > 1 {
					size = textSize
				}
				if textWidth(l, size) <= w {
					c.text(inkFG, middle, size, at+w/2, y+height/2+4+line*(float64(i)-float64(len(ls)-1)/2), l)
				}
			}
			c.shut()
		}
	}
	legend := num(hi) + "  " + v.Axis
	x, y := max(14, min(left, width-textWidth(legend, smallSize)-box*float64(len(heats))-4)), bottom+16
	c.text(inkMuted, end, smallSize, x-4, y+box-2, "0")
	for n := range heats {
		c.rect(heats[n], x, y, box, box)
		x += box
	}
	c.text(inkMuted, start, smallSize, x+4, y+box-2, legend)
	return c.svg(v.Alt), nil
}

// heatInk returns the color of v on a scale from 0 to hi.
func heatInk(v, hi float64) ink {
	if hi <= 0 {
		return heats[0]
	}
	return heats[min(int(max(v, 0)/hi*float64(len(heats))), len(heats)-1)]
}
