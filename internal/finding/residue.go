package finding

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
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
				noun := "trials"
				if v.Trials == 1 {
					noun = "trial"
				}
				f.Evidence = append(f.Evidence, fmt.Sprintf("%s (%d %s: %s)", v.Value, v.Trials, noun, v.Where))
			}
			shown, more := f.Evidence, ""
			if len(shown) > mostValues {
				shown, more = shown[:mostValues], fmt.Sprintf("; and %d more", len(shown)-mostValues)
			}
			f.Text = fmt.Sprintf("%s differs %s without being a factor: it is %s%s", d.Key, d.Scope, strings.Join(shown, "; "), more)
			out = append(out, f)
		}
		return out
	},
}
