package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var damagedTimes = Rule{
	ID:    "response-times",
	Title: "Missing response times",
	Doc:   "Percentiles come from the histograms of all ok trials together. Damaged histograms and times above an hour are missing from them.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) (out []Finding) {
		if n := len(r.Unreadable); n > 0 {
			out = append(out, Finding{Severity: Warning, Text: lang.T("damaged histograms of response times: %d (%s); percentiles leave them out", n, analysis.Examples(r.Unreadable))})
		}
		if r.TooLong > 0 {
			out = append(out, Finding{Severity: Warning, Text: lang.T("%d response times above %d s are left out", r.TooLong, analysis.LongestTime/1e9)})
		}
		return out
	}),
}
