package engine

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
)

// stallBound is a response time that no path explains: a processor was away.
const stallBound = int64(50e6) // ns

// A ledger keeps the outstanding requests of a client and what became of all of
// them. It makes no system call and does not look at a clock.
type ledger struct {
	slots   []slot
	timeout int64 // ns after which a request is lost; 0 is never
	pending int   // measured requests that are outstanding

	hist     *hdrhistogram.Histogram // of response times, ns
	requests int64                   // measured
	answered int64
	lost     int64
	late     int64 // replies after the timeout, and duplicates; to all requests
	stalls   int64 // periods in which response times were above stallBound
	stalled  int64 // when the last stall ended
}

// A slot is room for one outstanding request.
type slot struct {
	busy, measured bool
	seq            uint64
	start          int64 // from which its response time counts
	sent           int64 // from which its time-out counts
	sample         int   // its number among the samples, -1 when it is not stamped
}

func newLedger(slots int, timeout time.Duration) ledger {
	return ledger{slots: make([]slot, slots), timeout: int64(timeout), hist: event.NewHist()}
}

// open enters a request. One that is still in its slot is lost.
func (l *ledger) open(i int, x slot) {
	l.lose(i)
	x.busy = true
	l.slots[i] = x
	if x.measured {
		l.requests++
		l.pending++
	}
}

// close empties a slot and returns what was in it.
func (l *ledger) close(i int) slot {
	x := l.slots[i]
	l.slots[i].busy = false
	if x.busy && x.measured {
		l.pending--
	}
	return x
}

// lose gives a request up.
func (l *ledger) lose(i int) {
	if x := l.close(i); x.busy && x.measured {
		l.lost++
	}
}

// reply enters that a reply came at t, and returns its request, which is to be
// recorded. It reports false when that is not outstanding, or was for so long that
// it is lost.
func (l *ledger) reply(i int, seq uint64, t int64) (slot, bool) {
	if i < 0 || i >= len(l.slots) || !l.slots[i].busy || l.slots[i].seq != seq {
		l.late++
		return slot{}, false
	}
	if l.expired(i, t) {
		l.late++ // whoever looks for lost requests frees the slot
		return slot{}, false
	}
	return l.close(i), true
}

// record enters the response time of a request that was answered at t.
func (l *ledger) record(x slot, t int64) error {
	if !x.measured {
		return nil
	}
	l.answered++
	rtt := max(t-x.start, event.HistLowest)
	if rtt > stallBound {
		if x.start > l.stalled || l.stalls == 0 {
			l.stalls++
		}
		l.stalled = t
	}
	return l.hist.RecordValue(rtt)
}

// enter enters a request that has been answered already, at t.
func (l *ledger) enter(x slot, t int64) error {
	l.open(0, x)
	l.close(0)
	return l.record(x, t)
}

// expired reports whether slot i holds a request that is lost at t.
func (l *ledger) expired(i int, t int64) bool {
	return l.slots[i].busy && l.timeout > 0 && t-l.slots[i].sent > l.timeout
}
