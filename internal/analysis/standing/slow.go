package standing

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
)

// A part is a machine in a role.
type part struct {
	h  int
	as role
}

// Compare finds the slow machines, the slowest first, each compared without those found before: their
// pairs would make others look fast, and themselves less slow. Every ratio has the confidence each, and every
// comparison of pairs the confidence pairs.
func (f *Field) Compare(each, pairs float64) Standing {
	f.Each, f.eachPair = each, pairs
	var found []part
	for range 2 * len(f.Hosts) {
		f.total()
		slowest, most := part{h: -1}, 0.0
		for h := range f.Hosts {
			if p, r := f.worst(h); f.Worse(r) && math.Abs(r.Center-1) > most && f.standsOut(p) {
				slowest, most = p, math.Abs(r.Center-1)
			}
		}
		if slowest.h < 0 {
			break
		}
		f.mark(slowest, true)
		found = append(found, slowest)
	}
	f.confirm(found)
	f.total()
	for h := range f.Hosts {
		x := &f.Hosts[h]
		x.Ratio, x.Sender, x.Receiver = f.ratio(part{h, either}), f.ratio(part{h, sender}), f.ratio(part{h, receiver})
	}
	return f.Standing
}

// A machine is slow in one direction only if the ratio of that direction is more than oneWay times as far from 1 as
// that of both: it is twice as far if the other direction is like those of other machines.
const oneWay = 1.5

// worst returns the role in which a host is worst, of those in which it is not slow already, and its ratio.
func (f *Field) worst(h int) (p part, r stat.Interval) {
	slow, most := f.slow[h], 0.0
	if slow == [2]bool{} {
		p, r = part{h, either}, f.ratio(part{h, either})
		most = oneWay * math.Abs(r.Center-1)
	}
	for i, as := range []role{sender, receiver} {
		if slow[i] {
			continue
		}
		if x := f.ratio(part{h, as}); f.Worse(x) && math.Abs(x.Center-1) > most {
			p, r, most = part{h, as}, x, math.Abs(x.Center-1)
		}
	}
	return p, r
}

func (f *Field) mark(p part, slow bool) {
	for i, as := range []role{sender, receiver} {
		if p.as == either || p.as == as {
			f.slow[p.h][i] = slow
		}
	}
}

// out reports whether one of a shot's hosts is slow in its role.
func (f *Field) out(s shot) bool { return f.slow[s.from][0] || f.slow[s.to][1] }

// confirm keeps those slow machines that are farther from the others than those are from each other. It
// begins with the last one found, the least slow, and a machine that is not far enough away joins the
// others: if machines differ by nature, the slowest must leave the range of all of them.
func (f *Field) confirm(found []part) {
	for len(found) > 0 && !f.far(found[len(found)-1]) {
		last := len(found) - 1
		f.mark(found[last], false)
		found = found[:last]
		f.total()
	}
	for _, p := range found {
		f.Hosts[p.h].Slow = true
	}
}

// far reports whether the mean of a slow host is outside the range that the means of the other machines
// predict for one more (a t prediction interval of logarithms). Machines are its units: pairs share
// machines, so their means are not independent of each other. Two machines have only one pair, which says
// nothing about how machines differ.
func (f *Field) far(p part) bool {
	var own amount
	means := make([]amount, len(f.Hosts))
	for _, s := range f.shots {
		all := f.totals[s.spot]
		switch {
		case !(all.sum > 0):
		case p.takes(s) && !f.otherSlow(p.h, s):
			own.add(s.v / all.mean())
		case !f.out(s):
			for _, h := range []int{s.from, s.to} {
				if (part{h, p.as}).takes(s) {
					means[h].add(s.v / all.mean())
				}
			}
		}
	}
	var others []float64
	for h, m := range means {
		if h != p.h && m.n > 0 {
			others = append(others, m.mean())
		}
	}
	i := stat.LogMean(others, f.eachPair)
	if i.N < 3 || own.n == 0 || !i.Bounded() {
		return true
	}
	// The interval of a mean of n values is √(n+1) times as narrow as that of one more value. A machine's
	// mean has its own part and the average part of its n-1 partners, so that one that is slower than the
	// others has faster partners than they: their means lie closer together than machines do.
	n := float64(i.N)
	most := math.Log(i.Hi/i.Center) * math.Sqrt(n+1) * (n - 1) / (n - 2)
	return math.Abs(math.Log(own.mean()/i.Center)) > most
}

