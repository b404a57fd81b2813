package finding

import (
	"fmt"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

var fewBlocks = Rule{
	ID:    "too-few-blocks",
	Title: "Too few blocks for intervals",
	Doc: "The signed-rank test gives an interval only with enough blocks, and all ratios hold together, so more ratios need more blocks. " +
		"With fewer blocks a ratio is an estimate of unknown precision. An interval of fewer than 12 blocks exists, but warns: they are too few to show whether neighbors are correlated.",
	Check: func(run *analysis.Run) []Finding {
		need := stat.MinPairs(run.Each)
		if run.Comparisons == 0 || run.Blocks >= need {
			return nil
		}
		return []Finding{{Severity: Warning,
			Text: fmt.Sprintf("too few blocks for intervals: the run has %d, and %d ratios that hold together at %g %% need at least %d blocks",
				run.Blocks, run.Comparisons, 100*run.Confidence, need)}}
	},
}
