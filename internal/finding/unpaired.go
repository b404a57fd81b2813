package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var unpaired = Rule{
	ID:    "unpaired",
	Title: "Results that are not paired",
	Doc: "A run of weir measures all networks in every block and divides within it, so that what changes on the machine cancels. Imported results have no blocks: " +
		"whatever changed from one file to the next is in their ratios, and nobody knows in which order they were measured.",
	Check: func(run *analysis.Run) []Finding {
		if !run.Unpaired || len(run.Tables) == 0 {
			return nil
		}
		f := Finding{Severity: Warning, Text: lang.T("imported results, unpaired: no block has two networks, so what changed between the measurements does not cancel in a ratio")}
		single := 0
		for _, row := range run.Rows() {
			if row.Counted() == 1 {
				single++
			}
		}
		if single > 0 {
			f.Text += lang.T("; cells with one result, which says nothing about its spread: %d", single)
		}
		return []Finding{f}
	},
}
