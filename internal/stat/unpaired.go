package stat

import "math"

// A Scatter is the spread of values around the mean of their own group, for groups that differ in size
// but scatter alike in relative terms.
type Scatter struct {
	Variance float64 // of logarithms
	DF       float64 // degrees of freedom; 0 means unknown
}

// ScatterOf pools the scatter of groups. Groups of one value, and values not above 0, say nothing.
func ScatterOf(groups ...[]float64) (s Scatter) {
	sum := 0.0
	for _, g := range groups {
		_, squares, n := logMean(g)
		sum, s.DF = sum+squares, s.DF+max(0, float64(n)-1)
	}
	if s.DF > 0 {
		s.Variance = sum / s.DF
	}
	return s
}

// LogMean estimates the geometric mean of values that are independent of each other, such as results of
// separate runs, with a t interval of their logarithms. It drops values not above 0 and warns. SE is
// relative, which is that of the logarithm.
func LogMean(v []float64, confidence float64) Interval {
	mean, squares, n := logMean(v)
	i := Interval{N: n, Center: mean}
	if dropped := len(v) - n; dropped > 0 {
		i.warn("%d of %s dropped: a ratio needs finite numbers above 0", dropped, plural(len(v), "value"))
	}
	switch {
	case n == 0:
		return i
	case n < 2:
		i.warn("1 value: its spread is unknown")
	case proper(confidence):
		i.DF = float64(n - 1)
		i.SE = math.Sqrt(squares / i.DF / float64(n))
		i.bound(i.SE, i.DF, confidence)
	}
	return i.exp()
}

// Unpaired estimates the ratio other/base of two groups of values that share nothing: the ratio of their
// geometric means. Without pairs, whatever changed between the groups is in the ratio.
//
// Few values, often three, know their own spread badly, so the standard error is that of the scatter that
// all groups of a table have in common, or the two groups' own if that is larger; the t interval has the
// degrees of freedom of common. One value says nothing about its spread: a group of one has no interval.
func Unpaired(base, other []float64, common Scatter, confidence float64) Interval {
	a, aa, n := logMean(base)
	b, bb, m := logMean(other)
	i := Interval{}
	if dropped := len(base) - n + len(other) - m; dropped > 0 {
		i.warn("%d of %s dropped: a ratio needs finite numbers above 0", dropped, plural(len(base)+len(other), "value"))
	}
	if n == 0 || m == 0 {
		return i
	}
	i.N, i.Center = n+m, b-a
	if n < 2 || m < 2 || !(common.DF > 0) || !proper(confidence) {
		i.warn("no interval: it needs at least 2 results on each side, and there are %d and %d", n, m)
		return i.exp()
	}
	of := func(squares float64, n int) float64 { return squares / float64(n-1) / float64(n) }
	shared := common.Variance * (1/float64(n) + 1/float64(m))
	i.SE, i.DF = math.Sqrt(max(shared, of(aa, n)+of(bb, m))), common.DF
	i.bound(i.SE, i.DF, confidence)
	return i.exp()
}

// Quotient estimates b/a from two ratios or means that share nothing and have standard errors of their
// logarithms, with Welch and Satterthwaite's degrees of freedom.
func Quotient(a, b Interval, confidence float64) Interval {
	i := Interval{}
	if a.N == 0 || b.N == 0 || !positive(a.Center) || !positive(b.Center) {
		return i
	}
	i.N, i.Center = a.N+b.N, math.Log(b.Center)-math.Log(a.Center)
	va, vb := a.SE*a.SE, b.SE*b.SE
	if !(a.DF > 0) || !(b.DF > 0) || !proper(confidence) {
		i.warn("no interval: it needs at least 2 results on each side")
		return i.exp()
	}
	i.SE = math.Sqrt(va + vb)
	if i.DF = min(a.DF, b.DF); va+vb > 0 {
		i.DF = (va + vb) * (va + vb) / (va*va/a.DF + vb*vb/b.DF)
	}
	i.bound(i.SE, i.DF, confidence)
	return i.exp()
}

// logMean returns the mean of the logarithms of the values above 0, the sum of their squared distances
// from it, and their number.
func logMean(v []float64) (mean, squares float64, n int) {
	logs := make([]float64, 0, len(v))
	for _, x := range v {
		if positive(x) {
			logs = append(logs, math.Log(x))
		}
	}
	for _, y := range logs {
		mean += y / float64(len(logs))
	}
	for _, y := range logs {
		squares += (y - mean) * (y - mean)
	}
	return mean, squares, len(logs)
}
