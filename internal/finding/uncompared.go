package finding

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var uncompared = Rule{
	ID:    "nothing-compared",
	Title: "Nothing to compare",
	Doc:   "A ratio needs two networks in the same block, one of which is the baseline.",
	Check: func(run *analysis.Run) []Finding {
		switch {
		case len(run.Tables) == 0:
			return []Finding{{Severity: Serious, Text: lang.T("no trials")}}
		case len(run.Contrasts) > 0: // the study states what it compares
			return nil
		case run.Baseline == "":
			return []Finding{{Severity: Note, Text: lang.T("the study names no baseline, so nothing is compared")}}
		case !slices.Contains(run.Networks, run.Baseline):
			return []Finding{{Severity: Warning, Text: lang.T("no trial of the baseline %q, so nothing is compared", run.Baseline)}}
		case len(run.Networks) == 1 && run.Chains == nil:
			return []Finding{{Severity: Note, Text: lang.T("%q is the only network, so nothing is compared", run.Baseline)}}
		}
		return nil
	},
}
