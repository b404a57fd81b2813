package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

// mostValues is the number of values of a key that a sentence names.
const mostValues = 4

var residue = Rule{
	ID:    "residue",
	Title: "Something other than a factor differed",
	Doc: "Trials of one cell, and compared networks, should differ only in the study's factors. Any other observed difference can explain " +
		"a difference in the numbers. The idea is benchstat's residue (golang.org/x/perf/benchproc).",
	Check: func(run *analysis.Run) (out []Finding) {
		for _, d := range run.Residue {
			f := Finding{Severity: Warning}
			for _, v := range d.Values {
				noun := lang.T("trials")
				if v.Trials == 1 {
					noun = lang.T("trial")
				}
				f.Evidence = append(f.Evidence, lang.T("%s (%d %s: %s)", v.Value, v.Trials, noun, v.Where))
			}
			shown, more := f.Evidence, lang.Text("")
			if len(shown) > mostValues {
				shown, more = shown[:mostValues], lang.T("; and %d more", len(shown)-mostValues)
			}
			values := lang.Join(shown, lang.T("; ")) + more
			if f.Text = lang.T("%s differs between networks without being a factor: it is %s", d.Key, values); d.Scope == analysis.InCell {
				f.Text = lang.T("%s differs inside a cell without being a factor: it is %s", d.Key, values)
			}
			out = append(out, f)
		}
		return out
	},
}
