package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
)

var fewBlocks = Rule{
	ID:    "too-few-blocks",
	Title: "Too few blocks for intervals",
	Doc: "A ratio has an interval only with enough blocks for the signed-rank test that it starts from, and all ratios hold together, so more ratios need more blocks. " +
		"With fewer blocks a ratio is an estimate of unknown precision. With enough for an interval but fewer than 12, a warning says that the blocks are too few to show whether neighbors are correlated.",
	Check: func(run *analysis.Run) []Finding {
		need := stat.MinPairs(run.Each)
		if run.Comparisons == 0 || run.Blocks >= need || run.Unpaired {
			return nil
		}
		ratios := lang.T("%d ratios that hold together at %g %% need", run.Comparisons, 100*run.Confidence)
		if run.Comparisons == 1 {
			ratios = lang.T("a ratio at %g %% needs", 100*run.Confidence)
		}
		return []Finding{{Severity: Warning,
			Text: lang.T("too few blocks for intervals: the run has %d, and %s at least %d blocks", run.Blocks, ratios, need)}}
	},
}
