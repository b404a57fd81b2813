package tally

import (
	"time"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// Arrivals holds what the server of udp-outage knows about the requests of a run. Every reply reports it. Times are ns
// on one clock.
type Arrivals struct {
	limit   int64 // a longer time without an arrival is a gap
	known   Receiver
	told    wire.Arrival
	last    int64 // arrival
	replied int64 // when the last reply left
	alive   int64 // when the program last ran, of a stream
}

// NewArrivals counts a run in which a longer time than limit without an arrival is a gap.
func NewArrivals(limit time.Duration) *Arrivals { return &Arrivals{limit: int64(limit)} }

// Add enters a request that came at t. It enters a duplicate only as the one to reply to.
func (a *Arrivals) Add(seq uint64, t, dropped int64) {
	t = max(t, a.last) // stamps of two CPUs can be in the wrong order
	a.told.At, a.told.Dropped = t, dropped
	if a.known.duplicate(seq) {
		return
	}
	a.told.Count++
	if gap := t - a.last; a.last > 0 && gap > a.limit {
		a.told.GapBegin, a.told.GapEnd = a.last, t
		a.told.Gaps += gap
	}
	a.last = t
}

// TellStream is Tell for a stream, whose bytes do not have a stamp each: the kernel joins what comes while the program
// is away and keeps the last. So the program says when it runs (Alive), at least every millisecond, and all times
// between are added up.
func (a *Arrivals) TellStream(t int64) wire.Arrival {
	a.Alive(t, true)
	a.told.Turn = 0
	return a.told
}

// Alive records that the program runs at t, and whether something has come since it last did: otherwise nothing waited for it.
func (a *Arrivals) Alive(t int64, came bool) {
	if away := t - a.alive; came && a.alive > 0 && away > 2*int64(time.Millisecond) {
		a.told.Stalled += away
	}
	a.alive = t
}

// Blocked records that the path did not take a reply until t: the program was not away.
func (a *Arrivals) Blocked(t int64) { a.alive = t }

// Tell returns what to write into a reply that leaves at t.
func (a *Arrivals) Tell(t int64) wire.Arrival {
	a.told.Turn = max(0, t-a.told.At)
	if waited := t - max(a.told.At, a.replied); waited > int64(time.Millisecond) {
		a.told.Stalled += waited
	}
	a.replied = t
	return a.told
}
