package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// A Pooled is the ratio behind several runs. Interval is that of the long-run ratio: N is the number
// of runs in it, SE is of its logarithm and has two parts, Within and Between.
type Pooled struct {
	Interval
	// Tau is the between-run standard deviation of log ratios, beyond what the runs' own standard
	// errors explain, on which the interval rests: what the runs show and what was expected; 0.05 is about 5 %.
	Tau float64 `json:"tau"`
	// Shown is the part of Tau that the runs show by themselves; 0 means that their own errors explain all.
	// Then Most is how large it can still be, with 95 % confidence.
	Shown   float64 `json:"tauShown"`
	Most    float64 `json:"tauMost,omitempty"`
	Within  float64 `json:"within"`  // what the spread inside the runs contributes to SE
	Between float64 `json:"between"` // what the spread between the runs contributes to SE
	// Next is the prediction interval: what one more run of the same kind will show, with 95 %
	// confidence by itself. It needs four runs.
	Next Interval `json:"next,omitzero"`
	K    int      `json:"k"` // all runs; N of them have a ratio
}

// nextConfidence is the confidence of Next, which is never compared.
const nextConfidence = 0.95

// minNext is the fewest runs for Next: with three, t has one degree of freedom and the interval says
// nothing.
const minNext = 4

// Pool estimates the ratio behind the ratios of several runs, with the run as a random effect: what
// differs between runs but not within them (memory layout, the state of the host) belongs to the
// uncertainty. It assumes that the runs' log ratios are about normal around one mean.
//
// Tau is what the runs show, by Paule and Mandel's estimate (NBS J. Res. 87, 1982; Veroniki et al., Research
// Synthesis Methods 7, 2016, recommend it), moved toward what is expected: few runs often show 0 where
// there is a spread, and an interval must not rest on that. The interval is the inverse-variance one of Hartung and
// Knapp (Statistics in Medicine 20, 2001), with t of Satterthwaite's degrees of freedom of both parts of its
// variance. Next is from Higgins, Thompson, Spiegelhalter (JRSS A 172, 2009), with the error of the new run
// itself added.
//
// Pool drops runs without a ratio and warns. If the ratio of a run is 0, as that of a network that stalls
// in a third of the blocks, there is no mean logarithm and no ratio. A single run has no interval: see
// PoolKnown.
func Pool(runs []Interval, confidence float64) Pooled {
	return PoolExpecting(runs, Usual(), confidence)
}

// PoolExpecting is Pool with another expectation of the spread: see Expected. Without one (0 degrees of freedom),
// the interval rests on the runs alone, with t of one degree of freedom less than runs.
func PoolExpecting(runs []Interval, expected Spread, confidence float64) Pooled {
	y, se, p := logEstimates(runs)
	if len(y) == 0 {
		return p
	}
	known := p.spread(expected, [][]float64{y}, [][]float64{se})
	if p.Shown == 0 {
		p.Most = math.Max(p.Tau, mostTau(y, se)) // runs that agree by chance would set it to 0
	}
	p.mean(y, se)
	if p.DF = float64(len(y) - 1); expected.DF > 0 {
		p.freedom(known, freedomOf(runs))
	}
	switch {
	case !proper(confidence):
		p.warn("no interval: confidence %g is not between 0 and 1", confidence)
	case len(y) < 2:
		p.warn("1 run: the spread between runs is unknown; repeat the run")
	default:
		p.bound(p.SE, p.DF, confidence)
	}
	if len(y) >= minNext {
		p.Next = Interval{Center: p.Center, N: p.N, DF: math.Max(1, math.Min(p.DF, known.DF)-1), SE: math.Sqrt(p.Tau*p.Tau + p.SE*p.SE + meanSquare(se))}
		p.Next.bound(p.Next.SE, p.Next.DF, nextConfidence)
		p.Next = p.Next.exp()
	}
	p.Interval = p.Interval.exp()
	return p
}

// spread sets Tau and Shown.
func (p *Pooled) spread(expected Spread, y, se [][]float64) Spread {
	seen := spreadAround(y, se)
	known := expected.given(seen)
	p.Tau, p.Shown = known.Tau, seen.Tau
	return known
}

// freedom sets DF from those of the two parts of SE, by Satterthwaite.
func (p *Pooled) freedom(known Spread, own float64) {
	w, b := p.Within*p.Within, p.Between*p.Between
	if p.DF = known.DF; own > 0 && w+b > 0 {
		p.DF = (w + b) * (w + b) / (w*w/own + b*b/known.DF)
	}
}

// freedomOf adds up the degrees of freedom of the runs' own errors.
func freedomOf(groups ...[]Interval) (df float64) {
	for _, runs := range groups {
		for _, r := range runs {
			if r.N > 0 && r.LogSE() > 0 {
				df += r.DF
			}
		}
	}
	return df
}