// A role is the part of a machine in a pair.
type role int

const (
	either role = iota
	sender
	receiver
)

// takes reports whether a shot is one of the host in the role.
func (p part) takes(s shot) bool {
	return p.as != receiver && s.from == p.h || p.as != sender && s.to == p.h
}

// otherSlow reports whether the host at the other end of a shot is slow in its role.
func (f *Field) otherSlow(h int, s shot) bool {
	if s.from == h {
		return f.slow[s.to][1]
	}
	return f.slow[s.from][0]
}

// total sums up the shots without a slow host.
func (f *Field) total() {
	f.totals, f.pairs = make([]amount, f.blocks*f.kinds), nil
	for _, s := range f.shots {
		if !f.out(s) {
			f.totals[s.spot].add(s.v)
		}
	}
	index := map[[2]int]int{}
	for _, s := range f.shots {
		if all := f.totals[s.spot]; !f.out(s) && all.sum > 0 && all.n > 1 { // alone, it is like itself
			a, b, way := s.from, s.to, 0
			if a > b {
				a, b, way = b, a, 1
			}
			i := numbered(index, [2]int{a, b})
			if i == len(f.pairs) {
				f.pairs = append(f.pairs, pairOf{a: a, b: b})
			}
			f.pairs[i].ways[way].add(s.v / all.mean())
		}
	}
}

// ratio compares the values of a host in a role with the mean of pairs of other machines where it has values.
func (f *Field) ratio(p part) stat.Interval {
	own, all := make([]amount, len(f.totals)), make([]amount, len(f.totals))
	for _, i := range f.of[p.h] {
		s := f.shots[i]
		if !f.out(s) {
			all[s.spot].add(s.v)
		}
		if p.takes(s) && !f.otherSlow(p.h, s) {
			own[s.spot].add(s.v)
		}
	}
	var mine, others []float64 // by block
	for block := range f.blocks {
		var a, b amount
		for spot := block * f.kinds; spot < (block+1)*f.kinds; spot++ {
			rest := f.totals[spot]
			rest = amount{rest.sum - all[spot].sum, rest.n - all[spot].n}
			if x := own[spot]; x.n > 0 && rest.n > 0 {
				a.add(x.sum)
				b.add(x.n * rest.mean())
			}
		}
		if a.n > 0 {
			mine, others = append(mine, a.sum), append(others, b.sum)
		}
	}
	if mine == nil {
		return stat.Interval{}
	}
	i := stat.Sums(mine, others, f.Each)
	i.Lo = max(0, i.Lo)
	return f.widen(i)
}

// standsOut reports whether the pairs of a host in a role differ from the others by more than those differ from
// each other. Every pair has a path of its own, so with enough blocks the means of all machines differ.
func (f *Field) standsOut(p part) bool {
	var own, others []float64
	for _, x := range f.pairs {
		both := x.ways[0].and(x.ways[1])
		switch {
		case x.a != p.h && x.b != p.h:
			others = append(others, both.mean())
			continue
		case p.as != either && (p.as == sender) == (x.a == p.h):
			both = x.ways[0]
		case p.as != either:
			both = x.ways[1]
		}
		if both.n > 0 {
			own = append(own, both.mean())
		}
	}
	if len(own) == 0 || len(others) == 0 || len(own) == 1 && p.as != either {
		return false // one pair can be slow by itself
	}
	if i := stat.Unpaired(others, own, stat.ScatterOf(others), f.eachPair); i.Bounded() {
		return !i.Contains(1)
	}
	// Too few to know how pairs differ, or nothing arrived.
	return slices.Max(own) < muchWorse*slices.Min(others) || muchWorse*slices.Min(own) > slices.Max(others)
}

// muchWorse is how much worse all pairs of a machine must be than all others where those are too few to know
// how pairs differ: three machines have three.
const muchWorse = 0.75
