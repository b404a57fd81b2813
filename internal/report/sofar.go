package report

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
)

// SoFar returns a row for each network of an unfinished run that has a ratio to the baseline: its name, then
// a cell for each table in which any has one, such as "tcp-stream 0.57× [0.54, 0.61]". The interval is that of
// the final report: it narrows as blocks arrive, and it is missing while they are too few.
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
				d := ratioDigits(own.Ratio)
				cell = english(comma(t.Probe, levelText(t.Levels))) + " " + fixed(own.Ratio.Center, d) + "×"
				if own.Ratio.Bounded() {
					cell += " " + bracket(own.Ratio, d)
				}
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
