package stat

import (
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
)

// remote stands for infinity among values whose ranks count. Means of two values of which one is remote
// stay beyond every real one, and their sum does not overflow.
const remote = math.MaxFloat64 / 16

func isRemote(x float64) bool { return math.Abs(x) >= remote/4 }

// An estimator is an estimator based on ranks, with an interval that assumes independent values.
type estimator func(v []float64, confidence float64) Interval

// of estimates from values in time order, and widens the interval for correlation. Values can be infinite:
// a ratio of 0 has no logarithm, but it has a rank, the lowest. The estimate is infinite where more of the
// values are than it withstands: 29 % for the Hodges-Lehmann estimate, half for the median.
func (e estimator) of(v []float64, confidence float64, noun string, i Interval) Interval {
	near, from, infinite := approach(v)
	warnings := i.Warnings
	i = e(near, confidence)
	i.Warnings = warnings
	i.warnUnbounded(confidence, noun)
	i.correlate(near, e(near, likely))
	i.exact = 0
	if infinite > 0 {
		i.leave(from)
	}
	return i
}

// approach moves values so that the median of the finite ones is 0, and replaces infinite ones by remote
// ones. A value of each kind then averages to that median, which is neutral. It changes nothing if all
// are finite.
func approach(v []float64) (near []float64, from float64, infinite int) {
	var real []float64
	for _, x := range v {
		if finite(x) {
			real = append(real, x)
		}
	}
	if infinite = len(v) - len(real); infinite == 0 {
		return v, 0, 0
	}
	from = independentMedian(real, 0).Center
	for _, x := range v {
		near = append(near, math.Max(-remote, math.Min(bounded(x-from), remote)))
	}
	return near, from, infinite
}

// leave undoes approach.
func (i *Interval) leave(from float64) {
	back := func(x float64) float64 {
		if isRemote(x) {
			return math.Copysign(math.Inf(1), x)
		}
		return x + from
	}
	i.Center = back(i.Center)
	if i.Bounded() {
		i.Lo, i.Hi = back(i.Lo), back(i.Hi)
	}
}

// spread returns half the width of an interval. With one remote end it is the distance of the other, with
// two it is 0, which means unknown.
func (i Interval) spread() float64 {
	half, n := 0.0, 0.0
	for _, end := range []float64{i.Lo, i.Hi} {
		if d := math.Abs(end/2 - i.Center/2); !isRemote(2 * d) {
			half, n = half+d, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return 2 * half / n
}

// Reason returns why there is no ratio although there are pairs, "" if pairs are lacking.
func (i Interval) Reason() string {
	if n := len(i.Warnings); i.N == 0 && n > 0 && strings.HasPrefix(i.Warnings[n-1].String(), "no ") {
		return i.Warnings[n-1].String()
	}
	return ""
}

// finish removes an infinite estimate, an infinite end, or an interval with no end that says anything, and says why.
// lowest is the least possible lower end. what names the estimate.
func (i Interval) finish(lowest float64, v []float64, what, noun string) Interval {
	infinite := 0
	for _, x := range v {
		if math.IsInf(x, 0) && x != lowest {
			infinite++
		}
	}
	switch {
	case math.IsInf(i.Center, 0) && i.Center != lowest:
		none := Interval{Warnings: i.Warnings}
		none.warn("no %s: %d of %s are infinite", lang.Stored(what), infinite, plural(i.N, noun))
		return none
	case i.Bounded() && math.IsInf(i.Hi, 1) && i.Lo > lowest:
		i.Hi = math.MaxFloat64
		i.warn("no upper end: %d of %s are infinite", infinite, plural(i.N, noun))
	case i.Bounded() && (math.IsInf(i.Hi, 1) || math.IsInf(i.Lo, -1) && !math.IsInf(lowest, -1)):
		i.Lo, i.Hi, i.Confidence, i.SE, i.DF = 0, 0, 0, 0, 0
		i.warn("no interval: %d of %s are infinite", infinite, plural(i.N, noun))
	}
	return i
}
