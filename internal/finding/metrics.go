package finding

import (
	"fmt"

	"github.com/weir-bench/weir/internal/analysis"
)

var mixedMetrics = Rule{
	ID:    "mixed-metrics",
	Title: "Trials without the table's metric",
	Doc:   "All trials of a table should put the same value first, in the same unit. Those that do not are missing from its numbers.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		if r.Unlike == 0 {
			return nil
		}
		return []Finding{{Severity: Warning, Text: fmt.Sprintf("%d of %d ok trials have no %s in %s", r.Unlike, r.Counted(), t.Metric, t.Unit)}}
	}),
}
