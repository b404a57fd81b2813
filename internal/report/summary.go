package report

import (
	"strings"

	"github.com/weir-bench/weir/internal/unit"
)

// summarySection has a row for each table and a column for each network. Where networks
// are not compared, their values stand alone.
func summarySection(s source) []Section {
	if len(s.p.Tables) == 0 {
		return nil
	}
	t := Table{ID: "summary", In: []Medium{forSummary}, Columns: []Column{{Left: true}}}
	for _, n := range s.p.Networks {
		t.Columns = append(t.Columns, Column{Head: n, Network: n})
	}
	for _, x := range s.p.Tables {
		row := Row{Cells: texts(s.heading(x))}
		for _, n := range s.p.Networks {
			c := Cell{Text: "–"}
			if r, ok := x.Row(n); ok && r.Value.N > 0 {
				parts := []string{unit.Format(r.Value.Center, x.Unit)}
				if o := overviewCell(x, n); o.Text != "–" {
					parts = append(parts, strings.TrimPrefix(o.Text, "~ "), o.Small)
					if r.Same {
						parts = append(parts, "~")
					}
				}
				c = Cell{Text: strings.Join(parts, " "), Value: number(r.Value.Center)}
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return []Section{{ID: "summary-table", In: []Medium{forSummary}, Tables: []Table{t}}}
}
