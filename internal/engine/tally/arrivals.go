package tally

import (
	"time"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// Arrivals is what the server of udp-outage knows of the requests of a run, to tell it in every reply. Times are ns on one
// clock.
type Arrivals struct {
	limit   int64 // a longer time without an arrival is a gap
	known   Receiver
	told    wire.Arrival
	last    int64 // arrival
	replied int64 // when the last reply left
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

// Tell returns what to write into a reply that leaves at t.
func (a *Arrivals) Tell(t int64) wire.Arrival {
	a.told.Turn = max(0, t-a.told.At)
	if waited := t - max(a.told.At, a.replied); waited > int64(time.Millisecond) {
		a.told.Stalled += waited
	}
	a.replied = t
	return a.told
}
