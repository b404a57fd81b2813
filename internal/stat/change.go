package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Change estimates how a ratio changed between two groups of runs: b ÷ a, a ratio of ratios, with the
// run as a random effect. N counts the runs of both groups, and DF is N-2.
//
// It is the mixed-effects regression of log ratios on the group, with one Tau for both groups by
// Paule and Mandel's estimate and t of N-2 degrees of freedom (Knapp, Hartung, Statistics in Medicine
// 22, 2003; the factor q is again at most 1: see Pool). For runs of equal precision it is Student's
// test on their log ratios. Welch's test, with a Tau for each group, is no better for groups of equal
// size and exceeds the error rate for others: 12 intervals at 95 % together miss
// in 8 % of comparisons of 5 runs with 2.
//
// One run a side says nothing about the spread between runs. The interval then rests on tau, with df
// degrees of freedom, from earlier runs; with df 0 there is no interval. More runs ignore tau and df.
func Change(a, b []Interval, tau, df, confidence float64) Pooled {
	ya, sa, pa := logEstimates(a)
	yb, sb, pb := logEstimates(b)
	c := Pooled{K: pa.K + pb.K}
	c.Warnings = slices.Concat(pa.Warnings, pb.Warnings)
	if pa.N == 0 || pb.N == 0 {
		return c
	}
	c.N = pa.N + pb.N
	if c.N > 2 {
		tau, df = commonTau(ya, sa, yb, sb), float64(c.N-2)
	}
	c.Tau, pa.Tau, pb.Tau = tau, tau, tau
	pa.mean(ya, sa)
	pb.mean(yb, sb)
	c.Center = pb.Center - pa.Center
	c.Within, c.Between, c.SE = math.Hypot(pa.Within, pb.Within), math.Hypot(pa.Between, pb.Between), math.Hypot(pa.SE, pb.SE)
	switch {
	case !proper(confidence):
		c.warn("no interval: confidence %g is not between 0 and 1", confidence)
	case df < 1:
		c.warn("1 run a side: the spread between runs is unknown")
	default:
		c.DF = df
		c.bound(c.SE, c.DF, confidence)
	}
	c.Interval = c.exp()
	return c
}

// commonTau is pauleMandel for two groups around a mean each.
func commonTau(ya, sa, yb, sb []float64) float64 {
	want := float64(len(ya) + len(yb) - 2)
	q := func(tau2 float64) float64 { return heterogeneity(ya, sa, tau2) + heterogeneity(yb, sb, tau2) }
	const least = 1e-18 // Tau of 1e-9 instead of 0: inverse variances must be finite
	if q(least) <= want {
		return 0
	}
	lo, hi := 0.0, least
	for q(hi) > want {
		lo, hi = hi, 4*hi
	}
	return tauBetween(lo, hi, q, want)
}

// shown is the probability with which RunsFor shows a change.
const shown = 0.9

// maxRuns bounds RunsFor; more are not practical.
const maxRuns = 1000

// RunsFor returns how many runs a side show a relative change (0.1 is 10 %, up or down) with a power
// of 90 %, if single runs of one side differ by sd, a standard deviation of log ratios that includes
// their own standard errors. The result is 2 to 1000, which can also mean that no number is enough.
//
// It approximates the noncentral t by a normal distribution of variance 1+t²/2ν (Johnson, Welch,
// Biometrika 31, 1940), because with few runs the estimated spread varies as much as the difference.
func RunsFor(sd, change, confidence float64) int {
	k := 2
	for ; k < maxRuns; k++ {
		df := float64(2*k - 2)
		t := quantile(df, confidence)
		reach := t + mathext.NormalQuantile(shown)*math.Sqrt(1+t*t/(2*df))
		if math.Sqrt(2/float64(k))*sd*reach <= math.Log1p(change) {
			break
		}
	}
	return k
}
