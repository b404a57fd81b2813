// Package tally counts requests and replies (Ledger), datagrams that arrived (Receiver), time
// stamps and their sums (Samples), the steps of a search for a rate (Search), and what a
// server has delivered (Meter).
//
// It makes no system calls and reads no clock: times are arguments, so tests need no sockets. Functions for hot loops do not allocate.
package tally

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
)

// StallBound is a response time that means that a CPU was busy elsewhere, on any path.
const StallBound = int64(50e6) // ns

// A Ledger holds a client's outstanding requests and counts the outcomes of all.
type Ledger struct {
	Slots   []Slot
	used    int   // slots that have held a request are before this one
	Timeout int64 // ns after which a request is lost; 0: never
	Pending int   // measured requests that are outstanding
	Waiting int   // requests, measured or not, that are outstanding and not overdue

	Hist     *hdrhistogram.Histogram // of response times, ns
	Plain    *hdrhistogram.Histogram // of those of unmarked requests
	Requests int64                   // measured
	Answered int64
	Lost     int64
	Late     int64 // replies after the timeout, and duplicates, warm-up included
	Stalls   int64 // periods in which response times were above StallBound
	stalled  int64 // when the last stall ended
}

type Slot struct {
	busy, Measured bool
	overdue        bool
	Seq            uint64
	Start          int64 // of its response time
	Sent           int64 // of its timeout
	Marked         bool  // at least the reply is stamped, which takes time
	Sample         int   // its index among the samples, -1 if it is none
}

func NewLedger(slots int, timeout time.Duration) Ledger {
	return Ledger{Slots: make([]Slot, slots), Timeout: int64(timeout), Hist: event.NewHist(), Plain: event.NewHist()}
}

// Open enters a request. A request still in the slot is lost.
func (l *Ledger) Open(i int, x Slot) {
	l.lose(i)
	x.busy = true
	l.Slots[i] = x
	l.used = max(l.used, i+1)
	l.Waiting++
	if x.Measured {
		l.Requests++
		l.Pending++
	}
}

func (l *Ledger) close(i int) Slot {
	x := l.Slots[i]
	l.Slots[i].busy = false
	if x.busy && x.Measured {
		l.Pending--
	}
	if x.busy && !x.overdue {
		l.Waiting--
	}
	return x
}

func (l *Ledger) lose(i int) {
	if x := l.close(i); x.busy && x.Measured {
		l.Lost++
	}
}

// Reply returns the request of a reply that came at t, for Record. ok is false if the request is
// not outstanding or has timed out.
func (l *Ledger) Reply(i int, seq uint64, t int64) (Slot, bool) {
	if i < 0 || i >= len(l.Slots) || !l.Slots[i].busy || l.Slots[i].Seq != seq {
		l.Late++
		return Slot{}, false
	}
	if l.expired(i, t) {
		l.Late++ // Expire frees the slot
		return Slot{}, false
	}
	return l.close(i), true
}

// Record enters the response time of a request answered at t.
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
	if !x.Marked {
		_ = l.Plain.RecordValue(rtt) // fails only as Hist does
	}
	return l.Hist.RecordValue(rtt)
}

// Enter opens and records a request answered at t.
func (l *Ledger) Enter(x Slot, t int64) error {
	l.Open(0, x)
	l.close(0)
	return l.Record(x, t)
}

func (l *Ledger) expired(i int, t int64) bool {
	return l.Slots[i].busy && l.Timeout > 0 && t-l.Slots[i].Sent > l.Timeout
}

// Overdue stops waiting for requests that have been outstanding for longer than patience, ns, at time t,
// and reports whether it found any. Their replies count until they expire.
func (l *Ledger) Overdue(t, patience int64) (any bool) {
	for i := range l.used {
		if x := &l.Slots[i]; x.busy && !x.overdue && l.Timeout > 0 && t-x.Sent > patience {
			x.overdue, any = true, true
			l.Waiting--
		}
	}
	return any
}

// Expire gives up the requests lost at time t and appends their slots to free.
func (l *Ledger) Expire(free []int, t int64) []int {
	for i := range l.used {
		if l.expired(i, t) {
			l.lose(i)
			free = append(free, i)
		}
	}
	return free
}
