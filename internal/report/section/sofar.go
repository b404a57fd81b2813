package section

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// SoFar returns a row for each network of an unfinished run that has a ratio to the baseline: its name, then
// a cell for each table in which any has one, such as "tcp-stream 0.57× [0.54, 0.61]". The interval is that of
// the final report: it narrows as blocks arrive, and the cell says that there is none while they are too few.
func SoFar(r *analysis.Run) [][]string {
	var rows [][]string
	for _, network := range r.Networks {
		row, found := []string{network}, false
		for _, t := range r.Tables {
			if !slices.ContainsFunc(t.Rows, func(r analysis.Row) bool { return r.Ratio.N > 0 }) {
				continue
			}
			cell := ""
			if own, _ := t.Row(network); own.Ratio.N > 0 {
				cell = doc.English(prose.Comma(t.Probe, prose.Levels(t.Levels))) + " " + doc.English(Whole(own.Ratio))
				found = true
			}
			row = append(row, cell)
		}
		if found {
			rows = append(rows, row)
		}
	}
	return rows
}
