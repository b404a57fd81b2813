package stat

import (
	"math"
	"slices"
)

const (
	// deviations is how far a value is far from the others, in median absolute deviations: 3.4 standard deviations of a
	// normal distribution.
	deviations = 5
	// oneSided is the probability below which far values lie on one side by chance.
	oneSided = 0.05
)

// warnSkewed says that an interval is bounded but its values are a mixture with a second state on one side. The
// Hodges-Lehmann estimate then lies between the states, and more values narrow the interval around a ratio that few blocks
// have. Of values that are symmetric around their median, however heavy their tails, as many are far above as below, so a
// sign test of those that are far is wrong in at most oneSided of all cases.
func (i *Interval) warnSkewed(v []float64) {
	v = slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return !finite(x) })
	if above, below := farSides(v); i.Bounded() && signTest(above, below) <= oneSided {
		i.warn("%d ratios are far above the others and %d far below: blocks had two states, and the interval can miss that of most; see every trial for what differed then, as more blocks do not help", above, below)
	}
}

// farSides counts the values that are far from the median, on either side; none if at least half of them are equal.
func farSides(v []float64) (above, below int) {
	center, off := Middle(v), make([]float64, len(v))
	for k, x := range v {
		off[k] = math.Abs(x - center)
	}
	bound := deviations * Middle(off)
	for _, x := range v {
		switch {
		case bound < deviations*1e-9:
		case x-center > bound:
			above++
		case center-x > bound:
			below++
		}
	}
	return above, below
}

// signTest is the two-sided probability of numbers that are as different, if either side is as likely (W. J. Conover,
// Practical Nonparametric Statistics, 3rd ed., section 3.4).
func signTest(a, b int) float64 {
	p, n := 0.0, a+b
	for k := max(a, b); k <= n; k++ {
		more, _ := math.Lgamma(float64(n) + 1)
		x, _ := math.Lgamma(float64(k) + 1)
		y, _ := math.Lgamma(float64(n-k) + 1)
		p += math.Exp(more - x - y - float64(n)*math.Ln2)
	}
	return math.Min(1, 2*p)
}
