package tally

import (
	"sync/atomic"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A Meter counts what a server has delivered to its programs since it started, in
// all of its threads: of tcp-stream the bytes that it read, of datagrams one way the
// measured datagrams without duplicates, of requests those that it answered. A
// board cannot tell this: it is one thread's and of one run, and a thread that waits
// for its client does not look at it.
type Meter struct{ Bytes, messages atomic.Int64 }

// Add counts messages of bytes in all.
func (m *Meter) Add(messages, bytes int) {
	m.messages.Add(int64(messages))
	m.Bytes.Add(int64(bytes))
}

// Count returns the counters at a time.
func (m *Meter) Count(at int64) event.Count {
	return event.Count{Event: event.KindCount, At: at, Bytes: m.Bytes.Load(), Messages: m.messages.Load()}
}
