package relay

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxHeld bounds the bytes that wait in a hold: a second at 500 Mbit/s, 16 ms at 30 Gbit/s.
const maxHeld = 64 << 20

// A hold keeps datagrams back, all by the same time, so that their order stays.
//
// Its clock is a timerfd. Go's own timers end up to a millisecond late where
// nothing else wakes the program up: it then waits in epoll_wait(2), which counts
// in milliseconds (runtime/netpoll_epoll.go).
type hold struct {
	delay time.Duration
	send  func([]byte)
	timer *os.File
	raw   syscall.RawConn

	mu      sync.Mutex
	waiting []held
	bytes   int      // that wait
	free    [][]byte // room for those that come
}

type held struct {
	due time.Time
	b   []byte
}

func newHold(delay time.Duration, send func([]byte)) (*hold, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	h := &hold{delay: delay, send: send, timer: os.NewFile(uintptr(fd), "timerfd")}
	if h.raw, err = h.timer.SyscallConn(); err != nil {
		return nil, errors.Join(err, h.timer.Close())
	}
	return h, nil
}

func (h *hold) close() error { return closed(h.timer.Close()) }

// put keeps a copy of b back from now on, and reports false when there is no room.
func (h *hold) put(b []byte, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes+len(b) > maxHeld {
		return false
	}
	var room []byte
	if n := len(h.free); n > 0 {
		room, h.free = h.free[n-1], h.free[:n-1]
	}
	h.bytes += len(b)
	h.waiting = append(h.waiting, held{now.Add(h.delay), append(room[:0], b...)})
	if len(h.waiting) == 1 {
		h.wake(h.delay)
	}
	return true
}

// take returns the datagram that is due, nil when none is; then the timer tells of
// the next one.
func (h *hold) take(now time.Time) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		return nil
	}
	first := h.waiting[0]
	if wait := first.due.Sub(now); wait > 0 {
		h.wake(wait)
		return nil
	}
	h.waiting = h.waiting[1:]
	h.bytes -= len(first.b)
	return first.b
}

// wake sets the timer, d > 0 from now.
func (h *hold) wake(d time.Duration) {
	_ = h.raw.Control(func(fd uintptr) { // fails when it is closed, and all is over
		_ = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	})
}

// run sends what is due until the hold is closed.
func (h *hold) run() error {
	expired := make([]byte, 8)
	for {
		if _, err := h.timer.Read(expired); err != nil {
			return closed(err)
		}
		for b := h.take(time.Now()); b != nil; b = h.take(time.Now()) {
			h.send(b)
			h.mu.Lock()
			h.free = append(h.free, b)
			h.mu.Unlock()
		}
	}
}
