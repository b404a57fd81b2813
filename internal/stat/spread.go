package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// A Spread is what is known about how much the log ratios of runs differ beyond their own standard errors: Tau is a
// standard deviation, known as well as from a sample of DF degrees of freedom (a scaled inverse chi-square
// distribution of Tau²).
type Spread struct{ Tau, DF float64 }

const (
	// UsualTau is the spread that weir expects of a machine of which it knows nothing: that of TCP throughput on a veth
	// (docs/adr/0011-engines-stay.md). Other ratios differ less.
	UsualTau = 0.05
	// usualDF is the weight of UsualTau, as of three runs: 90 % of all spreads then lie between 2.9 and 22 %.
	usualDF = 2
	// alikeDF is how alike the spreads of the cells of one comparison are, at most: a cell's own runs soon outweigh it.
	alikeDF = 8
	// MostSE is the largest standard error with which a run says anything about the spread of others. Such a run
	// carries a twenty-fifth of the information of a run without error.
	MostSE = 2 * UsualTau
)

// Usual is what is known before any run.
func Usual() Spread { return Spread{UsualTau, usualDF} }

// spreadOf is what groups of runs show, each around a mean of its own: Paule and Mandel's estimate, 0 where the runs'
// own errors explain all. A run with the standard error s tells (τ²/(τ²+s²))² as much about τ² as one without error
// (the ratio of their Fisher informations, here at UsualTau). A noisy run therefore hardly counts, and an estimate of 0
// from noisy runs says next to nothing.
func spreadOf(groups ...[]Interval) Spread {
	var y, se [][]float64
	for _, g := range groups {
		a, b, p := logEstimates(g)
		if p.N > 0 {
			y, se = append(y, a), append(se, b)
		}
	}
	return spreadAround(y, se)
}

func spreadAround(y, se [][]float64) Spread {
	information, runs := 0.0, 0.0
	for _, group := range se {
		for _, s := range group {
			share := UsualTau * UsualTau / (UsualTau*UsualTau + s*s)
			information, runs = information+share*share, runs+1
		}
	}
	free := runs - float64(len(y))
	if free < 1 {
		return Spread{}
	}
	return Spread{Tau: commonTau(y, se, free), DF: free * information / runs}
}

// given returns s after it was seen that runs differ by seen. Where they differ by more than s expects, they are
// believed, and s counts for less: an expectation must not explain away what was seen.
func (s Spread) given(seen Spread) Spread {
	if seen.DF <= 0 {
		return s
	}
	if s.Tau > 0 && seen.Tau > s.Tau {
		df := seen.DF + s.DF*(s.Tau/seen.Tau)*(s.Tau/seen.Tau)
		return Spread{seen.Tau, math.Max(df, math.Min(1, s.DF))}
	}
	df := s.DF + seen.DF
	return Spread{math.Sqrt((s.DF*s.Tau*s.Tau + seen.DF*seen.Tau*seen.Tau) / df), df}
}

// Earlier is what runs that are over say about the spread of further ones. It leaves out runs whose own error is
// larger than MostSE, or unknown: many of them must not look like agreement.
func Earlier(runs []Interval) (s Spread, counted int) {
	var kept []Interval
	for _, r := range runs {
		if se := r.LogSE(); r.N > 0 && positive(r.Center) && se > 0 && se <= MostSE {
			kept = append(kept, r)
		}
	}
	return Usual().given(spreadOf(kept)), len(kept)
}

// Expected returns for every cell of a comparison the spread to expect of it: Usual, after what the runs of all other
// cells show. A cell is groups of runs, each around a mean of its own. The spreads of cells are alike and not equal
// (G. K. Smyth, Statistical Applications in Genetics 3, 2004, estimates how alike; here it is fixed, because a
// comparison has few cells).
func Expected(cells [][][]Interval) []Spread {
	var squares, weight float64
	seen := make([]Spread, len(cells))
	for i, groups := range cells {
		seen[i] = spreadOf(groups...)
		squares, weight = squares+seen[i].DF*seen[i].Tau*seen[i].Tau, weight+seen[i].DF
	}
	out := make([]Spread, len(cells))
	for i, own := range seen {
		others := usualDF + math.Max(0, weight-own.DF)
		tau2 := (usualDF*UsualTau*UsualTau + math.Max(0, squares-own.DF*own.Tau*own.Tau)) / others
		out[i] = Spread{math.Sqrt(tau2), 1 / (1/others + 1.0/alikeDF)}
	}
	return out
}

// mostTau is the upper limit of the spread that runs show by themselves, at 95 %: the one at which they would differ
// so little in one case of twenty (W. Viechtbauer, Statistics in Medicine 26, 2007). It is 0 for fewer than two runs.
func mostTau(y, se []float64) float64 {
	df := float64(len(y) - 1)
	if df < 1 {
		return 0
	}
	return tauAt([][]float64{y}, [][]float64{se}, 2*mathext.GammaIncRegInv(df/2, 0.05))
}

// commonTau is the tau at which the weighted sum of squares around the means of all groups is what is expected of it,
// their degrees of freedom; 0 if it is less at every tau.
func commonTau(y, se [][]float64, free float64) float64 { return tauAt(y, se, free) }

func tauAt(y, se [][]float64, want float64) float64 {
	q := func(tau2 float64) (sum float64) {
		for g := range y {
			sum += heterogeneity(y[g], se[g], tau2)
		}
		return sum
	}
	const least = 1e-18 // Tau of 1e-9 instead of 0: inverse variances must be finite
	if !(q(least) > want) {
		return 0
	}
	lo, hi := 0.0, least
	for q(hi) > want {
		lo, hi = hi, 4*hi
	}
	return tauBetween(lo, hi, q, want)
}

// probability is that of a t statistic at least as far from 0.
func probability(t, df float64) float64 { return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t)) }

// StepDown judges estimates that hold together, as Holm does (Scandinavian Journal of Statistics 6, 1979): the one
// with the smallest probability must pass the level of all, the next that of the rest, until one does not. It returns the
// confidence of the interval by which each is judged: those that passed have that of their step, the others
// that of the last. The verdicts together are wrong in at most 1-confidence of cases.
func StepDown(probabilities []float64, confidence float64) []float64 {
	n := len(probabilities)
	out := make([]float64, n)
	done := make([]bool, n)
	for left := n; left > 0; left-- {
		next := -1
		for i, p := range probabilities {
			if !done[i] && (next < 0 || p < probabilities[next]) {
				next = i
			}
		}
		level := Adjust(confidence, left)
		if !(probabilities[next] <= 1-level) {
			for i := range out {
				if !done[i] {
					out[i] = level
				}
			}
			break
		}
		done[next], out[next] = true, level
	}
	return out
}

// PValue is the probability with which a ratio whose truth is within a bound of 1 would be estimated so far
// beyond it: a bound of 0.05 is from 0.95 to 1.05. It is 1 without a standard error.
func (p Pooled) PValue(bound float64) float64 {
	if !p.Bounded() || !(p.DF > 0) || !positive(p.Center) {
		return 1
	}
	y := math.Log(p.Center)
	far := math.Max(y-math.Log1p(bound), math.Log1p(-bound)-y)
	switch {
	case far <= 0:
		return 1
	case p.SE == 0:
		return 0
	}
	return probability(far/p.SE, p.DF)
}

// At is the interval at another confidence.
func (p Pooled) At(confidence float64) Pooled {
	if !p.Bounded() || !positive(p.Center) {
		return p
	}
	p.Center = math.Log(p.Center)
	p.bound(p.SE, p.DF, confidence)
	p.Interval = p.Interval.exp()
	return p
}
