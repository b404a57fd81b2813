package stat

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// A Scatter is the spread of values around the mean of their own group, for groups that differ in size
// but scatter alike in relative terms.
type Scatter struct {
	Variance float64 // of logarithms
	DF       float64 // degrees of freedom; 0 means unknown
	Alike    float64 // what Variance says about one group, in degrees of freedom, which can be infinite
}

// ScatterOf pools the scatter of groups. It leaves out, one after the other, groups that scatter more than all others by an
// F test, so that a noisy group says nothing about the rest. How alike the rest scatter sets Alike: the degrees of freedom
// of the distribution from which their variances come (G. K. Smyth, Statistical Applications in Genetics 3, 2004). Groups
// of one value, and values not above 0, say nothing.
func ScatterOf(groups ...[]float64) (s Scatter) {
	var each []Scatter
	for _, g := range groups {
		if _, squares, n := logMean(g); n > 1 {
			each = append(each, Scatter{Variance: squares / float64(n-1), DF: float64(n - 1)})
		}
	}
	slices.SortFunc(each, func(a, b Scatter) int { return cmp.Compare(a.Variance, b.Variance) })
	kept := 0
	for _, g := range each {
		if s.DF > 0 && float64(len(each))*exceeds(g, s) < unlike {
			break
		}
		sum := s.DF + g.DF
		s.Variance, s.DF = (s.DF*s.Variance+g.DF*g.Variance)/sum, sum
		kept++
	}
	s.Alike = likeness(each[:kept])
	return s
}

// likeness returns Alike of groups, infinite if their variances differ by no more than chance makes them.
func likeness(groups []Scatter) float64 {
	var logs []float64
	chance, mean := 0.0, 0.0
	for _, g := range groups {
		if g.Variance > 0 {
			logs = append(logs, math.Log(g.Variance)-mathext.Digamma(g.DF/2)+math.Log(g.DF/2))
			chance += mathext.Zeta(2, g.DF/2) // the trigamma function
		}
	}
	n := float64(len(logs))
	if n < 2 {
		return math.Inf(1)
	}
	mean = total(logs) / n
	excess := -chance / n
	for _, x := range logs {
		excess += (x - mean) * (x - mean) / (n - 1)
	}
	if excess <= 0 {
		return math.Inf(1)
	}
	return 2 * bisect(0.01, 1000, func(x float64) bool { return mathext.Zeta(2, x) > excess })
}

// unlike is the probability below which a group scatters more than the rest, after Bonferroni's correction.
const unlike = 0.01

// exceeds is the probability with which groups of equal scatter differ as much as a does from b, by Fisher's F.
func exceeds(a, b Scatter) float64 {
	if b.Variance == 0 {
		return 0
	}
	return mathext.RegIncBeta(b.DF/2, a.DF/2, b.DF/(b.DF+a.DF*a.Variance/b.Variance))
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
// Few values, often three, estimate their own spread poorly, so the standard error is that of the scatter that
// groups of a table have in common, or the two groups' own if that is larger, with Welch and Satterthwaite's degrees of
// freedom. One value says nothing about its spread: a group of one has no interval.
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
	va, vb := aa/float64(n-1)/float64(n), bb/float64(m-1)/float64(m)
	variance, df := common.Variance, common.DF
	if pair := float64(n + m - 2); common.Alike+pair < df {
		df = common.Alike + pair
		variance = (common.Alike*common.Variance + aa + bb) / df
	}
	own, shared := va+vb, variance*(1/float64(n)+1/float64(m))
	i.SE, i.DF = math.Sqrt(max(shared, own)), df
	if own > shared {
		i.DF = satterthwaite(va, float64(n-1), vb, float64(m-1))
	}
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
	i.DF = satterthwaite(va, a.DF, vb, b.DF)
	i.bound(i.SE, i.DF, confidence)
	return i.exp()
}

// satterthwaite returns the degrees of freedom of the sum of two variances that have their own.
func satterthwaite(va, fa, vb, fb float64) float64 {
	if !(va+vb > 0) {
		return min(fa, fb)
	}
	return (va + vb) * (va + vb) / (va*va/fa + vb*vb/fb)
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
