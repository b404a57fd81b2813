package tally

import (
	"sync/atomic"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A Meter counts what a server has delivered to its programs since it started, over all threads:
// bytes read for tcp-stream, measured datagrams without duplicates for one-way datagrams, answered
// requests otherwise.
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
