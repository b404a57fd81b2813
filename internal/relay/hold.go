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

// A hold delays all datagrams by the same time, so they stay in order. Its clock is a timerfd: Go's
// timers fire up to a millisecond late if nothing else wakes the program, which waits in
// epoll_wait(2), whose timeout counts milliseconds (runtime/netpoll_epoll.go).
type hold struct {
	delay time.Duration
	send  func([]byte)
	timer *os.File
	raw   syscall.RawConn

	mu      sync.Mutex
	waiting []held
	bytes   int      // total size of waiting
	free    [][]byte // buffers for reuse
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

func (h *hold) close() error { return ignoreClosed(h.timer.Close()) }

// put delays a copy of b, starting now. It reports false if maxHeld is reached.
func (h *hold) put(b []byte, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes+len(b) > maxHeld {
		return false
	}
	var buf []byte
	if n := len(h.free); n > 0 {
		buf, h.free = h.free[n-1], h.free[:n-1]
	}
	h.bytes += len(b)
	h.waiting = append(h.waiting, held{now.Add(h.delay), append(buf[:0], b...)})
	if len(h.waiting) == 1 {
		h.wake(h.delay)
	}
	return true
}

// take returns the next datagram if it is due, or else nil, and sets the timer if one waits.
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

// wake sets the timer to fire d > 0 from now.
func (h *hold) wake(d time.Duration) {
	_ = h.raw.Control(func(fd uintptr) { // fails only once the timer is closed, when nothing is left to do
		_ = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	})
}

// run sends datagrams when they are due, until the hold is closed.
func (h *hold) run() error {
	expired := make([]byte, 8)
	for {
		if _, err := h.timer.Read(expired); err != nil {
			return ignoreClosed(err)
		}
		for b := h.take(time.Now()); b != nil; b = h.take(time.Now()) {
			h.send(b)
			h.mu.Lock()
			h.free = append(h.free, b)
			h.mu.Unlock()
		}
	}
}
