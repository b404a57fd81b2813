package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

// A tally is what has been counted so far of the measured window.
type tally struct {
	At    int64 `json:"at"`    // ns since the count began, on the clock of who counts
	Count int64 `json:"count"` // datagrams delivered, or transactions
	Bytes int64 `json:"bytes"` // of payload, delivered
	Lost  int64 `json:"lost"`  // datagrams that the socket dropped, or requests that were given up
}

// A board is where a busy thread posts its counters for somebody who asks. As
// long as nobody does, it costs the thread the load of a flag; nil costs less.
type board struct {
	asked  atomic.Bool
	posted chan tally

	mu sync.Mutex // of those who ask

	over chan struct{} // closed when last holds
	last tally
}

func newBoard() *board {
	return &board{posted: make(chan tally, 1), over: make(chan struct{})}
}

// wanted reports whether somebody waits for a post.
func (b *board) wanted() bool { return b != nil && b.asked.Load() }

// post answers who asked.
func (b *board) post(t tally) {
	if b.asked.CompareAndSwap(true, false) {
		b.posted <- t // there is room: who asked has emptied it
	}
}

// close posts for all who will ask.
func (b *board) close(t tally) {
	if b != nil {
		b.last = t
		close(b.over)
	}
}

// boardPatience is longer than any thread of the engine goes without a look.
const boardPatience = 500 * time.Millisecond

// ask returns the counters, and false when the thread does not answer.
func (b *board) ask() (tally, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.posted: // late, for somebody who has given up
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
			return tally{}, false
		}
		return <-b.posted, true // just now
	}
}
