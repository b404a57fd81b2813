package chart

import "fmt"

// Squares is a small matrix whose cells have a number and, below it, lines such as its interval:
// Cells[i][n] goes from Rows[i] to Columns[n]. Its color scale starts at zero.
type Squares struct {
	Rows, Columns []string
	Cells         [][]Square
	Alt           string // text alternative
}

// A Square is one cell; without a Label it is empty.
type Square struct {
	Value float64 // 0 or more
	Label string
	Small []string // up to two lines
}

func (v Squares) SVG() (string, error) {
	const head, height = 36.0, 58.0
	hi := 0.0
	for i, row := range v.Cells {
		if len(v.Cells) != len(v.Rows) || len(row) != len(v.Columns) {
			return "", fmt.Errorf("chart: %d cells in one of %d rows: want %d rows of %d cells", len(row), len(v.Cells), len(v.Rows), len(v.Columns))
		}
		for _, x := range row {
			if err := finite(v.Rows[i], x.Value); err != nil {
				return "", err
			}
			hi = max(hi, x.Value)
		}
	}
	left, short := nameColumn(v.Rows)
	w := min(126, (width-left)/float64(max(1, len(v.Columns))))
	c := newCanvas(head + height*float64(len(v.Rows)) + 4)
	c.text(inkMuted, start, smallSize, left, 11, "to")
	c.text(inkMuted, start, smallSize, 0, head-8, "from")
	for n, name := range v.Columns {
		c.text(inkFG, middle, textSize, left+w*(float64(n)+0.5), head-8, clip(name, w-2, textSize))
	}
	for i, row := range v.Cells {
		y := head + height*float64(i)
		c.text(inkFG, start, textSize, 0, y+height/2+4, short[i])
		for n, x := range row {
			if x.Label == "" {
				continue
			}
			at := left + w*float64(n)
			c.rect(heatInk(x.Value, hi), at+1, y+1, w-2, height-2)
			line := y + height/2 + 5 - 7.5*float64(len(x.Small))
			c.text(inkFG, middle, 15, at+w/2, line, clip(x.Label, w-4, 15))
			for k, s := range x.Small {
				c.text(inkFG, middle, smallSize, at+w/2, line+15*float64(k+1), clip(s, w-4, smallSize))
			}
		}
	}
	return c.svg(v.Alt), nil
}
