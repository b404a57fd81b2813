package stat

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/lang"
)

// Ratio estimates the paired ratio other/base of pairs in time order: the Hodges-Lehmann estimate
// (pseudo-median) of the log ratios with the exact interval of the Wilcoxon signed-rank test,
// exponentiated, and widened for correlation between neighbors (see correlate). Swapping the
// arguments gives the reciprocals.
//
// It assumes log ratios that are symmetric around their median, not normal, and warns of those that are not (see
// warnSkewed). Ties only widen the interval.
//
// A pair with a value of 0 counts: its ratio is 0 and smaller than every other, as that of a pair in which
// other is nearly 0. If the ratios of 0 are too many for a lower bound above 0, the interval begins at 0;
// if they are too many for an estimate, that is 0. A ratio is infinite if base is 0 or other is infinite.
// Too many of these leave no upper end, and then no ratio. Ratio drops pairs that say nothing, such as two
// values of 0, and warns.
//
// Source: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.2, 3.3.
func Ratio(base, other []float64, confidence float64) Interval {
	d, _, warnings := logRatios(base, other)
	i := estimator(independentCenter).of(d, confidence, "pair", Interval{Warnings: warnings})
	i.warnSkewed(d)
	return i.finish(math.Inf(-1), d, "ratio", "ratio").exp()
}

// MedianRatio estimates the median of the paired ratios other/base, with the order-statistic interval. It needs fewer
// finite ratios than Ratio, whose averages are infinite where one of two ratios is. Center and Hi are math.MaxFloat64
// where too many ratios are infinite for an end.
func MedianRatio(base, other []float64, confidence float64) Interval {
	d, _, warnings := logRatios(base, other)
	return estimator(independentMedian).of(d, confidence, "pair", Interval{Warnings: warnings}).exp()
}

// independentCenter is the Hodges-Lehmann estimate with the signed-rank interval.
func independentCenter(d []float64, confidence float64) Interval {
	rank, exact := 0, 0.0
	if proper(confidence) {
		rank, exact = signedRank(len(d), confidence)
	}
	return walsh(sorted(d)).interval(len(d), rank, confidence, exact)
}

// Median estimates the median of one cell from values in time order: the order-statistic interval,
// widened for correlation between neighbors (see correlate). It assumes nothing about the shape of
// the distribution. If no value is negative, neither is the interval. Infinite values count, such as the
// response time of a request without a reply; too many of them leave no upper end, and then no median. It
// drops values that are not numbers and warns. Source: as Ratio, section 3.6 (the interval of the sign
// test).
func Median(v []float64, confidence float64) Interval {
	kept := slices.DeleteFunc(slices.Clone(v), math.IsNaN)
	i := Interval{}
	if dropped := len(v) - len(kept); dropped > 0 {
		i.warn("%d of %s dropped: not a number", dropped, plural(len(v), "value"))
	}
	i = estimator(independentMedian).of(kept, confidence, "value", i)
	if len(kept) > 0 && slices.Min(kept) >= 0 {
		i.Lo = math.Max(0, i.Lo)
	}
	return i.finish(0, kept, "median", "value")
}

// independentMedian is the median with the order-statistic interval.
func independentMedian(v []float64, confidence float64) Interval {
	rank, exact := 0, 0.0
	if proper(confidence) {
		rank, exact = binomialRank(len(v), confidence)
	}
	return values(v).interval(len(v), rank, confidence, exact)
}

// Outliers returns the indices of pairs whose log ratio is more than five median absolute
// deviations from the median: 3.4 standard deviations of a normal distribution, one pair in 1500.
// Ratio keeps them; a report names them. It returns none if at least half of the pairs agree to a
// billionth, because the deviation is then meaningless.
func Outliers(base, other []float64) []int {
	d, index, _ := logRatios(base, other)
	for i := len(d) - 1; i >= 0; i-- {
		if !finite(d[i]) { // a stall, which is reported as one
			d, index = slices.Delete(d, i, i+1), slices.Delete(index, i, i+1)
		}
	}
	center := Median(d, 0).Center
	far := make([]float64, len(d))
	for i, x := range d {
		far[i] = math.Abs(x - center)
	}
	mad := Median(far, 0).Center
	if mad < 1e-9 {
		return nil
	}
	var out []int
	for i, x := range far {
		if x > 5*mad {
			out = append(out, index[i])
		}
	}
	return out
}

func (i *Interval) warnUnbounded(confidence float64, noun string) {
	switch {
	case i.Bounded():
	case !proper(confidence):
		i.warn("no interval: confidence %g is not between 0 and 1", confidence)
	default:
		i.warn("%s: an interval at %s needs at least %d", plural(i.N, noun), percent(confidence), MinPairs(confidence))
	}
}

// logRatios returns log(other/base) of all pairs that have a ratio, and their indices.
func logRatios(base, other []float64) (d []float64, index []int, warnings []lang.Text) {
	if len(base) != len(other) {
		return nil, nil, []lang.Text{lang.T("%d base values and %d others are not pairs", len(base), len(other))}
	}
	zeros := 0
	for i := range base {
		if base[i] >= 0 && other[i] >= 0 { // the logarithm of 0 is -Inf, and two infinities have no difference
			if x := math.Log(other[i]) - math.Log(base[i]); !math.IsNaN(x) {
				d, index = append(d, x), append(index, i)
				if math.IsInf(x, -1) {
					zeros++
				}
			}
		}
	}
	if dropped := len(base) - len(d); dropped > 0 {
		warnings = append(warnings, lang.T("%d of %s dropped: they have no ratio", dropped, plural(len(base), "pair")))
	}
	if zeros > 0 {
		warnings = append(warnings, lang.T("ratios of 0 count as the smallest: %d of %d", zeros, len(d)))
	}
	return d, index, warnings
}

func positive(v float64) bool { return v > 0 && finite(v) }
