package stat

import (
	"math"

	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// efficiency is that of the signed-rank interval relative to the t interval
// when the log ratios are normal (Hodges and Lehmann 1956). For heavier tails
// it is above 1, so what follows from it errs on the careful side.
const efficiency = 3 / math.Pi

// power is the probability with which Detectable's difference would have been shown.
const power = 0.8

// maxPairs bounds SteinPairs; more are never practical.
const maxPairs = math.MaxInt32

// Detectable returns the smallest relative difference that this many pairs with
// this spread could have shown with a power of 80 %: 0.05 is 5 %. It stands
// beside every "no difference".
//
// It uses the t approximation on log ratios, with their variance divided by the
// efficiency of the signed-rank interval. It is 0 when that cannot be told:
// fewer than MinPairs pairs, or pairs without spread.
func Detectable(base, other []float64, confidence float64) float64 {
	d, _, _ := logRatios(base, other)
	n := len(d)
	if n < 2 || !proper(confidence) || n < MinPairs(confidence) {
		return 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	reach := t.Quantile(1-tail(confidence)) + t.Quantile(power)
	delta := reach * gonum.StdDev(d, nil) / math.Sqrt(efficiency*float64(n))
	return math.Min(math.Expm1(delta), math.MaxFloat64)
}

// SteinPairs returns how many pairs, those of the pilot included, give an
// interval of the given relative half width: 0.02 is ±2 %. Deciding once from a
// pilot, with the pilot's own t quantile, keeps the confidence; looking at the
// interval after every pair and stopping when it is narrow does not.
//
// The number is inflated by pi/3 because the interval is that of the signed
// ranks, and is at least MinPairs and at least the pilot. It is at most 2^31-1,
// which also stands for "no number is enough".
//
// Source: C. Stein, A two-sample test for a linear hypothesis whose power is
// independent of the variance, Annals of Mathematical Statistics 16, 1945.
func SteinPairs(base, other []float64, halfWidth, confidence float64) int {
	d, _, _ := logRatios(base, other)
	least := min(maxPairs, max(MinPairs(confidence), len(base), len(other)))
	switch {
	case !proper(confidence) || !(halfWidth > 0):
		return maxPairs
	case len(d) < 2:
		return least // a pilot without spread tells nothing
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(len(d) - 1)}
	root := t.Quantile(1-tail(confidence)) * gonum.StdDev(d, nil) / math.Log1p(halfWidth)
	n := math.Ceil(root * root / efficiency)
	if !(n < maxPairs) {
		return maxPairs
	}
	return max(least, int(n))
}
