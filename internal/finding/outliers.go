package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

// maxNamed is the largest number of blocks named individually.
const maxNamed = 3

// OutlierBlocks is the ID of the rule about blocks that are far from the others: a page draws them instead.
const OutlierBlocks = "outlier-blocks"

var outliers = Rule{
	ID:    OutlierBlocks,
	Title: "Blocks far from the others",
	Doc: "A block is far when its log ratio is more than five median absolute deviations from the median. It counts like the others, because the estimate resists outliers: " +
		"it is a reason to look at the raw output, not to drop the block.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		if len(r.Far) == 0 {
			return nil
		}
		var each []lang.Text
		lo, hi := r.Far[0].Ratio, r.Far[0].Ratio
		for _, f := range r.Far {
			lo, hi = min(lo, f.Ratio), max(hi, f.Ratio)
			each = append(each, lang.T("block %d is far from the others, at %.2f×", f.Block, f.Ratio))
		}
		text := lang.Join(each, lang.T("; "))
		if len(each) > maxNamed {
			text = lang.T("%d of %d blocks are far from the others, at %.2f× to %.2f×", len(each), r.Shared, lo, hi)
			each = each[:maxNamed]
		}
		return []Finding{{Severity: Note, Text: text, Evidence: each}}
	}),
}