// PoolKnown is Pool with a spread that earlier runs have shown. It gives even a
// single run an interval that covers other runs. Its degrees of freedom are then the fewer of the spread's and
// the run's own (Satterthwaite's mean of both covers too rarely), and the interval is never narrower
// than the run's own. Without any standard error, as after one block, there is no interval: tau says nothing
// about the error within a run.
func PoolKnown(runs []Interval, known Spread, confidence float64) Pooled {
	y, se, p := logEstimates(runs)
	if len(y) == 0 {
		return p
	}
	p.Tau = known.Tau
	p.mean(y, se)
	p.DF = known.DF
	if !proper(confidence) || !(known.DF >= 1) || !(known.Tau >= 0) {
		p.warn("no interval: confidence %g, tau %g with %g degrees of freedom", confidence, known.Tau, known.DF)
	} else if !slices.ContainsFunc(runs, func(r Interval) bool { return r.LogSE() > 0 || r.Bounded() }) {
		p.warn("no interval: too few blocks for a standard error")
	} else {
		if own := runs[0]; len(runs) == 1 && own.DF > 0 {
			p.DF = min(known.DF, own.DF)
		}
		p.bound(p.SE, p.DF, confidence)
	}
	p.Interval = p.Interval.exp()
	if own := runs[0]; len(runs) == 1 && p.Bounded() && own.Bounded() {
		p.Lo, p.Hi = min(p.Lo, own.Lo), max(p.Hi, own.Hi)
	}
	return p
}

// LogSE returns the standard error of the logarithm of a ratio, 0 if unknown.
func (i Interval) LogSE() float64 {
	if i.SE > 0 && finite(i.SE) {
		return i.SE
	}
	return 0
}

// logEstimates returns the logarithms of the runs' ratios and their standard errors. Those are
// estimates too: a run whose own is small by chance would weigh too much, and the mean's error would be
// underestimated. So each variance is moved toward the mean of all, as far as its degrees of freedom
// are few (as Smyth does for genes, Statistical Applications in Genetics 3, 2004, with a fixed prior). A
// run without a standard error gets that mean.
func logEstimates(runs []Interval) (y, se []float64, p Pooled) {
	p.K = len(runs)
	var of []Interval
	zeros := 0
	for _, r := range runs {
		if r.N > 0 && r.Center == 0 {
			zeros++
		}
	}
	if zeros > 0 {
		p.warn("no ratio of all runs: %d of %s has a ratio of 0", zeros, plural(p.K, "run"))
		return nil, nil, p
	}
	mean, known := 0.0, 0.0 // variance
	for _, r := range runs {
		if r.N == 0 || !positive(r.Center) {
			continue
		}
		of = append(of, r)
		if own := r.LogSE(); own > 0 {
			known++
			mean += (own*own - mean) / known
		}
	}
	for _, r := range of {
		own := r.LogSE()
		y = append(y, math.Log(r.Center))
		switch {
		case own == 0:
			own = math.Sqrt(mean)
		case r.DF > 0:
			own = math.Sqrt((r.DF*own*own + priorDF*mean) / (r.DF + priorDF))
		}
		se = append(se, own)
	}
	p.N = len(y)
	if dropped := p.K - p.N; dropped > 0 {
		p.warn("%d of %s dropped: no ratio", dropped, plural(p.K, "run"))
	}
	return y, se, p
}

// priorDF is the weight, in degrees of freedom, of the mean variance of all runs. Runs of one study
// have the same blocks, so their true standard errors are much alike.
const priorDF = 10

// mean sets the estimate, its standard error and the parts of that from Tau.
func (p *Pooled) mean(y, se []float64) {
	w, sum := weights(se, p.Tau*p.Tau), 0.0
	for i := range y {
		sum += w[i]
		p.Center += w[i] * y[i]
	}
	p.Center /= sum
	var within, between float64 // variances
	for i, s := range se {
		share := w[i] / sum
		within += share * share * s * s
		between += share * share * p.Tau * p.Tau
	}
	p.Within, p.Between, p.SE = math.Sqrt(within), math.Sqrt(between), math.Sqrt(within+between)
}

// weights returns inverse variances, equal ones if all variances are 0.
func weights(se []float64, tau2 float64) []float64 {
	w := make([]float64, len(se))
	for i, s := range se {
		w[i] = 1
		if v := s*s + tau2; v > 0 {
			w[i] = 1 / v
		}
	}
	return w
}

// tauBetween returns the tau at which q, which falls with tau², is want. lo and hi are bounds of tau².
func tauBetween(lo, hi float64, q func(tau2 float64) float64, want float64) float64 {
	for hi-lo > 1e-9*hi {
		if mid := lo/2 + hi/2; q(mid) > want {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Sqrt(hi)
}

// heterogeneity is Cochran's Q with tau² added to every variance.
func heterogeneity(y, se []float64, tau2 float64) (q float64) {
	w, sum, mean := weights(se, tau2), 0.0, 0.0
	for i := range y {
		sum += w[i]
		mean += w[i] * y[i]
	}
	mean /= sum
	for i := range y {
		q += w[i] * (y[i] - mean) * (y[i] - mean)
	}
	return q
}

// bound sets the t interval of an estimate that is still a logarithm.
func (i *Interval) bound(se, df, confidence float64) {
	half := se * quantile(df, confidence)
	i.Lo, i.Hi, i.Confidence = i.Center-half, i.Center+half, confidence
}

// quantile returns the two-sided quantile of t, by its relation to the beta distribution. Package distuv has it too, but
// drags a megabyte of linear algebra into the program.
func quantile(df, confidence float64) float64 {
	p := 1 - tail(confidence)
	x := mathext.InvRegIncBeta(df/2, 0.5, 2*(1-p))
	return math.Sqrt(df * (1 - x) / x)
}

func meanSquare(v []float64) (m float64) {
	for _, x := range v {
		m += x * x / float64(len(v))
	}
	return m
}
