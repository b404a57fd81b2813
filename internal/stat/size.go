package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// power is the probability with which Detectable's difference would have been shown.
const power = 0.8

// maxPairs bounds SteinPairs; more are never practical.
const maxPairs = math.MaxInt32

// halfWidth returns half the width of the interval of a ratio on the logarithmic
// scale, 0 when there is no interval. Unlike a standard deviation, it does not follow a
// single stall.
func (i Interval) halfWidth() float64 {
	if !i.Bounded() || i.Lo <= 0 {
		return 0
	}
	return (math.Log(i.Hi) - math.Log(i.Lo)) / 2
}

// Detectable returns the smallest relative difference that a ratio's pairs, with their
// number and spread, could have shown with a power of 80 %: 0.05 is 5 %. It qualifies
// every "no difference".
//
// A difference shows when the interval excludes 1, so it is the interval's half
// width plus what the estimate can err towards 1: in 20 % of runs, by the t
// approximation, the quantile of the power instead of that of the confidence. It is 0
// when it cannot be known: fewer than MinPairs pairs, or pairs without spread.
func (i Interval) Detectable() float64 {
	half := i.halfWidth()
	if half == 0 || i.N < 2 {
		return 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(i.N - 1)}
	delta := half * (1 + t.Quantile(power)/t.Quantile(1-tail(i.Confidence)))
	return math.Min(math.Expm1(delta), math.MaxFloat64)
}

// SteinPairs returns how many pairs, including those of the pilot, give an interval
// of the given relative half width: 0.02 is ±2 %. Deciding once from a pilot keeps the
// confidence; stopping as soon as the interval is narrow does not.
//
// It is the two-stage procedure of C. Stein (A two-sample test for a linear
// hypothesis whose power is independent of the variance, Annals of Mathematical
// Statistics 16, 1945) with the signed-rank interval of the pilot instead
// of its t interval: the width shrinks with the square root of the number. The
// pilot's few pairs make its interval wide, which errs on the careful side.
//
// The result is at least MinPairs and the pilot, and at most 2^31-1, which also means
// "no number is enough".
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
