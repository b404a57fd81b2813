package engine

import (
	"math"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A search finds the highest rate that a path carries while it loses no more than a
// bound: the throughput of RFC 2544, section 26.1, when the bound is 0 (NDR, no-drop
// rate), and a partial drop rate (PDR) otherwise. It decides what to offer next and
// what the answers mean, and does nothing itself. Terms and care are those of
// draft-ietf-bmwg-mlrsearch: loads are classified by several trials, here called
// phases; the lowest load that most of its phases lost at is the upper bound,
// whatever was carried above it (loss inversion); the highest load below that was
// carried is the lower bound; and what counts is what was delivered at it (their
// conditional throughput), not what was offered.
//
// The order is: as fast as the sender can, then what arrived of that, then up or down
// from there in steps that grow, then the middle of the two bounds on a logarithmic
// scale, until they are close. Then both are tried again, for a stall of the machine
// may have made a bound, and what has flipped is searched from.
type search struct {
	loss  float64 // the most that may be lost, of what was offered; 0 is nothing
	width float64 // how close the bounds shall be, above 0: upper/lower is at most 1+width
	floor float64 // packet/s: no lower rate is tried

	loads  []load // in the order of their first phase; the first is flat out
	stride float64
}

const (
	// mostOf3 and mostOf5 are how many phases decide on a load: first, and again
	// when it has become a bound.
	mostOf3 = 2
	mostOf5 = 3
	// lateness is what the last datagram of a phase may be late by, however short the
	// phase: a receiver that was asleep is awake by then.
	lateness = 0.001 // s
)

// A verdict is what phases say of a load.
type verdict string

const (
	undecided verdict = ""
	carried   verdict = "carried"
	lossy     verdict = "lost"
	// behind: nothing was lost, and the sender did not reach the rate.
	behind verdict = "behind"
)

// judge looks at one phase. A queue that grows loses sooner or later, and buffers are
// often longer than a phase: what arrives more slowly than it is sent is not carried.
func (s *search) judge(p event.Phase) verdict {
	switch {
	case p.Lost() > s.loss, p.Queue > max(s.width*p.Window, lateness):
		return lossy
	case p.Asked == 0, float64(p.Offered) > (1+s.width)*float64(p.Tried()):
		return behind
	}
	return carried
}

// A load is a rate and all phases at it.
type load struct {
	asked  float64 // packet/s; 0 is flat out
	phases []event.Phase
}

// agreed is what need phases agree on, of 2*need-1 at most. Where those that lost
// nothing disagree over whether the sender fell behind, it did.
func (s *search) agreed(l load, need int) verdict {
	of := map[verdict]int{}
	for _, p := range l.phases {
		of[s.judge(p)]++
	}
	for _, v := range []verdict{lossy, carried, behind} {
		if of[v] >= need {
			return v
		}
	}
	switch {
	case len(l.phases) < 2*need-1:
		return undecided
	case of[carried] > of[behind]:
		return carried
	}
	return behind
}

// verdict is that of most phases.
func (s *search) verdict(l load) verdict {
	if len(l.phases) < 2*mostOf3 {
		return s.agreed(l, mostOf3)
	}
	return s.agreed(l, mostOf5)
}

// smallest returns the least value of the phases by which a load is not lossy: those
// that carried it, or where the sender fell behind all that lost nothing.
func (s *search) smallest(l load, value func(event.Phase) float64) float64 {
	of, least := s.verdict(l), math.Inf(1)
	for _, p := range l.phases {
		if v := s.judge(p); v == carried || v == of {
			least = min(least, value(p))
		}
	}
	return least
}

// edge is where a load bounds the rate from above: what was asked for; flat out the
// most that was offered, and where nothing was lost, what the sender does not reach.
func (s *search) edge(l load) float64 {
	if l.asked > 0 {
		return l.asked
	}
	most := 0.0
	for _, p := range l.phases {
		most = max(most, p.Reached())
	}
	if s.verdict(l) == behind {
		most *= 1 + s.width
	}
	return most
}

// reach is the rate of a load that was not lossy: what was asked for, unless the
// sender fell behind that.
func (s *search) reach(l load) float64 {
	if s.verdict(l) == carried {
		return l.asked
	}
	return s.smallest(l, event.Phase.Reached)
}

// bounds are what the loads say so far, packet/s.
type bounds struct {
	lower    *load   // the highest below lost that was carried; nil is none
	from     float64 // its rate
	upper    *load   // the lowest that was lossy, or that the sender fell behind
	to       float64 // its rate
	lost     float64 // the lowest rate that was lossy; infinite when none was
	inverted float64 // the highest rate clearly above lost that was carried all the same; 0 is none
}

// bounds looks at all loads that are decided. Flat out is no lower bound, for a load
// is to be paced.
func (s *search) bounds() bounds {
	b := bounds{to: math.Inf(1), lost: math.Inf(1)}
	for i := range s.loads {
		l := &s.loads[i]
		v := s.verdict(*l)
		if v == lossy {
			b.lost = min(b.lost, s.edge(*l))
		}
		if (v == lossy || v == behind) && s.edge(*l) < b.to {
			b.upper, b.to = l, s.edge(*l)
		}
	}
	for i := range s.loads {
		l := &s.loads[i]
		if v := s.verdict(*l); v != carried && v != behind {
			continue
		}
		r := s.reach(*l)
		if r > b.lost*(1+s.width) {
			b.inverted = max(b.inverted, r)
		}
		if l.asked > 0 && r > b.from && r < b.lost {
			b.lower, b.from = l, r
		}
	}
	return b
}

// next returns the rate of the next phase, packet/s, 0 being flat out, or that there
// is nothing left to find out.
func (s *search) next() (rate float64, done bool) {
	for _, l := range s.loads {
		if s.verdict(l) == undecided {
			return l.asked, false
		}
	}
	if len(s.loads) == 0 {
		s.restart()
		return 0, false
	}
	switch b := s.bounds(); {
	case len(s.loads) == 1:
		for _, p := range s.loads[0].phases {
			rate = max(rate, p.Carried())
		}
		rate = min(rate, b.to)
	case b.lower == nil:
		rate = b.to / s.step()
	case b.to > b.from*(1+s.width):
		rate = min(b.from*s.step(), math.Sqrt(b.from*b.to))
	default:
		s.restart()
		for _, l := range []*load{b.upper, b.lower} {
			if s.agreed(*l, mostOf5) == undecided {
				return l.asked, false
			}
		}
		return 0, true
	}
	return rate, rate < s.floor
}

// restart makes the next step one that nearly reaches the goal from a good guess.
func (s *search) restart() { s.stride = (1 + s.width) * (1 + s.width) }

// step is the factor to the next rate where only one bound is near: each is the
// square of the one before.
func (s *search) step() float64 {
	step := s.stride
	s.stride *= step
	return step
}

// add takes a phase at the rate that next returned.
func (s *search) add(p event.Phase) {
	for i := range s.loads {
		if s.loads[i].asked == p.Asked {
			s.loads[i].phases = append(s.loads[i].phases, p)
			return
		}
	}
	s.loads = append(s.loads, load{p.Asked, []event.Phase{p}})
}

func (s *search) found(done bool) event.Found {
	b := s.bounds()
	f := event.Found{Limit: event.LimitPath, Inverted: b.inverted}
	if !math.IsInf(b.lost, 1) {
		f.Upper = b.lost
	}
	if b.lower != nil {
		f.Lower, f.Load = s.smallest(*b.lower, event.Phase.Carried), b.lower.asked
	}
	switch {
	case !done:
		f.Limit = event.LimitTime
	case b.upper != nil && s.verdict(*b.upper) == behind:
		f.Limit = event.LimitSender
	}
	return f
}

// slowest is the lowest rate for which phases hold enough datagrams to tell apart
// rates that differ by width, packet/s.
func slowest(width float64, phase time.Duration) float64 { return 1 / width / phase.Seconds() }
