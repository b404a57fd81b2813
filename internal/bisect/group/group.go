// Package group finds which one or two of many changes explain an effect, from noisy comparisons of groups of them
// (adaptive group testing). Each comparison is between two sets of the changes.
//
// It must not know what a change is or how an effect is measured. It draws random numbers only from a seed that its
// arguments give, so the same answers lead to the same questions.
package group

import (
	"math"
	"slices"
)

// A Set says which of the changes are made.
type Set []bool

// None returns the empty set of n changes.
func None(n int) Set { return make(Set, n) }

// All returns the set of all n changes.
func All(n int) Set { return None(n).Without() }

// Only returns the set of these members, out of n changes.
func Only(n int, members ...int) Set {
	s := None(n)
	for _, m := range members {
		s[m] = true
	}
	return s
}

// Without returns the complement of s.
func (s Set) Without() Set {
	t := make(Set, len(s))
	for i := range s {
		t[i] = !s[i]
	}
	return t
}

// Members returns the changes of s in order.
func (s Set) Members() []int {
	in := []int{}
	for i, has := range s {
		if has {
			in = append(in, i)
		}
	}
	return in
}

// A Comparison divides what a set gives by what another one gives.
type Comparison struct{ From, To Set }

// Equal reports whether c and d compare the same sets.
func (c Comparison) Equal(d Comparison) bool {
	return slices.Equal(c.From, d.From) && slices.Equal(c.To, d.To)
}

// An Estimate is the logarithm of a ratio, and its standard error. An SE of 0 means no estimate.
type Estimate struct {
	Log float64 `json:"log"`
	SE  float64 `json:"se"`
}

// pool weighs estimates of the same ratio by their precision.
func pool(all []Estimate) (p Estimate) {
	var weights float64
	for _, e := range all {
		if e.SE > 0 {
			w := 1 / (e.SE * e.SE)
			p.Log, weights = p.Log+w*e.Log, weights+w
		}
	}
	if weights == 0 {
		return Estimate{}
	}
	return Estimate{p.Log / weights, 1 / math.Sqrt(weights)}
}

// z is how many standard errors e is from no effect.
func (e Estimate) z() float64 {
	if e.SE <= 0 {
		return 0
	}
	return e.Log / e.SE
}

// Interval returns the ends of e's interval, as ratios, with 95 % confidence.
func (e Estimate) Interval() (lo, hi float64) {
	return math.Exp(e.Log - normal95*e.SE), math.Exp(e.Log + normal95*e.SE)
}

const normal95 = 1.959964 // standard errors of a normal interval with 95 % confidence

// A Kind says how the changes of a Cause work.
type Kind string

const (
	NoCause Kind = "none"   // nothing has an effect
	One     Kind = "one"    // one change is the effect
	Both    Kind = "both"   // two have it only together
	Sum     Kind = "sum"    // two have a part of it each
	Either  Kind = "either" // each of two has it alone, and both together no more
	Spread  Kind = "spread" // every change has a small part
)

// A Cause is an explanation: the Members, and how they work.
type Cause struct {
	Kind    Kind
	Members []int // one, or two; none for NoCause and Spread
}

// A cause is a Cause in the form in which the search stores thousands of them.
type cause struct {
	kind  Kind
	i, j  int32
	share float64 // of the effect that i has in a Sum
	prior float64 // logarithm
	// With the effect of all changes normal around 0: sums of v²/se² and of v·y/se² over comparisons, where v is
	// the predicted share of the effect and y what was measured.
	vv, vy float64
}

// of returns the share of the effect that a set has.
func (c *cause) of(s Set) float64 {
	switch c.kind {
	case One:
		return is(s[c.i])
	case Both:
		return is(s[c.i] && s[c.j])
	case Either:
		return is(s[c.i] || s[c.j])
	case Sum:
		return c.share*is(s[c.i]) + (1-c.share)*is(s[c.j])
	case Spread:
		return float64(len(s.Members())) / float64(len(s))
	}
	return 0
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// scale is the standard deviation of the effect before anything was measured, as a logarithm.
const scale = 0.5

// logPosterior is the logarithm of c's posterior density up to a constant that all causes share.
func (c *cause) logPosterior() float64 {
	a := c.vv + 1/(scale*scale)
	return c.prior + c.vy*c.vy/(2*a) - math.Log(a*scale*scale)/2
}

// effect is the mean of the effect if c is the cause.
func (c *cause) effect() float64 { return c.vy / (c.vv + 1/(scale*scale)) }

// Prior probabilities of the kinds. A single change is the usual case; two that add up and two that need each
// other come next. What no comparison has excluded stays possible.
var priors = map[Kind]float64{NoCause: 0.1, One: 0.6, Both: 0.1, Sum: 0.1, Either: 0.05, Spread: 0.05}

// MaxChanges bounds a search: the number of causes of two changes grows with the square.
const MaxChanges = 256

// causes lists every cause that n changes can have.
func causes(n int) (all []cause) {
	add := func(c cause, of int) {
		c.prior = math.Log(priors[c.kind] / float64(of))
		all = append(all, c)
	}
	add(cause{kind: NoCause}, 1)
	for i := range n {
		add(cause{kind: One, i: int32(i)}, n)
	}
	if n < 2 {
		return all
	}
	pairs := n * (n - 1) / 2
	for i := range int32(n) {
		for j := i + 1; j < int32(n); j++ {
			add(cause{kind: Both, i: i, j: j}, pairs)
			add(cause{kind: Either, i: i, j: j}, pairs)
			for _, share := range []float64{0.25, 0.5, 0.75} {
				add(cause{kind: Sum, i: i, j: j, share: share}, 3*pairs)
			}
		}
	}
	if n > 2 {
		add(cause{kind: Spread}, 1)
	}
	return all
}
