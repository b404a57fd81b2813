package finding

import (
	"fmt"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var notOK = Rule{
	ID:    "trials-not-ok",
	Title: "Trials that do not count",
	Doc: "A trial counts only when its programs succeeded, its packets took the intended path, its value is possible, and nothing outside the run disturbed it (unless too few others remain). " +
		"Other trials are kept and shown, but left out of every number.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		var out []Finding
		at := map[string]int{}
		var trials []int
		for _, p := range r.Points {
			if r.Counts(p.Status) {
				continue
			}
			s := string(p.Status)
			if p.Reason != "" {
				s += ": " + p.Reason
			}
			i, ok := at[s]
			if !ok {
				i, at[s] = len(out), len(out)
				out, trials = append(out, Finding{Severity: Warning, Text: lang.Text(s)}), append(trials, 0)
			}
			trials[i]++
			if len(out[i].Evidence) < mostTrials {
				out[i].Evidence = append(out[i].Evidence, lang.Text(p.Trial))
			}
		}
		for i := range out {
			out[i].Text = lang.Text(fmt.Sprint(trials[i], " ")) + out[i].Text
		}
		const most = 6
		out = few(out, most, func(n int) lang.Text { return lang.T("and %d more reasons", n) })
		if r.Counted() == 0 {
			out = append([]Finding{{Severity: Serious, Text: lang.T("no trial is ok")}}, out...)
		}
		return out
	}),
}

// mostTrials is the number of trials that a finding names as evidence.
const mostTrials = 5
