package group

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A Stage is what a step of a bisection asks.
type Stage string

const (
	Change  Stage = "change"  // do all changes together have an effect?
	Halves  Stage = "halves"  // in which group is it?
	Confirm Stage = "confirm" // does the cause alone have it, and is it gone without the cause?
)

// A Step is comparisons to make at the same time.
type Step struct {
	Stage       Stage
	Comparisons []Comparison
	Cause       Cause // that a Confirm tests
}

// An Outcome is what a bisection has found.
type Outcome struct {
	// Kind is the kind of the cause; "" if none was confirmed although there is an effect.
	Kind    Kind
	Members []int
	// Probability of the cause after the search, given that one or two changes, or all, are the cause.
	Probability float64
	Effect      Estimate // of all changes
	Only        Estimate // of the cause alone
	Without     Estimate // lost when all changes but the cause are made; none if the cause is all changes
	Alone       []Estimate
	Comparisons int // that were made
	Missing     int // how many of the last steps had a comparison without an estimate
}

// Share returns the share of the effect that the cause explains, and its interval with 95 % confidence. It is the mean
// of what the cause adds alone and what is missing without it. A cause that is all changes explains everything.
func (o Outcome) Share() (share, lo, hi float64) {
	if o.Without.SE <= 0 {
		return 1, 1, 1
	}
	both := mean(o.Only, o.Without)
	share = both.Log / o.Effect.Log
	half := normal95 * math.Hypot(both.SE, share*o.Effect.SE) / math.Abs(o.Effect.Log)
	return share, share - half, share + half
}

func mean(a, b Estimate) Estimate {
	return Estimate{(a.Log + b.Log) / 2, math.Hypot(a.SE, b.SE) / 2}
}

const (
	// differs is how many standard errors from zero an effect must be. Without an effect, three looks exceed this once in
	// 30 times; a confirmation follows.
	differs = 2.5
	// confirmed is the same for a confirmation: at most looks times attempts confirmations find an effect where there is
	// none in 5 of 100 searches.
	confirmed = 2.64
	looks     = 3
	attempts  = 4
	// least is the smallest share of the effect that a cause must have alone, and that must be missing without it.
	least = 0.25
	// enough is the posterior probability at which a cause is worth a confirmation.
	enough = 0.9
	// certain is the same for the statement that no single change and no pair is the cause, which no comparison confirms.
	certain = 0.99
	// most is how many steps in a row can lack an estimate before a bisection ends.
	most = 5
	// slack is the smallest standard error, as a share of the effect: causes are simpler than the world.
	slack = 0.08
)

// MaxComparisons ends a search that does not decide.
const MaxComparisons = 60

// A Bisection asks for comparisons until it knows the cause. Its zero value cannot be used; see New.
type Bisection struct {
	n         int
	expected  float64
	rng       *rand.Rand
	search    *search
	change    []Estimate
	confirms  [][]Estimate // of the current confirmation, by comparison
	testing   *Cause
	attempted int
	done      bool
	out       Outcome
}

// New returns a bisection of n changes, 1 to MaxChanges. expected is the logarithm of the effect to look for; 0 if unknown.
func New(n int, expected float64) *Bisection {
	return &Bisection{n: n, expected: expected, rng: rand.New(rand.NewPCG(uint64(n), 1)), search: newSearch(n)}
}

// Next returns what to compare next; false when the bisection has ended.
func (b *Bisection) Next() (Step, bool) {
	all := Comparison{None(b.n), All(b.n)}
	switch {
	case b.done:
		return Step{}, false
	case !b.differs():
		return Step{Stage: Change, Comparisons: []Comparison{all}}, true
	case b.testing == nil:
		return Step{Stage: Halves, Comparisons: []Comparison{b.search.next(b.rng)}}, true
	}
	cause := Only(b.n, b.testing.Members...)
	compare := []Comparison{{None(b.n), cause}}
	if !b.whole() {
		compare = append(compare, Comparison{cause.Without(), All(b.n)})
	}
	if len(b.testing.Members) == 2 {
		for _, m := range b.testing.Members {
			compare = append(compare, Comparison{None(b.n), Only(b.n, m)})
		}
	}
	return Step{Confirm, compare, *b.testing}, true
}

