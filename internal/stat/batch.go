package stat

import (
	"fmt"
	"math"
)

// Paired returns the ratio other/base of pairs in time order, the pairs behind it, and how many of
// the given pairs each of them averages (see batch). A warning reports averaging.
func Paired(base, other []float64, confidence float64) (ratio Interval, b, o []float64, size int) {
	b, o, size = batch(base, other, confidence)
	ratio = Ratio(b, o, confidence)
	if size > 1 {
		ratio.Warnings = append(ratio.Warnings, fmt.Sprintf("neighboring blocks are correlated: averaged in groups of %d", size))
	}
	return ratio, b, o, size
}

// batch makes pairs independent enough for Ratio: while the log ratios of neighbors in time are
// correlated, it averages neighbors (geometrically, in groups of 2, 4, …), if at least MinPairs
// remain. Pairs are in time order; size is 1 without averaging.
//
// Intervals that ignore a positive correlation are too narrow. The method of batch means (Law,
// Simulation Modeling and Analysis, 5th ed., section 9.5.3) corrects that without a model of the
// correlation.
func batch(base, other []float64, confidence float64) (b, o []float64, size int) {
	b, o, size = base, other, 1
	for len(b) == len(o) && len(b)/2 >= MinPairs(confidence) && correlated(b, o) {
		b, o, size = halve(b), halve(o), size*2
	}
	return b, o, size
}

// correlated tests lag 1 against 1.645/√n, which independent values exceed in 1 case of 20.
func correlated(base, other []float64) bool {
	d, _, _ := logRatios(base, other)
	if len(d) < 3 {
		return false
	}
	mean := 0.0
	for _, x := range d {
		mean += x / float64(len(d))
	}
	var c0, c1 float64
	for i, x := range d {
		c0 += (x - mean) * (x - mean)
		if i > 0 {
			c1 += (x - mean) * (d[i-1] - mean)
		}
	}
	return c0 > 0 && c1/c0 > 1.645/math.Sqrt(float64(len(d)))
}

// halve returns the geometric means of neighbors. The last three of an odd number make one.
func halve(v []float64) []float64 {
	out := make([]float64, len(v)/2)
	for i := range out {
		group := v[2*i : 2*i+2]
		if i == len(out)-1 {
			group = v[2*i:]
		}
		sum := 0.0
		for _, x := range group {
			sum += math.Log(x)
		}
		out[i] = math.Exp(sum / float64(len(group)))
	}
	return out
}
