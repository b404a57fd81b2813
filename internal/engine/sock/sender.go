package sock

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// A Sender sends datagrams over a path, as fast as it can or on a schedule of absolute
// times: datagram k is due at k times the interval. A sender that falls behind catches
// up; datagrams that it cannot send by the end count as offered, not as sent.
type Sender struct {
	Path     Path
	Batch    int     // datagrams per call; 0 is 1
	Interval float64 // ns; 0: no schedule
	Whole    bool    // never fragment: too large a datagram is an error
	First    uint64  // number of the first datagram of the next run
	Stop     *Stopper

	Offered, Sent            int64
	Took                     int64 // ns of sending: the whole window, longer if the last call was
	Refused                  int64 // datagrams that a queue of this machine refused, or that were too large
	noBuffer, full, tooLarge int64 // attempts that failed with ENOBUFS, EAGAIN, EMSGSIZE
}

// SpinBelow is how long before its time a sender stops sleeping and watches the clock
// instead: waking up takes about this long.
const SpinBelow = 60_000 // ns

// Run sends for d nanoseconds, counting from zero. On a schedule a batch leaves when
// its first datagram is due, so the others are early. ENOBUFS, EAGAIN and EMSGSIZE cost
// only what was tried. Any other error ends the run because the server or the route to
// it is gone, and so does EMSGSIZE if Whole.
func (x *Sender) Run(k wire.Kind, d int64) error {
	x.Offered, x.Sent, x.Refused, x.noBuffer, x.full, x.tooLarge = 0, 0, 0, 0, 0, 0
	begin := Now()
	slots := int64(math.MaxInt64)
	if x.Interval > 0 {
		slots = int64(math.Ceil(float64(d) / x.Interval))
	}
	attempts := int64(0)
	for attempts < slots {
		t := Now()
		if x.Interval > 0 {
			t = x.wait(t, begin+int64(float64(attempts)*x.Interval))
		}
		if x.Stop.Stopped() {
			return ErrStopped
		}
		if t-begin >= d {
			break
		}
		n := min(int64(max(x.Batch, 1)), slots-attempts)
		sent, tried, errno := x.Path.Send(k, x.First+uint64(x.Sent), int(n), t)
		x.Sent += int64(sent)
		attempts += int64(tried)
		if errno != 0 && !x.forgive(errno, int64(tried)) {
			return errno
		}
		if !Again(errno) {
			x.Refused += int64(tried - sent)
		}
	}
	x.Offered, x.Took = attempts, max(Now()-begin, d)
	if x.Interval > 0 {
		x.Offered = slots
		x.wait(Now(), begin+d)
	}
	return nil
}

// forgive counts an error of n attempts that says nothing about the next ones.
func (x *Sender) forgive(errno unix.Errno, n int64) bool {
	switch {
	case errno == unix.ENOBUFS:
		x.noBuffer += n
	case Again(errno):
		x.full += n
	case errno == unix.EMSGSIZE && !x.Whole:
		x.tooLarge += n
	default:
		return false
	}
	return true
}

// wait sleeps until shortly before a time, then watches the clock, and returns the
// time; t is now.
func (x *Sender) wait(t, until int64) int64 {
	for ; t < until && !x.Stop.Stopped(); t = Now() {
		if left := until - t; left > SpinBelow {
			HotNap(time.Duration(min(left-SpinBelow, int64(Tick)))) // a nap cut short is repeated
		}
	}
	return t
}

// Errors returns the failed attempts by error.
func (x *Sender) Errors() map[string]int64 {
	return map[string]int64{"ENOBUFS": x.noBuffer, "EAGAIN": x.full, "EMSGSIZE": x.tooLarge}
}
