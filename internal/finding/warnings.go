package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var trialWarnings = Rule{
	ID:    "trial-warnings",
	Title: "Warnings that trials recorded",
	Doc: "A trial judges what only it can see: stalls, fragments that the receiver's kernel refused for lack of memory, counters that could not be read, " +
		"CPUs that were busy before the run. It records its warnings with the result; this rule counts the trials with each warning.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) (out []Finding) {
		for _, n := range r.Notes {
			out = append(out, Finding{Severity: Warning, Text: lang.T("%s (%d of %d trials)", lang.Note(n.Note), n.Trials, r.Trials())})
		}
		const most = 6
		return few(out, most, func(n int) lang.Text { return lang.T("and %d more warnings", n) })
	}),
}
