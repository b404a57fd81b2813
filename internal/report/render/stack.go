package render

import (
	"fmt"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

// Of a wide screen of 1280 pixels, a table has room pixels. A character has about letter, and a column as much beside its text
// as padding.
const room, letter, padding, words = 1050.0, 7.3, 21.0, 190.0

// stack cuts tables that are wider than a wide screen into several with the same rows, one above the other: what scrolls
// sideways is not read.
func stack(tables []doc.Table) (out []doc.Table) {
	for _, t := range tables {
		out = append(out, cut(t)...)
	}
	return out
}

func cut(t doc.Table) []doc.Table {
	if t.Heat || t.Prose || len(t.Columns) < 3 {
		return []doc.Table{t}
	}
	widths := make([]float64, len(t.Columns))
	for i, c := range t.Columns {
		most := max(lang.Columns(c.Head), lang.Columns(c.Unit))
		for _, r := range t.Rows {
			most = max(most, lang.Columns(r.Cells[i].Text), lang.Columns(r.Cells[i].Small))
		}
		widths[i] = letter*float64(most) + padding
		if i > 0 && c.Left { // words wrap
			widths[i] = min(widths[i], words)
		}
	}
	var parts [][]int
	used := 0.0
	for i := 1; i < len(widths); {
		end, need := i+1, widths[i]
		for end < len(widths) && (t.Columns[end].Kind == "interval" || t.Columns[end].Kind == "same") { // they belong to a ratio
			need += widths[end]
			end++
		}
		if parts == nil || used+need > room {
			parts, used = append(parts, []int{0}), widths[0]
		}
		for ; i < end; i++ {
			parts[len(parts)-1] = append(parts[len(parts)-1], i)
		}
		used += need
	}
	var out []doc.Table
	for n, columns := range parts {
		one := t
		if one.Columns, one.Rows = nil, make([]doc.Row, len(t.Rows)); n > 0 {
			one.ID, one.Title = fmt.Sprintf("%s-more%d", t.ID, n), ""
		}
		for _, c := range columns {
			one.Columns = append(one.Columns, t.Columns[c])
		}
		for r, row := range t.Rows {
			one.Rows[r] = row
			one.Rows[r].Cells = nil
			for _, c := range columns {
				one.Rows[r].Cells = append(one.Rows[r].Cells, row.Cells[c])
			}
		}
		out = append(out, one)
	}
	return out
}
