package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// power is the probability of showing Detectable's difference.
const power = 0.8

// maxPairs bounds SteinPairs; more are not practical.
const maxPairs = math.MaxInt32

// halfWidth returns half a ratio's interval on the log scale, 0 without an interval. Unlike a
// standard deviation, it does not follow a single stall.
func (i Interval) halfWidth() float64 {
	if !i.Bounded() || i.Lo <= 0 {
		return 0
	}
	return (math.Log(i.Hi) - math.Log(i.Lo)) / 2
}

// Detectable returns the smallest relative difference that a ratio's pairs, with their number and
// spread, could have shown with a power of 80 %: 0.05 is 5 %. It qualifies every "no difference".
//
// A difference shows when the interval excludes 1. Detectable is therefore the interval's half
// width plus the error of the estimate towards 1 that 20 % of runs exceed, by the t approximation.
// It returns 0 for fewer than MinPairs pairs or pairs without spread.
func (i Interval) Detectable() float64 {
	half := i.halfWidth()
	if half == 0 || i.N < 2 {
		return 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(i.N - 1)}
	delta := half * (1 + t.Quantile(power)/t.Quantile(1-tail(i.Confidence)))
	return math.Min(math.Expm1(delta), math.MaxFloat64)
}

// SteinPairs returns how many pairs, including the pilot's, give an interval of a relative half
// width: 0.02 is ±2 %. Deciding once from a pilot keeps the confidence; stopping as soon as the
// interval is narrow does not.
//
// It is the two-stage procedure of C. Stein (A two-sample test for a linear hypothesis whose power
// is independent of the variance, Annals of Mathematical Statistics 16, 1945) with the pilot's
// signed-rank interval instead of its t interval: the width shrinks with the square root of the
// number. The few pairs of a pilot make its interval wide, which errs on the safe side.
//
// The result is at least MinPairs and the pilot, and at most 2^31-1, which can also mean that no
// number is enough.
func SteinPairs(base, other []float64, width, confidence float64) int {
	if !proper(confidence) || !(width > 0) {
		return maxPairs
	}
	d, _, _ := logRatios(base, other)
	least := min(maxPairs, max(MinPairs(confidence), len(base), len(other)))
	times := Ratio(base, other, confidence).halfWidth() / math.Log1p(width)
	n := math.Ceil(float64(len(d)) * times * times)
	if !(n < maxPairs) {
		return maxPairs
	}
	return max(least, int(n))
}
