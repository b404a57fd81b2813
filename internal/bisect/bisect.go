// Package bisect finds which of many commits changed a measured value, from paired comparisons that can be wrong. It
// computes the probability of every commit, which comparison to make next, and when to stop.
//
// It must not know what a commit is, or measure. Candidates are numbered from 0, the good one, to N, the bad one. One
// of the candidates 1 to N made the change, or none did.
package bisect

import (
	"math"

	"github.com/weir-bench/weir/internal/stat"
)

// A Comparison is what paired blocks say of two candidates.
type Comparison struct {
	Base, Other int     // Base < Other
	Log         float64 // ln(Other ÷ Base)
	SE          float64 // its standard error within the run; 0 is unknown, as where all ratios are alike
	DF          float64 // of SE
}

// Of returns the comparison for a ratio other ÷ base; false if the ratio has no interval, for example because there are
// too few pairs.
func Of(base, other int, ratio stat.Interval) (Comparison, bool) {
	c := Comparison{base, other, math.Log(ratio.Center), ratio.LogSE(), ratio.DF}
	if c.SE == 0 {
		c.DF = float64(ratio.N - 1)
	}
	return c, ratio.Bounded() && ratio.Center > 0 && !math.IsInf(c.Log, 0)
}

// none is the prior probability that no commit changed anything: the user may have seen a change, or not.
const none = 0.5

// A state is one size of the change, and one spread between runs.
type state struct{ change, tau float64 }

// A Search is what is known about the commits. Every commit and none has a weight for each state.
type Search struct {
	n        int
	least    float64 // smallest change, as a logarithm
	states   []state
	logs     [][]float64 // by commit, 0 for none, and state
	skipped  []bool      // by candidate
	compared map[[2]int]bool
	p        []float64 // cache of Posterior; nil if out of date
}

// usualTau is the expected spread of the ratio of two builds of one program in networks of one kind, beyond its error
// within a run: builds differ in their layout, and runs in the state of the machine. It counts like two runs.
const usualTau = 0.01

// New begins a search among n commits, 1 or more, for a change of at least the share least, such as 0.025. All commits
// are equally probable. Changes reach from least to a factor of 10, up and down; on a logarithmic scale, a change of
// half the size is twice as probable, because "no change" must be shown against small changes. Changes smaller than
// least count as none.
func New(n int, least float64) *Search {
	s := &Search{n: n, least: math.Log1p(least), skipped: make([]bool, n+1), compared: map[[2]int]bool{}}
	const sizes = 24
	from, to := s.least, math.Ln10
	for i := range sizes {
		size := from * math.Pow(to/from, float64(i)/(sizes-1))
		for _, tau := range []float64{0.0025, 0.005, 0.01, 0.02, 0.04, 0.08} {
			s.states = append(s.states, state{size, tau}, state{-size, tau})
		}
	}
	s.logs = make([][]float64, n+1)
	for k := range s.logs {
		p := none
		if k > 0 {
			p = (1 - none) / float64(n)
		}
		s.logs[k] = make([]float64, len(s.states))
		for i, x := range s.states {
			// The scaled inverse chi-square distribution of tau² with two degrees of freedom, on a logarithmic scale.
			v := usualTau * usualTau / (x.tau * x.tau)
			s.logs[k][i] = math.Log(p) + math.Log(v) - v - math.Log(math.Abs(x.change))
		}
	}
	return s
}

// Add learns from a comparison. Ratios that are all equal can hide a change smaller than one step of the values, so Add
// takes the smallest change to find as their error.
func (s *Search) Add(c Comparison) {
	s.compared[[2]int{c.Base, c.Other}], s.p = true, nil
	df := math.Max(c.DF, 2)
	if c.SE == 0 {
		c.SE = s.least
	}
	for i, x := range s.states {
		scale := math.Hypot(c.SE, x.tau)
		without, with := logT(c.Log/scale, df)-math.Log(scale), logT((c.Log-x.change)/scale, df)-math.Log(scale)
		for k := range s.logs {
			if c.Base < k && k <= c.Other {
				s.logs[k][i] += with
			} else {
				s.logs[k][i] += without
			}
		}
	}
}

// logT is the logarithm of Student's density, without its constant.
func logT(t, df float64) float64 { return -(df + 1) / 2 * math.Log1p(t*t/df) }

// Skip says that a candidate cannot be measured. The search then cannot tell its commit from the next one.
func (s *Search) Skip(candidate int) { s.skipped[candidate] = true }

// Posterior returns the probability of no change, followed by that of each commit from 1 on. The caller must not change
// it.
func (s *Search) Posterior() []float64 {
	if s.p != nil {
		return s.p
	}
	most := math.Inf(-1)
	for _, logs := range s.logs {
		for _, l := range logs {
			most = math.Max(most, l)
		}
	}
	p := make([]float64, s.n+1)
	sum := 0.0
	for k, logs := range s.logs {
		for _, l := range logs {
			p[k] += math.Exp(l - most)
		}
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	s.p = p
	return p
}

// A Verdict is the answer that the comparisons give. One of the commits First to Last made the change. They are more
// than one if those before Last cannot be measured. Both are 0 for no change.
type Verdict struct {
	First, Last int
	P           float64 // its probability
	Confirmed   bool    // the last candidate before First was compared with Last; true for no change
}

// Verdict returns the most probable answer.
func (s *Search) Verdict() Verdict {
	p := s.Posterior()
	best := Verdict{P: p[0], Confirmed: true}
	for base, k := 0, 1; k <= s.n; k++ {
		if s.skipped[k] {
			continue
		}
		if sum := total(p[base+1 : k+1]); sum > best.P {
			best = Verdict{base + 1, k, sum, s.compared[[2]int{base, k}]}
		}
		base = k
	}
	return best
}

// Next returns the two candidates whose comparison tells the most. The error is the same everywhere, so these are the two
// between which the change lies with a probability nearest to one half (M. Horstein, IEEE Transactions on Information
// Theory 9, 1963). The search is done when the verdict is as certain as asked and the verdict's own two candidates have
// been compared, since that comparison can still refute it.
func (s *Search) Next(certainty float64) (base, other int, done bool) {
	v := s.Verdict()
	if v.P >= certainty {
		return v.First - 1, v.Last, v.Confirmed
	}
	p := s.Posterior()
	nearest := math.Inf(1)
	try := func(a, b int) {
		if far := math.Abs(total(p[a+1:b+1]) - 0.5); far < nearest {
			base, other, nearest = a, b, far
		}
	}
	for before, k := 0, 1; k <= s.n; k++ {
		if s.skipped[k] {
			continue
		}
		try(0, k)
		try(before, k)
		before = k
	}
	return base, other, false
}

func total(p []float64) (sum float64) {
	for _, x := range p {
		sum += x
	}
	return sum
}
