package stat

import (
	"math"

	"github.com/weir-bench/weir/internal/lang"
)

// leastBlocks is the fewest blocks for which Sums has an interval: two say too little about the spread.
const leastBlocks = 3

// Sums returns the ratio of two sums over blocks in time order, such as CPU time and packets, and its
// interval. The ratio of sums suits quantities that are counted in coarse steps, whose errors cancel
// from block to block: a median of ratios would keep them. over can have values below 0.
//
// The standard error is that of the jackknife, once without each block and once without each of a few
// groups of neighbors, whichever is larger: groups keep the correlation between neighbors (H. R.
// Künsch, The jackknife and the bootstrap for general stationary observations, Annals of Statistics
// 17, 1989). The interval is Student's. Center is 0 and N is 0 unless the sum of under is above 0.
func Sums(over, under []float64, confidence float64) Interval {
	n := min(len(over), len(under))
	over, under = over[:n], under[:n]
	whole := quotient(total(over), total(under))
	if !finite(whole) {
		return Interval{Warnings: []lang.Text{lang.T("no ratio: the sum below is not above 0")}}
	}
	i := Interval{Center: whole, N: n}
	if !proper(confidence) || n < leastBlocks {
		i.warn("%s: an interval needs at least %d", plural(n, "block"), leastBlocks)
		return i
	}
	half := 0.0
	for _, groups := range []int{n, sumGroups} {
		se := jackknife(over, under, min(groups, n))
		df := float64(min(groups, n) - 1)
		if h := se * quantile(df, confidence); !(h < half) {
			half, i.SE, i.DF = h, se, df
		}
	}
	if !finite(half) {
		i.SE, i.DF = 0, 0
		i.warn("no interval: without some blocks, the sum below is not above 0")
		return i
	}
	i.Lo, i.Hi, i.Confidence = whole-half, whole+half, confidence
	return i
}

// sumGroups is the number of groups of neighboring blocks: fewer would make Student's quantile
// large, more would cut correlated neighbors apart.
const sumGroups = 8

// jackknife returns the standard error of the ratio of sums by deleting one of several groups of
// neighbors at a time.
func jackknife(over, under []float64, groups int) float64 {
	n, mean := len(over), 0.0
	a, b := total(over), total(under)
	left := make([]float64, groups)
	for g := range left {
		from, to := g*n/groups, (g+1)*n/groups
		left[g] = quotient(a-total(over[from:to]), b-total(under[from:to]))
		mean += left[g] / float64(groups)
	}
	sum := 0.0
	for _, x := range left {
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum * float64(groups-1) / float64(groups))
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
