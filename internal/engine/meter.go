package engine

import (
	"bufio"
	"sync/atomic"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A meter counts what a server has delivered to its programs since it started, in
// all of its threads: of tcp-stream the bytes that it read, of datagrams one way the
// measured datagrams without duplicates, of requests those that it answered. A
// board cannot tell this: it is one thread's and of one run, and a thread that waits
// for its client does not look at it.
type meter struct{ bytes, messages atomic.Int64 }

// add counts messages of bytes in all.
func (m *meter) add(messages, bytes int) {
	m.messages.Add(int64(messages))
	m.bytes.Add(int64(bytes))
}

func (m *meter) count() event.Count {
	return event.Count{Event: event.KindCount, At: now(), Bytes: m.bytes.Load(), Messages: m.messages.Load()}
}

// answer prints what is returns for every question, until there are no more.
func (e events) answer(is func() any) {
	if e.questions == nil {
		return
	}
	for lines := bufio.NewScanner(e.questions); lines.Scan(); {
		if e.print(is()) != nil {
			return // nobody reads any more
		}
	}
}
