package group

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A search holds what the comparisons so far say about every cause.
type search struct {
	n      int
	causes []cause
	weight []float64 // posterior probability by cause
	se     float64   // of the last comparison: what the next one can expect
}

func newSearch(n int) *search {
	s := &search{n: n, causes: causes(n)}
	s.weigh()
	return s
}

// observe adds the answer to a comparison. An estimate without a standard error says nothing.
func (s *search) observe(c Comparison, e Estimate) {
	if e.SE <= 0 {
		return
	}
	s.se = e.SE
	for i := range s.causes {
		h := &s.causes[i]
		v := h.of(c.To) - h.of(c.From)
		h.vv += v * v / (e.SE * e.SE)
		h.vy += v * e.Log / (e.SE * e.SE)
	}
	s.weigh()
}

// negligible is the posterior probability below which a cause costs time and decides nothing.
const negligible = 1e-9

func (s *search) weigh() {
	s.weight = s.weight[:0]
	most := math.Inf(-1)
	for i := range s.causes {
		p := s.causes[i].logPosterior()
		most = max(most, p)
		s.weight = append(s.weight, p)
	}
	total := 0.0
	for i, p := range s.weight {
		s.weight[i] = math.Exp(p - most)
		total += s.weight[i]
	}
	kept := 0
	for i, w := range s.weight {
		if w/total > negligible {
			s.causes[kept], s.weight[kept] = s.causes[i], w/total
			kept++
		}
	}
	s.causes, s.weight = s.causes[:kept], s.weight[:kept]
}

// best returns the most likely members of the cause with the most likely way in which they work, and the probabilities
// of both: that these are the members, and that they work in this way.
func (s *search) best() (c Cause, members, kind float64) {
	type who struct {
		kind Kind // Both for all ways in which two work
		i, j int32
	}
	sums, kinds := map[who]float64{}, map[Kind]float64{}
	var top who
	of := func(h cause) who {
		switch h.kind {
		case Sum, Either:
			h.kind = Both
		}
		return who{h.kind, h.i, h.j}
	}
	for i, h := range s.causes {
		w := of(h)
		if sums[w] += s.weight[i]; sums[w] > sums[top] {
			top = w
		}
	}
	for i, h := range s.causes {
		if of(h) == top {
			if kinds[h.kind] += s.weight[i]; kinds[h.kind] > kind {
				c.Kind, kind = h.kind, kinds[h.kind]
			}
		}
	}
	switch top.kind {
	case One:
		c.Members = []int{int(top.i)}
	case Both:
		c.Members = []int{int(top.i), int(top.j)}
	}
	return c, sums[top], kind
}

// marginal returns the probability of each change to be part of the cause.
func (s *search) marginal() []float64 {
	m := make([]float64, s.n)
	for i, h := range s.causes {
		switch h.kind {
		case One:
			m[h.i] += s.weight[i]
		case Both, Sum, Either:
			m[h.i] += s.weight[i]
			m[h.j] += s.weight[i]
		}
	}
	return m
}

// tries is how many comparisons of each form next considers.
const tries = 10

// next returns the comparison that is expected to tell the most: a group against the others, or a group against none.
func (s *search) next(rng *rand.Rand) (best Comparison) {
	marginal, most, effect := s.marginal(), -1.0, 0.0
	for i := range s.causes {
		effect += s.weight[i] * math.Abs(s.causes[i].effect())
	}
	consider := func(c Comparison) {
		if tells := s.information(c, effect/s.se); tells > most {
			best, most = c, tells
		}
	}
	for range tries {
		half, group := balanced(marginal, rng), random(s.n, 0.5, rng)
		consider(Comparison{half.Without(), half})
		consider(Comparison{None(s.n), half})
		consider(Comparison{group.Without(), group})
		consider(Comparison{None(s.n), random(s.n, 0.7, rng)})
		likely := s.draw(rng) // its members are in the group, or only the first, and the others are drawn
		for k, m := range likely {
			group[m] = k == 0
		}
		consider(Comparison{None(s.n), slices.Clone(group)})
		for _, m := range likely {
			group[m] = true
		}
		consider(Comparison{None(s.n), group})
	}
	return best
}

// draw returns the members of a cause, drawn by its probability.
func (s *search) draw(rng *rand.Rand) []int32 {
	left := rng.Float64()
	for i, h := range s.causes {
		if left -= s.weight[i]; left > 0 {
			continue
		}
		switch h.kind {
		case One:
			return []int32{h.i}
		case Both, Sum, Either:
			return []int32{h.i, h.j}
		}
		break
	}
	return nil
}

// random returns a set that contains each change with probability p.
func random(n int, p float64, rng *rand.Rand) Set {
	s := None(n)
	for i := range s {
		s[i] = rng.Float64() < p
	}
	return s
}

// balanced returns a random half of the changes that has half of the probability.
func balanced(marginal []float64, rng *rand.Rand) Set {
	order := rng.Perm(len(marginal))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(marginal[b], marginal[a]) })
	half, sums := None(len(marginal)), [2]float64{}
	for at := 0; at < len(order); at += 2 { // one of two neighbors: at random where both sides have the same so far
		two := order[at:min(at+2, len(order))]
		first := rng.IntN(2)
		if len(two) == 2 && sums[0] != sums[1] && rng.IntN(3) > 0 {
			first = 0
			if sums[0] > sums[1] {
				first = 1
			}
		}
		for k, member := range two {
			side := (first + k) % 2
			half[member] = side == 0
			sums[side] += marginal[member]
		}
	}
	return half
}

// steps divides the effect for information: shares are multiples of a quarter, except those of a Spread.
const steps = 4

// information is the mutual information between the causes and the answer to a comparison, in nats, if the effect is
// ratio standard errors large.
func (s *search) information(c Comparison, ratio float64) float64 {
	var p [2*steps + 1]float64
	for i := range s.causes {
		h := &s.causes[i]
		p[steps+int(math.Round(steps*(h.of(c.To)-h.of(c.From))))] += s.weight[i]
	}
	ratio = min(ratio, 12) // beyond this, answers are certain
	const step, tail = 0.4, 4.0
	information := 0.0
	for y := -ratio - tail; y <= ratio+tail; y += step {
		density, parts := 0.0, 0.0
		for k, w := range p {
			if w == 0 {
				continue
			}
			d := y - ratio*float64(k-steps)/steps
			f := math.Exp(-d*d/2) / math.Sqrt(2*math.Pi)
			density += w * f
			if f > 0 {
				parts += w * f * math.Log(f)
			}
		}
		if density > 0 {
			information += step * (parts - density*math.Log(density))
		}
	}
	return information
}
