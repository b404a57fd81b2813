package analysis

import (
	"math"

	"github.com/weir-bench/weir/internal/stat"
)

// Difference is the median of this row − the baseline over the blocks of Ratio, in the table's unit: what a user feels of
// a response time. It has the confidence of Ratio, and none where that has none.
func (r Row) Difference() stat.Interval {
	p := r.pairs
	if !r.Ratio.Bounded() || len(p.blocks) == 0 || len(p.base) != len(p.own) {
		return stat.Interval{}
	}
	differs := make([]float64, len(p.own))
	for i, v := range p.own {
		differs[i] = v - p.base[i]
	}
	return r.Busy.widenDifference(stat.Median(differs, r.Ratio.Confidence), math.Max(stat.Middle(p.base), stat.Middle(p.own)))
}
