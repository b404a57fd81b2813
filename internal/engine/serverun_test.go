package engine

import (
	"net/netip"
	"testing"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A server's output can wait for its reader, such as a paused terminal. It must not hold the lock meanwhile: nobody else
// would be served, and the server could not end.
func TestSaysWithoutTheLock(t *testing.T) {
	s := &server{stop: new(sock.Stopper), token: testToken, runs: map[uint32]*serverRun{}, changed: make(chan struct{})}
	said := 0
	s.say = func(string, ...any) {
		said++
		if !s.mu.TryLock() {
			t.Error("it holds the lock")
			return
		}
		s.mu.Unlock()
	}
	run, _, err := s.tryJoin(wire.Params{Run: 1, Streams: 1}, netip.IPv6Loopback())
	if err != nil {
		t.Fatal(err)
	}
	s.leave(run)
	if said != 2 {
		t.Errorf("it said %d lines, want that the run begins and that it has ended", said)
	}
}
