package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Change estimates how a ratio changed between two groups of runs: b ÷ a, a ratio of ratios, with the
// run as a random effect. N counts the runs of both groups.
//
// It is the mixed-effects regression of log ratios on the group, with one Tau for both groups, which their
// runs show around the mean of each and which is moved toward what is expected, as in Pool. Welch's test, with a
// Tau for each group, is no better for groups of equal size and exceeds the error rate for others: 12 intervals
// at 95 % together miss in 8 % of comparisons of 5 runs with 2.
//
// One run a side says nothing about the spread between runs. The interval then rests on what earlier runs have
// shown; with a Spread of 0 degrees of freedom there is none. Earlier runs were perhaps alike because they followed
// each other at once, so they cannot show less than UsualTau, only more.
func Change(a, b []Interval, expected Spread, confidence float64) Pooled {
	ya, sa, pa := logEstimates(a)
	yb, sb, pb := logEstimates(b)
	c := Pooled{K: pa.K + pb.K}
	c.Warnings = slices.Concat(pa.Warnings, pb.Warnings)
	if pa.N == 0 || pb.N == 0 {
		return c
	}
	c.N = pa.N + pb.N
	if c.N == 2 && expected.DF > 0 {
		expected.Tau = math.Max(expected.Tau, UsualTau)
	}
	known := c.spread(expected, [][]float64{ya, yb}, [][]float64{sa, sb})
	pa.Tau, pb.Tau = c.Tau, c.Tau
	pa.mean(ya, sa)
	pb.mean(yb, sb)
	c.Center = pb.Center - pa.Center
	c.Within, c.Between, c.SE = math.Hypot(pa.Within, pb.Within), math.Hypot(pa.Between, pb.Between), math.Hypot(pa.SE, pb.SE)
	switch {
	case !proper(confidence):
		c.warn("no interval: confidence %g is not between 0 and 1", confidence)
	case c.N == 2 && expected.DF < 1:
		c.warn("1 run a side: the spread between runs is unknown")
	default:
		if c.DF = float64(c.N - 2); expected.DF > 0 {
			c.freedom(known, freedomOf(a, b))
		}
		c.bound(c.SE, c.DF, confidence)
	}
	c.Interval = c.exp()
	return c
}

// shown is the probability with which RunsFor shows a change.
const shown = 0.9

// maxRuns bounds RunsFor; more are not practical.
const maxRuns = 1000

// RunsFor returns how many runs a side show a relative change (0.1 is 10 %, up or down) with a power
// of 90 %, if runs differ by tau beyond their own standard errors, own. The result is 2 to 1000, which can also mean
// that no number is enough.
//
// It approximates the noncentral t by a normal distribution of variance 1+t²/2ν (Johnson, Welch,
// Biometrika 31, 1940), because with few runs the estimated spread varies as much as the difference.
func RunsFor(tau, own, change, confidence float64) int {
	informs := UsualTau * UsualTau / (UsualTau*UsualTau + own*own)
	k := 2
	for ; k < maxRuns; k++ {
		free := float64(2*k - 2)
		known := Usual().given(Spread{tau, free * informs * informs})
		// As many degrees of freedom as the runs have, and those of what is expected.
		df := free + known.DF - free*informs*informs
		t := quantile(df, confidence)
		reach := t + mathext.NormalQuantile(shown)*math.Sqrt(1+t*t/(2*df))
		if math.Sqrt(2/float64(k))*math.Hypot(known.Tau, own)*reach <= math.Log1p(change) {
			break
		}
	}
	return k
}
