package stat

import (
	"math"
	"slices"
)

const (
	// maxCorrelation and minFreedom bound the widening: beyond them, an estimate from a few dozen
	// values is a guess, and the interval warns instead.
	maxCorrelation = 0.8
	minFreedom     = 3
	// With fewer values than fewBlocks, a strong correlation often goes unnoticed.
	fewBlocks = 12
	// fewIndependent is the effective number of values below which an interval warns.
	fewIndependent = 10
)

// likely is the confidence of the interval whose width gives the standard error, by Student's t. It
// leaves many values outside, so that a stall does not set its width.
const likely = 0.8

// correlate widens an interval that assumes independent values, for the correlation of v in time
// order, and sets SE and DF. narrow is the interval of the same values at the confidence likely.
//
// It treats v as a first-order autoregressive process with correlation rho of neighbors: n values
// then say as much about the center as n(1-rho)/(1+rho) independent ones. Two errors of the usual
// estimate of rho would make intervals too narrow. Its bias of -(1+4rho)/n is removed (M. G.
// Kendall, Note on bias in the estimation of autocorrelation, Biometrika 41, 1954). Its noise sets
// DF: by Satterthwaite's approximation, the estimated variance has half as many degrees of freedom
// as there are independent values. A negative correlation does not narrow an interval.
//
// rho is that of the ranks. The Hodges-Lehmann estimate follows the ranks of its values, so their
// correlation is the one that counts, and one stall cannot hide or feign it. The result is the wider
// of the distribution-free interval and the t interval.
func (i *Interval) correlate(v []float64, narrow Interval) {
	n := float64(i.N)
	if !i.Bounded() || !narrow.Bounded() || i.N < 2 {
		return
	}
	r, spread := neighbors(v)
	if !spread {
		return
	}
	unbiased := (n*r + 1) / math.Max(1, n-4)
	rho := math.Min(maxCorrelation, math.Max(0, unbiased))
	independent := n * (1 - rho) / (1 + rho)
	i.DF = math.Min(n-1, math.Max(minFreedom, independent/2-1))
	i.SE = bounded(math.Sqrt(n/independent) * narrow.spread() / quantile(n-1, narrow.Confidence))
	reach := i.SE * quantile(i.DF, i.Confidence)
	i.Lo, i.Hi = math.Min(i.Lo, bounded(i.Center-reach)), math.Max(i.Hi, bounded(i.Center+reach))

	switch {
	case i.N < fewBlocks:
		i.warn("%d blocks are too few to show whether neighboring blocks remain correlated", i.N)
	case independent < fewIndependent || (n*r+1)/math.Sqrt(n) > 1.645: // which independent values exceed in 1 case of 20
		i.warn("neighboring blocks remain correlated: %d count as %.0f independent ones", i.N, independent)
	}
}

// neighbors returns the correlation of the ranks of neighbors, and whether there is any spread.
func neighbors(v []float64) (r float64, spread bool) {
	if len(v) == 0 {
		return 0, false
	}
	ordered := sorted(v)
	real := slices.DeleteFunc(slices.Clone(ordered), isRemote)
	rounding := 0.0
	if n := len(real); n > 0 {
		rounding = 2e-9 * (real[3*n/4]/2 - real[n/4]/2) // without overflow
	}
	var c0, c1, last float64
	for i, x := range v {
		below, _ := slices.BinarySearch(ordered, x-rounding)
		upTo, _ := slices.BinarySearch(ordered, math.Nextafter(x+rounding, math.Inf(1)))
		rank := float64(below+upTo-len(v)) / 2 // ties share one; the mean is 0
		c0 += rank * rank
		if i > 0 {
			c1 += rank * last
		}
		last = rank
	}
	if c0 == 0 {
		return 0, false
	}
	return c1 / c0, true
}

func bounded(x float64) float64 { return math.Max(-math.MaxFloat64, math.Min(x, math.MaxFloat64)) }
