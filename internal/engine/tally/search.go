package tally

import (
	"math"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A Search finds the highest rate that a path carries within a bound on loss: the throughput of
// RFC 2544, section 26.1, if the bound is 0 (NDR, no-drop rate), else a partial drop rate (PDR). It
// chooses the loads and judges the results; the caller sends. Terms and method follow
// draft-ietf-bmwg-mlrsearch: several trials, here called phases, classify a load; the lowest load
// at which most phases lost is the upper bound, even if higher loads were carried (loss inversion);
// the highest carried load below it is the lower bound; and the result is the rate delivered there
// (its conditional throughput), not the rate offered.
//
// It tries, in order: as fast as the sender can; the rate that arrived; up or down from there in
// growing steps; then the middle of the two bounds on a logarithmic scale, until they are close.
// Finally it tries both bounds again, because a stall of the machine can have made one, and
// continues from any that has flipped.
type Search struct {
	Loss  float64 // largest loss to tolerate, as a share of the offered datagrams
	Width float64 // goal, above 0: upper/lower is at most 1+Width
	Floor float64 // packet/s: lowest rate to try

	loads  []load // in the order of their first phase; the first is flat out
	stride float64
}

const (
	// mostOf3 phases of a kind decide on a load at first, mostOf5 when it has become a bound.
	mostOf3 = 2
	mostOf5 = 3
	// lateness is how late the last datagram of any phase can be: a sleeping receiver has woken up
	// by then.
	lateness = 0.001 // s
)

// A Class says what became of a phase or a load.
type Class string

const (
	undecided Class = ""
	carried   Class = "carried"
	lossy     Class = "lost"
	// behind: nothing was lost, but the sender did not reach the rate.
	behind Class = "behind"
)

// Judge classifies one phase. Datagrams that arrive more slowly than they are sent are not carried:
// a growing queue loses sooner or later, and buffers often outlast a phase.
func (s *Search) Judge(p event.Phase) Class {
	switch {
	case p.Lost() > s.Loss, p.Queue > max(s.Width*p.Window, lateness):
		return lossy
	case p.Asked == 0, float64(p.Offered) > (1+s.Width)*float64(p.Tried()):
		return behind
	}
	return carried
}

// A load is a rate and all phases at it.
type load struct {
	asked  float64 // packet/s; 0 is flat out
	phases []event.Phase
}

// agreed is the class of need phases, of at most 2*need-1. If phases without loss disagree on
// whether the sender fell behind, it did.
func (s *Search) agreed(l load, need int) Class {
	of := map[Class]int{}
	for _, p := range l.phases {
		of[s.Judge(p)]++
	}
	for _, v := range []Class{lossy, carried, behind} {
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

func (s *Search) class(l load) Class {
	if len(l.phases) < 2*mostOf3 {
		return s.agreed(l, mostOf3)
	}
	return s.agreed(l, mostOf5)
}

// smallest returns the least value among the phases that make a load not lossy: those that carried
// it or, if the sender fell behind, all that lost nothing.
func (s *Search) smallest(l load, value func(event.Phase) float64) float64 {
	of, least := s.class(l), math.Inf(1)
	for _, p := range l.phases {
		if v := s.Judge(p); v == carried || v == of {
			least = min(least, value(p))
		}
	}
	return least
}

// edge is where a load bounds the rate from above: the rate asked for; flat out the highest rate
// offered and, if nothing was lost, a rate beyond the reach of the sender.
func (s *Search) edge(l load) float64 {
	if l.asked > 0 {
		return l.asked
	}
	most := 0.0
	for _, p := range l.phases {
		most = max(most, p.Reached())
	}
	if s.class(l) == behind {
		most *= 1 + s.Width
	}
	return most
}

// reach is the rate of a load that was not lossy: the rate asked for, or the rate reached if the
// sender fell behind.
func (s *Search) reach(l load) float64 {
	if s.class(l) == carried {
		return l.asked
	}
	return s.smallest(l, event.Phase.Reached)
}

// bounds is the state of the search, packet/s.
type bounds struct {
	lower    *load   // the highest carried load below lost; nil: none
	from     float64 // its rate
	upper    *load   // the lowest load that was lossy or that the sender fell behind
	to       float64 // its rate
	lost     float64 // the lowest lossy rate; infinite if there is none
	inverted float64 // the highest rate clearly above lost that was carried all the same; 0: none
}

// bounds considers all decided loads. Flat out is not a lower bound because a load is paced.
func (s *Search) bounds() bounds {
	b := bounds{to: math.Inf(1), lost: math.Inf(1)}
	for i := range s.loads {
		l := &s.loads[i]
		v := s.class(*l)
		if v == lossy {
			b.lost = min(b.lost, s.edge(*l))
		}
		if (v == lossy || v == behind) && s.edge(*l) < b.to {
			b.upper, b.to = l, s.edge(*l)
		}
	}
	for i := range s.loads {
		l := &s.loads[i]
		if v := s.class(*l); v != carried && v != behind {
			continue
		}
		r := s.reach(*l)
		if r > b.lost*(1+s.Width) {
			b.inverted = max(b.inverted, r)
		}
		if l.asked > 0 && r > b.from && r < b.lost {
			b.lower, b.from = l, r
		}
	}
	return b
}

// Next returns the rate of the next phase, packet/s (0 is flat out), or that the search is done.
func (s *Search) Next() (rate float64, done bool) {
	// A search with another goal can leave loads undecided that matter no longer.
	known := s.bounds()
	for _, l := range s.loads {
		if s.class(l) == undecided && (l.asked == 0 || l.asked > known.from && l.asked < known.to) {
			return l.asked, false
		}
	}
	if len(s.loads) == 0 {
		s.restart()
		return 0, false
	}
	switch b := known; {
	case len(s.loads) == 1:
		for _, p := range s.loads[0].phases {
			rate = max(rate, p.Carried())
		}
		rate = min(rate, b.to)
	case b.lower == nil:
		rate = b.to / s.step()
	case b.to > b.from*(1+s.Width):
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
	return rate, rate < s.Floor
}

// restart makes the next step nearly reach the goal from a good guess.
func (s *Search) restart() { s.stride = (1 + s.Width) * (1 + s.Width) }

// step is the factor to the next rate while only one bound is near, the square of the previous one.
func (s *Search) step() float64 {
	if s.stride == 0 { // another goal's search began
		s.restart()
	}
	step := s.stride
	s.stride *= step
	return step
}

// Add enters a phase at the rate that Next returned.
func (s *Search) Add(p event.Phase) {
	for i := range s.loads {
		if s.loads[i].asked == p.Asked {
			s.loads[i].phases = append(s.loads[i].phases, p)
			return
		}
	}
	s.loads = append(s.loads, load{p.Asked, []event.Phase{p}})
}

// Found returns the result so far; done means that the search is over.
func (s *Search) Found(done bool) event.Found {
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
	case b.upper != nil && s.class(*b.upper) == behind:
		f.Limit = event.LimitSender
	}
	return f
}

// Slowest is the lowest rate, packet/s, at which a phase holds enough datagrams to distinguish
// rates that differ by width.
func Slowest(width float64, phase time.Duration) float64 { return 1 / width / phase.Seconds() }
