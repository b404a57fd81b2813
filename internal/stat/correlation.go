package stat

import (
	"math"
	"slices"
)

const (
	// minFreedom bounds the degrees of freedom of a standard error that allows for correlation, and so does half of those
	// of independent values, up to enoughFreedom: far out, an interval of few values would be wider than it needs to be. maxCorrelation bounds what n_eff
	// says: beyond it, a few dozen values are a guess, and the interval warns instead.
	minFreedom     = 3
	enoughFreedom  = 5
	maxCorrelation = 0.8
	// independence is how likely independent values are before any is seen: intervals then cover 93 % at a correlation of 0.6.
	independence = 0.4
	// Fewer values than fewest say nothing about their correlation: their intervals assume that there is none, and warn.
	fewest = 6
	// With fewer values than fewBlocks, a strong correlation often goes unnoticed.
	fewBlocks = 12
	// fewIndependent is the effective number of values below which an interval warns.
	fewIndependent = 10
)

// likely is the confidence of the interval whose width gives the standard error, by Student's t. It
// leaves many values outside, so that a stall does not set its width.
const likely = 0.8

// correlate widens an interval that assumes independent values, for the correlation of v in time
// order, and sets SE and DF. narrow is the interval of the same values at the confidence likely; its exact one gives the
// spread, which few values round up by a tenth. The result is the wider of the distribution-free interval and the t interval.
func (i *Interval) correlate(v []float64, narrow Interval) {
	if !i.Bounded() || !narrow.Bounded() || i.N < 2 {
		return
	}
	by, df, spread := dependence(v)
	if !spread {
		return
	}
	i.DF = df
	i.SE = bounded(by * narrow.spread() / quantile(float64(i.N-1), narrow.exact))
	reach := i.SE * quantile(i.DF, i.Confidence)
	i.Lo, i.Hi = math.Min(i.Lo, bounded(i.Center-reach)), math.Max(i.Hi, bounded(i.Center+reach))
	i.warnCorrelated(v)
}

// warnCorrelated says that neighbors correlate, or that nobody can tell. How many independent values they count as rests
// on Kendall's estimate without its bias of -(1+4rho)/n (Note on bias in the estimation of autocorrelation, Biometrika
// 41, 1954).
func (i *Interval) warnCorrelated(v []float64) {
	n := float64(i.N)
	if i.N < fewBlocks {
		i.warn("%d blocks are too few to show whether neighboring blocks remain correlated", i.N)
		return
	}
	r, _ := neighbors(v)
	rho := math.Min(maxCorrelation, math.Max(0, (n*r+1)/(n-4)))
	independent := n * (1 - rho) / (1 + rho)
	if independent < fewIndependent || (n*r+1)/math.Sqrt(n) > 1.645 { // which independent values exceed in 1 case of 20
		i.warn("neighboring blocks remain correlated: %d count as %.0f independent ones", i.N, independent)
	}
}

// dependence returns what the correlation of v in time order makes of a standard error that assumes independent values: a
// factor, and the degrees of freedom that are left. spread is false if all values are equal.
//
// It treats v as a first-order autoregressive process and averages over the correlation rho of neighbors, from 0 to 0.9,
// instead of estimating it: a dozen values say little about rho, and an estimate by chance too low makes intervals too
// narrow, one by chance too high three times too wide. Each rho counts by its marginal likelihood, without the mean and
// the variance of the process (G. E. P. Box, G. C. Tiao, Bayesian Inference in Statistical Analysis, 1973, section 1.3),
// and by a prior: independent, or any other rho alike. Given rho, the
// mean has a t distribution of n-1 degrees of freedom; factor and freedom are those of the t distribution with the
// quantiles of the average at 95 and 99.5 %. A negative correlation does not narrow an interval.
//
// The likelihood is that of the normal scores of the ranks. The Hodges-Lehmann estimate follows the ranks of its values,
// so their correlation is the one that counts, and one stall cannot hide or feign it.
func dependence(v []float64) (factor, df float64, spread bool) {
	z, n := ranks(v), float64(len(v))
	squares := 0.0
	if len(v) < fewest {
		return 1, math.Max(1, n-1), true
	}
	for k, rank := range z {
		z[k] = math.Sqrt2 * math.Erfinv(2*rank/n)
		squares += z[k] * z[k]
	}
	if squares == 0 {
		return 1, math.Max(1, n-1), false
	}
	var of mixture
	for rho := 0.0; rho < 0.95; rho += 0.1 {
		rest, information := residual(z, rho)
		prior := (1 - independence) / 9
		if rho == 0 {
			prior = independence
		}
		of.add(prior*math.Sqrt((1-rho*rho)/information)*math.Pow(rest/squares, -(n-1)/2), math.Sqrt(rest/information*n/squares))
	}
	factor, df = of.student(n - 1)
	return factor, df, true
}