// whole reports whether the tested cause consists of all changes: none is left to combine it with.
func (b *Bisection) whole() bool { return len(b.testing.Members) == b.n }

func (b *Bisection) differs() bool { return math.Abs(pool(b.change).z()) >= differs }

// Outcome returns what has been found so far.
func (b *Bisection) Outcome() Outcome { return b.out }

// Answer takes the estimates of the comparisons of a step, in their order.
func (b *Bisection) Answer(s Step, got []Estimate) {
	b.out.Comparisons += len(got)
	if slices.ContainsFunc(got, func(e Estimate) bool { return e.SE <= 0 }) {
		b.out.Missing++
	} else {
		b.out.Missing = 0
	}
	b.done = b.out.Missing >= most
	for i, c := range s.Comparisons {
		e := got[i]
		if e.SE > 0 {
			e.SE = math.Hypot(e.SE, slack*pool(b.change).Log)
		}
		b.search.observe(c, e)
	}
	switch s.Stage {
	case Change:
		b.change = append(b.change, got[0])
		b.noChange()
	case Confirm:
		for i, e := range got {
			if b.whole() && i > 0 {
				i++
			}
			b.confirms[i] = append(b.confirms[i], e)
		}
		b.judge()
	}
	b.out.Effect = pool(b.change)
	if b.done {
		return
	}
	if b.differs() && b.testing == nil {
		b.propose()
	}
}

// noChange ends the bisection when the changes do not have the effect that it looks for.
func (b *Bisection) noChange() {
	e := pool(b.change)
	small := b.expected != 0 && e.SE > 0 && math.Abs(e.Log)+differs*e.SE < math.Abs(b.expected)/2
	if !b.differs() && (small || len(b.change) >= looks) {
		b.out.Kind, b.done = NoCause, true
	}
}

// propose begins a confirmation when a cause is likely enough.
func (b *Bisection) propose() {
	c, p, _ := b.search.best()
	if b.n == 1 {
		c, p = Cause{One, []int{0}}, 1
	}
	switch {
	case b.out.Comparisons >= MaxComparisons || b.attempted >= attempts:
		b.done = true
	case len(c.Members) == 0:
		if b.done = p >= certain; b.done && c.Kind == Spread {
			b.out.Kind, b.out.Probability = Spread, p
		}
	case p >= enough:
		b.testing, b.out.Probability = &c, p
		b.confirms = make([][]Estimate, 2+2*(len(c.Members)-1))
		b.attempted++
	}
}

// judge ends a confirmation that decides, and ends the bisection if the cause is confirmed.
func (b *Bisection) judge() {
	effect, only, without := pool(b.change), pool(b.confirms[0]), pool(b.confirms[1])
	sign := math.Copysign(1, effect.Log)
	both := mean(only, without)
	if b.whole() {
		both, without = only, only
	}
	measured := only.SE > 0 && without.SE > 0
	passes := measured && sign*both.z() >= confirmed &&
		sign*only.Log >= least*math.Abs(effect.Log) && sign*without.Log >= least*math.Abs(effect.Log)
	last := len(b.confirms[0]) >= looks
	c, p, kind := b.search.best()
	if !slices.Equal(c.Members, b.testing.Members) { // these comparisons favor the members, and others speak against them
		c, p, kind = *b.testing, b.out.Probability, 1
	}
	switch {
	case passes && (last || kind >= enough*p):
		b.out.Kind, b.out.Members, b.out.Probability, b.done = c.Kind, c.Members, p, true
		if b.out.Only = only; !b.whole() {
			b.out.Without = without
		}
		for _, alone := range b.confirms[2:] {
			b.out.Alone = append(b.out.Alone, pool(alone))
		}
	case last || measured && sign*both.Log+confirmed*both.SE < math.Abs(effect.Log)/2:
		b.testing = nil
	}
}
