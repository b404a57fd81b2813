package tally

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Goals searches for several bounds on loss at once: each phase counts for all of them.
type Goals []Search

// NewGoals returns a search with a goal for each of losses, in this order.
func NewGoals(losses []float64, width, floor float64) Goals {
	var g Goals
	for _, loss := range losses {
		g = append(g, Search{Loss: loss, Width: width, Floor: floor})
	}
	return g
}

// Next returns the rate of the next phase, packet/s (0 is flat out), or that all goals are reached.
func (g Goals) Next() (rate float64, done bool) {
	for i := range g {
		if rate, done = g[i].Next(); !done {
			return rate, false
		}
	}
	return 0, true
}

// Add enters a phase at the rate that Next returned.
func (g Goals) Add(p event.Phase) {
	for i := range g {
		g[i].Add(p)
	}
}

// Found returns the result of each goal so far, as MLRsearch defines it. A goal has no numbers where time ran
// out, or where its bounds are not close.
// The loss ratio of a phase whose queue grew is 1, because a longer one would have lost. Where the sender did not reach a
// rate, the load is the rate that it reached.
func (g Goals) Found(length float64) (all []event.Goal) {
	for i := range g {
		s := &g[i]
		_, done := s.Next()
		found := event.Goal{Loss: s.Loss, Limit: s.Found(done).Limit}
		if done {
			goal := Goal{Loss: s.Loss, Exceed: 0.5, Trial: length, Sum: (2*mostOf5 - 1) * length}
			found.Lower, found.Upper, found.Throughput = goal.Result(s.trials(length))
		}
		switch wide := found.Upper > found.Lower*(1+s.Width)*(1+s.Width); {
		case found.Limit == event.LimitSender: // a rate that lost, if there is one, is far above
			found.Upper = 0
		case wide: // the sender stalled at the rates in between
			found.Lower, found.Upper, found.Throughput = 0, 0, 0
		}
		all = append(all, found)
	}
	return all
}

// trials returns the phases as trials of MLRsearch. Flat out has no intended load: its phases are at the highest rate
// offered in them, and bound from above alone.
func (s *Search) trials(length float64) (all []Trial) {
	for _, l := range s.loads {
		load, whole := s.edge(l), s.class(l)
		if whole == carried || whole == behind {
			load = min(l.asked, s.reached(l))
		}
		for _, p := range l.phases {
			t := Trial{Load: load, Duration: length, Loss: p.Lost()}
			switch class := s.Judge(p); {
			case load == 0, class == behind && (whole == lossy || p.Reached() < load):
				continue
			case class == lossy && t.Loss <= s.Loss:
				t.Loss = 1
			}
			all = append(all, t)
		}
	}
	return all
}

// reached is the highest rate that the sender reached in as many phases that were not lossy as decide on a bound.
func (s *Search) reached(l load) float64 {
	var rates []float64
	for _, p := range l.phases {
		if s.Judge(p) != lossy {
			rates = append(rates, p.Reached())
		}
	}
	slices.Sort(rates)
	return rates[max(0, len(rates)-mostOf5)]
}

// A Goal is a search goal of draft-ietf-bmwg-mlrsearch, apart from what only guides the search.
type Goal struct {
	Loss   float64 // goal loss ratio: a trial that lost more is bad
	Exceed float64 // goal exceed ratio: the share of the duration sum that bad trials can have at a lower bound
	Trial  float64 // goal final trial duration, s: a shorter trial only outweighs other short ones
	Sum    float64 // goal duration sum, s: how much decides on a load
}

// A Trial is a trial at an intended load, packet/s, for a duration, s. Loss is its loss ratio.
type Trial struct {
	Load     float64 `json:"load"`
	Duration float64 `json:"duration"`
	Loss     float64 `json:"loss"`
}

// Result returns the relevant bounds and the conditional throughput, packet/s. 0 is a bound that the trials do not show.
func (g Goal) Result(trials []Trial) (lower, upper, throughput float64) {
	at := map[float64][]Trial{}
	for _, t := range trials {
		at[t.Load] = append(at[t.Load], t)
	}
	for _, load := range slices.Sorted(maps.Keys(at)) {
		switch best, worst := g.canHold(at[load]); {
		case best != worst: // more trials could decide
		case !best:
			return lower, load, throughput
		default:
			lower, throughput = load, load*(1-g.quantile(at[load]))
		}
	}
	return lower, upper, throughput
}

// canHold reports whether the load of trials is a lower bound if all trials that its duration sum lacks are good, and
// if all are bad.
func (g Goal) canHold(trials []Trial) (best, worst bool) {
	var good, bad, goodShort, badShort float64 // s
	for _, t := range trials {
		sum := &good
		switch long := t.Duration >= g.Trial; {
		case long && t.Loss > g.Loss:
			sum = &bad
		case !long && t.Loss > g.Loss:
			sum = &badShort
		case !long:
			sum = &goodShort
		}
		*sum += t.Duration
	}
	excess := bad + max(0, badShort-goodShort*g.Exceed/(1-g.Exceed))
	sum := max(good+excess, g.Sum)
	return excess <= sum*g.Exceed, sum-good <= sum*g.Exceed
}

// quantile is the loss ratio that at most the exceed ratio of the duration sum is above, if everything that the sum
// lacks was lost.
func (g Goal) quantile(trials []Trial) float64 {
	long := slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return t.Duration < g.Trial })
	slices.SortFunc(long, func(a, b Trial) int { return cmp.Compare(a.Loss, b.Loss) })
	sum := 0.0
	for _, t := range long {
		sum += t.Duration
	}
	rest := max(g.Sum, sum) * (1 - g.Exceed)
	for _, t := range long {
		if rest -= t.Duration; rest <= 0 {
			return t.Loss
		}
	}
	return 1
}
