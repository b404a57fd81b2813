package engine

import (
	"bufio"
	"sync/atomic"
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

// A count is what a program that runs beside a measurement has done so far. Two
// of them tell what it did in between.
type count struct {
	Event string `json:"event"` // "count"
	At    int64  `json:"at"`    // ns, on the program's own clock
	// Of a server.
	Bytes    int64 `json:"bytes,omitempty"`
	Messages int64 `json:"messages,omitempty"`
	// Of a hog: ns of CPU time.
	CPU int64 `json:"cpu,omitempty"`
}

func (m *meter) count() count {
	return count{Event: "count", At: now(), Bytes: m.bytes.Load(), Messages: m.messages.Load()}
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
