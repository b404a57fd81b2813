package stat

import (
	"math"
	"sort"
)

// power is the probability of showing Detectable's difference.
const power = 0.8

// maxPairs bounds Needed; more are not practical.
const maxPairs = math.MaxInt32

// Detectable returns the smallest relative difference that a ratio's pairs, with their number,
// spread and correlation, could have shown with a power of 80 %: 0.05 is 5 %. It qualifies every
// "no difference".
//
// A difference shows when the interval excludes 1. Detectable is therefore the half width of the interval, on its wider
// side, plus the error of the estimate toward 1 that 20 % of runs exceed, by the t approximation; and no less than what an
// interval around 1 leaves possible. It returns 0 for fewer than MinPairs pairs or pairs without spread, and math.MaxFloat64
// for an interval without an upper end, or without a lower one above 0: no ratio that far would have shown.
func (i Interval) Detectable() float64 {
	if i.Bounded() && (i.Open() || i.Lo == 0) {
		return math.MaxFloat64
	}
	if !i.Bounded() || i.SE == 0 {
		return 0
	}
	above, below := math.Log(i.Hi), -math.Log(i.Lo)
	center := math.Log(i.Center)
	reach := math.Max(above-center, center+below) + i.SE*quantile(i.DF, 2*power-1)
	if i.Contains(1) {
		reach = math.Max(reach, math.Max(above, below))
	}
	return math.Min(math.Expm1(reach), math.MaxFloat64)
}

// Needed returns how many pairs, including those of this ratio, are likely to give an interval of a
// relative half width: 0.02 is ±2 %. confidence is the intended one: a ratio of too few pairs has none.
//
// It assumes that spread and correlation stay as estimated; the standard error then shrinks with the
// square root of the number of pairs, and DF grows with it. A few pairs estimate both roughly:
// a caller that plans with Needed must look again at the planned end.
//
// The result is at least MinPairs and the pairs so far, and at most 2^31-1, which can also mean that
// no number is enough.
func (i Interval) Needed(width, confidence float64) int {
	if !proper(confidence) || !(width > 0) {
		return maxPairs
	}
	least := max(i.N, MinPairs(confidence))
	switch {
	case i.SE > 0:
	case i.Bounded() && i.Lo == 0: // too many ratios of 0 to know
		return maxPairs
	default:
		return min(maxPairs, least)
	}
	enough := func(n float64) bool {
		more := n / float64(i.N)
		return i.SE*quantile((i.DF+1)*more-1, i.Confidence) <= math.Log1p(width)*math.Sqrt(more)
	}
	return least + sort.Search(max(0, maxPairs-least), func(k int) bool { return enough(float64(least + k)) })
}
