package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var mixedMetrics = Rule{
	ID:    "mixed-metrics",
	Title: "Trials without the table's metric",
	Doc:   "All trials of a table should put the same value first, in the same unit. Those that do not are missing from its numbers.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		if r.Unlike == 0 {
			return nil
		}
		return []Finding{{Severity: Warning, Text: lang.T("%d of %d ok trials have no %s in %s", r.Unlike, r.Counted(), lang.Quantity(t.Metric), t.Unit)}}
	}),
}
