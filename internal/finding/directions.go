package finding

import (
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

// unlikeWays is the least ratio of the rates of two directions that counts.
const unlikeWays = 1.25

var directions = Rule{
	ID:    "directions-differ",
	Title: "The two directions differ",
	Doc: "Where client and server change places between blocks, the values of one direction are at least 1.25 times those of the other, over the whole interval: one number for both says little. " +
		"Blocks of the two directions are not measured at once, so a slow change of the machines can look like it. Runs that measure all pairs compare machines instead.",
	Check: func(run *analysis.Run) []Finding {
		if run.Pairs > 0 {
			return nil
		}
		return rows(func(t *analysis.Table, r *analysis.Row) []Finding {
			ratio, from, to := r.Directions()
			if !strings.HasSuffix(t.Unit, "/s") || !ratio.Bounded() || ratio.Hi > 1/unlikeWays && ratio.Lo < unlikeWays {
				return nil
			}
			return []Finding{{Severity: Warning, Number: &Number{lang.T("%s from %s ÷ from %s", lang.Quantity(t.Metric), to, from), "1", ratio},
				Text:       lang.T("%s from %s to %s is %s of that from %s to %s", lang.Quantity(t.Metric), to, from, prose.Times(ratio), from, to),
				Remedy:     lang.T("look at what each machine sends through, and compare the directions by themselves (--swap=false)"),
				Untestable: lang.T("no cause is known that a run could remove")}}
		})(run)
	},
}
