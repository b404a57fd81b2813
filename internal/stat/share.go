package stat

import (
	"math"

	"github.com/weir-bench/weir/internal/lang"
)

// Share estimates a share of all, as of the responses that take longer than a time: the sum of part
// over that of whole, both by block in time order, with part <= whole. SE is on the logit scale, on
// which the interval is symmetric, so that it stays within 0 to 1. There is none for fewer blocks
// than a median needs (MinPairs).
//
// What differs between blocks sets the width, never the number of responses: those of one block
// share a path, a moment and their stalls. The variance is that of a ratio of sums (W. G. Cochran,
// Sampling Techniques, 3rd ed. 1977, section 6.4); neighboring blocks correlate as in a ratio's
// interval (see dependence). It is not the robust spread used there: in a tail, the few bad blocks
// are the quantity, not a disturbance.
func Share(part, whole []float64, confidence float64) Interval {
	i := Interval{N: len(part)}
	sum, all := 0.0, 0.0
	for b := range part {
		sum, all = sum+part[b], all+whole[b]
	}
	if i.Center = sum / all; !finite(i.Center) {
		return Interval{Warnings: []lang.Text{lang.T("no share: the sum of all is not a number above 0")}}
	}
	if need := MinPairs(confidence); i.N < need || !(i.Center > 0 && i.Center < 1) {
		i.warn("an interval needs %d blocks, and a share between 0 and 1", need)
		return i
	}
	n, squares := float64(i.N), 0.0
	excess := make([]float64, i.N)
	for b := range part {
		excess[b] = (part[b] - i.Center*whole[b]) * n / all
		squares += excess[b] * excess[b]
	}
	factor, df, _ := dependence(excess)
	i.DF = df
	i.SE = factor * math.Sqrt(squares/(n-1)/n) / (i.Center * (1 - i.Center))
	if !finite(i.SE) {
		i.SE, i.DF = 0, 0
		i.warn("no interval: the numbers are too large")
		return i
	}
	i.Confidence = confidence
	reach, logit := i.SE*quantile(i.DF, confidence), math.Log(i.Center/(1-i.Center))
	i.Lo, i.Hi = 1/(1+math.Exp(reach-logit)), 1/(1+math.Exp(-reach-logit))
	return i
}
