package tally

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Counts are the counters of the measured window so far.
type Counts struct {
	At    int64 `json:"at"`    // ns since the count began, on the counting thread's clock
	Count int64 `json:"count"` // datagrams delivered, or transactions
	Bytes int64 `json:"bytes"` // of payload, delivered
	Lost  int64 `json:"lost"`  // datagrams that the socket dropped, or requests given up
}

// A Board is where a busy thread posts its counters on request. Without a request it costs the
// thread the load of a flag; a nil Board costs less.
type Board struct {
	asked  atomic.Bool
	posted chan Counts

	mu sync.Mutex // of the askers

	over chan struct{} // closed when last is valid
	last Counts
}

func NewBoard() *Board { return &Board{posted: make(chan Counts, 1), over: make(chan struct{})} }

// Wanted reports whether a reader waits for a post.
func (b *Board) Wanted() bool { return b != nil && b.asked.Load() }

// Post answers the request, if it still stands.
func (b *Board) Post(t Counts) {
	if b.asked.CompareAndSwap(true, false) {
		b.posted <- t // has room: the asker has emptied it
	}
}

// Close posts for all later requests.
func (b *Board) Close(t Counts) {
	if b != nil {
		b.last = t
		close(b.over)
	}
}

// boardPatience is longer than any thread of the engine goes without checking its Board.
const boardPatience = 500 * time.Millisecond

// Ask returns the counters; ok is false if the thread does not answer.
func (b *Board) Ask() (c Counts, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.posted: // late, for an asker that has given up
	default:
	}
	b.asked.Store(true)
	select {
	case t := <-b.posted:
		return t, true
	case <-b.over:
		return b.last, true
	case <-time.After(boardPatience):
		if b.asked.CompareAndSwap(true, false) {
			return Counts{}, false
		}
		return <-b.posted, true // just now
	}
}

// A Meter counts what a server has delivered to its programs since it started, over all threads:
// bytes read for tcp-stream, measured datagrams without duplicates for one-way datagrams, answered
// requests otherwise. A Board covers only one thread and one run, and a thread that waits for its
// client does not check it.
type Meter struct{ Bytes, messages atomic.Int64 }

// Add counts messages that hold bytes in total.
func (m *Meter) Add(messages, bytes int) {
	m.messages.Add(int64(messages))
	m.Bytes.Add(int64(bytes))
}

// Messages returns how many were counted so far.
func (m *Meter) Messages() int64 { return m.messages.Load() }

func (m *Meter) Count(at int64) event.Count {
	return event.Count{Event: event.KindCount, At: at, Bytes: m.Bytes.Load(), Messages: m.messages.Load()}
}
