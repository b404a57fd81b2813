// Package tally counts: requests and their replies (Ledger), datagrams that arrived
// (Receiver), time stamps and what they add up to (Samples), the decisions of a search
// for a rate (Search), and what one thread tells another meanwhile (Board, Meter).
//
// It makes no system call, opens nothing and looks at no clock: times are arguments, so
// that it is tested without sockets. What hot loops call does not allocate.
package tally

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
)

// StallBound is a response time that no path explains: a processor was away.
const StallBound = int64(50e6) // ns

// A Ledger keeps the outstanding requests of a client and what became of all of
// them. It makes no system call and does not look at a clock.
type Ledger struct {
	Slots   []Slot
	Timeout int64 // ns after which a request is lost; 0 is never
	Pending int   // measured requests that are outstanding

	Hist     *hdrhistogram.Histogram // of response times, ns
	Requests int64                   // measured
	Answered int64
	Lost     int64
	Late     int64 // replies after the timeout, and duplicates; to all requests
	Stalls   int64 // periods in which response times were above StallBound
	stalled  int64 // when the last stall ended
}

// A Slot is room for one outstanding request.
type Slot struct {
	busy, Measured bool
	Seq            uint64
	Start          int64 // from which its response time counts
	Sent           int64 // from which its time-out counts
	Sample         int   // its number among the samples, -1 when it is not stamped
}

func NewLedger(slots int, timeout time.Duration) Ledger {
	return Ledger{Slots: make([]Slot, slots), Timeout: int64(timeout), Hist: event.NewHist()}
}

// Open enters a request. One that is still in its slot is lost.
func (l *Ledger) Open(i int, x Slot) {
	l.lose(i)
	x.busy = true
	l.Slots[i] = x
	if x.Measured {
		l.Requests++
		l.Pending++
	}
}

// close empties a slot and returns what was in it.
func (l *Ledger) close(i int) Slot {
	x := l.Slots[i]
	l.Slots[i].busy = false
	if x.busy && x.Measured {
		l.Pending--
	}
	return x
}

// lose gives a request up.
func (l *Ledger) lose(i int) {
	if x := l.close(i); x.busy && x.Measured {
		l.Lost++
	}
}

// Reply enters that a reply came at t, and returns its request, which is to be
// recorded. It reports false when that is not outstanding, or was for so long that
// it is lost.
func (l *Ledger) Reply(i int, seq uint64, t int64) (Slot, bool) {
	if i < 0 || i >= len(l.Slots) || !l.Slots[i].busy || l.Slots[i].Seq != seq {
		l.Late++
		return Slot{}, false
	}
	if l.expired(i, t) {
		l.Late++ // whoever looks for lost requests frees the slot
		return Slot{}, false
	}
	return l.close(i), true
}

// Record enters the response time of a request that was answered at t.
func (l *Ledger) Record(x Slot, t int64) error {
	if !x.Measured {
		return nil
	}
	l.Answered++
	rtt := max(t-x.Start, event.HistLowest)
	if rtt > StallBound {
		if x.Start > l.stalled || l.Stalls == 0 {
			l.Stalls++
		}
		l.stalled = t
	}
	return l.Hist.RecordValue(rtt)
}

// Enter enters a request that has been answered already, at t.
func (l *Ledger) Enter(x Slot, t int64) error {
	l.Open(0, x)
	l.close(0)
	return l.Record(x, t)
}

// expired reports whether slot i holds a request that is lost at t.
func (l *Ledger) expired(i int, t int64) bool {
	return l.Slots[i].busy && l.Timeout > 0 && t-l.Slots[i].Sent > l.Timeout
}

// Expire gives up the requests that are lost at t, and appends their slots to free.
func (l *Ledger) Expire(free []int, t int64) []int {
	for i := range l.Slots {
		if l.expired(i, t) {
			l.lose(i)
			free = append(free, i)
		}
	}
	return free
}
