package stat

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/lang"
)

// leastBlocks is the fewest blocks for which Sums has an interval: two say too little about the spread.
const leastBlocks = 3

// Sums returns the ratio of two sums over blocks in time order, such as CPU time and packets, and its
// interval. The ratio of sums suits quantities that are counted in coarse steps, whose errors cancel
// from block to block: a median of ratios would keep them. over can have values below 0.
//
// The variance is that of a ratio of sums (W. G. Cochran, Sampling Techniques, 3rd ed. 1977, section 6.4), and
// neighboring blocks correlate as in a ratio's interval (see dependence). The interval is Student's. Center is 0 and N is
// 0 unless the sum of under is above 0.
func Sums(over, under []float64, confidence float64) Interval {
	n := min(len(over), len(under))
	over, under = over[:n], under[:n]
	all := total(under)
	whole := quotient(total(over), all)
	if !finite(whole) {
		return Interval{Warnings: []lang.Text{lang.T("no ratio: the sum below is not above 0")}}
	}
	i := Interval{Center: whole, N: n}
	if !proper(confidence) || n < leastBlocks {
		i.warn("%s: an interval needs at least %d", plural(n, "block"), leastBlocks)
		return i
	}
	excess, squares := make([]float64, n), 0.0
	for b := range over {
		excess[b] = (over[b] - whole*under[b]) / all * float64(n)
		squares += excess[b] * excess[b]
	}
	factor, df, _ := dependence(excess)
	i.SE = factor * math.Sqrt(squares/float64(n-1)/float64(n))
	i.DF = df
	half := i.SE * quantile(df, confidence)
	switch {
	case slices.ContainsFunc(under, func(x float64) bool { return !(all-x > 0) }):
		i.SE, i.DF = 0, 0
		i.warn("no interval: without some blocks, the sum below is not above 0")
		return i
	case !finite(half) || !finite(whole-half) || !finite(whole+half):
		i.SE, i.DF = 0, 0
		i.warn("no interval: the numbers are too large")
		return i
	}
	i.Lo, i.Hi, i.Confidence = whole-half, whole+half, confidence
	i.warnCorrelated(excess)
	return i
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// quotient is NaN unless b is above 0.
func quotient(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}