// residual returns the sum of the squared innovations of an autoregressive process around its mean, and what z tells
// about that mean, in units of the reciprocal variance of an innovation.
func residual(z []float64, rho float64) (rest, information float64) {
	first, step := 1-rho*rho, 1-rho
	information = first + float64(len(z)-1)*step*step
	mean := first * z[0] / information
	for k := 1; k < len(z); k++ {
		mean += step * (z[k] - rho*z[k-1]) / information
	}
	rest = first * (z[0] - mean) * (z[0] - mean)
	for k := 1; k < len(z); k++ {
		e := z[k] - mean - rho*(z[k-1]-mean)
		rest += e * e
	}
	return rest, information
}

// A mixture is a distribution that is Student's t of one of several scales.
type mixture struct{ weights, scales []float64 }

func (m *mixture) add(weight, scale float64) {
	m.weights, m.scales = append(m.weights, weight), append(m.scales, scale)
}

// student returns the scale and the degrees of freedom of the t distribution that has the mixture's quantiles at 95 and
// 99.5 %, where its parts have df.
func (m *mixture) student(df float64) (scale, freedom float64) {
	sum := total(m.weights)
	least, most := slices.Min(m.scales), slices.Max(m.scales)
	beyond := func(z float64) float64 { // the quantile that is z of a normal distribution
		t, p := deviate(z, df), math.Erfc(z/math.Sqrt2)
		return bisect(least*t, most*t, func(x float64) bool {
			outside := 0.0
			for k, s := range m.scales {
				outside += m.weights[k] / sum * math.Erfc(normal(x/s, df)/math.Sqrt2)
			}
			return outside > p
		})
	}
	const near, far = 1.959964, 2.807034
	at := beyond(near)
	ratio := beyond(far) / at
	freedom = bisect(math.Min(math.Max(minFreedom, math.Min(df/2-1, enoughFreedom)), df), df, func(f float64) bool { return deviate(far, f)/deviate(near, f) > ratio })
	return at / deviate(near, freedom), freedom
}

// bisect returns where below, which is true up to there, becomes false between lo and hi.
func bisect(lo, hi float64, below func(float64) bool) float64 {
	for range 20 {
		if mid := lo/2 + hi/2; below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// normal is the normal deviate that is exceeded as often as t is by Student's distribution, and deviate the reverse, within
// a thousandth (D. L. Wallace, Bounds on normal approximations, Annals of Mathematical Statistics 30, 1959).
func normal(t, df float64) float64 {
	return (8*df + 1) / (8*df + 3) * math.Sqrt(df*math.Log1p(t*t/df))
}

func deviate(z, df float64) float64 {
	z *= (8*df + 3) / (8*df + 1)
	return math.Sqrt(df * math.Expm1(z*z/df))
}

// neighbors returns the correlation of the ranks of neighbors, and whether there is any spread.
func neighbors(v []float64) (r float64, spread bool) {
	var c0, c1, last float64
	for _, rank := range ranks(v) {
		c0, c1, last = c0+rank*rank, c1+rank*last, rank
	}
	if c0 == 0 {
		return 0, false
	}
	return c1 / c0, true
}

// ranks returns the ranks of v around 0. Ties, up to rounding, share one.
func ranks(v []float64) []float64 {
	ordered := sorted(v)
	real := slices.DeleteFunc(slices.Clone(ordered), isRemote)
	rounding := 0.0
	if n := len(real); n > 0 {
		rounding = 2e-9 * (real[3*n/4]/2 - real[n/4]/2) // without overflow
	}
	rank, below, upTo := make([]float64, len(v)), 0, 0 // of ordered
	for i, x := range ordered {
		for below < len(v) && ordered[below] < x-rounding {
			below++
		}
		for upTo < len(v) && ordered[upTo] <= x+rounding {
			upTo++
		}
		rank[i] = float64(below+upTo-len(v)) / 2
	}
	out := make([]float64, len(v))
	for i, x := range v {
		at, _ := slices.BinarySearch(ordered, x)
		out[i] = rank[at]
	}
	return out
}

func bounded(x float64) float64 { return math.Max(-math.MaxFloat64, math.Min(x, math.MaxFloat64)) }
