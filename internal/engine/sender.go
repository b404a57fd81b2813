package engine

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// A sender sends datagrams over a path, either as fast as it can or on a
// schedule of absolute times: datagram k is due at k times the interval. A
// sender that falls behind catches up, and what it cannot catch up with by the
// end was offered and not sent.
type sender struct {
	path     txPath
	batch    int     // datagrams per call; 0 is 1
	interval float64 // ns; 0 is no schedule
	whole    bool    // what is too large is never fragmented
	first    uint64  // number of the first datagram of the next run
	stop     *stopper

	offered, sent            int64
	took                     int64 // ns of sending: the whole window, and more when the last call took longer
	refused                  int64 // datagrams that a queue of this machine did not take, or that were too large
	noBuffer, full, tooLarge int64 // attempts that failed with ENOBUFS, EAGAIN, EMSGSIZE
}

// spinBelow is how long before its time a datagram is waited for by looking at
// the clock: waking up from a sleep takes about this long.
const spinBelow = 60_000 // ns

// run sends for d nanoseconds and counts from zero. On a schedule a batch leaves
// when its first datagram is due, the others ahead of their time. ENOBUFS, EAGAIN
// and EMSGSIZE cost what was tried; any other error ends the run, for the server
// or the way to it is gone, and so does EMSGSIZE where nothing will be fragmented.
func (x *sender) run(k kind, d int64) error {
	x.offered, x.sent, x.refused, x.noBuffer, x.full, x.tooLarge = 0, 0, 0, 0, 0, 0
	begin := now()
	slots := int64(math.MaxInt64)
	if x.interval > 0 {
		slots = int64(math.Ceil(float64(d) / x.interval))
	}
	attempts := int64(0)
	for attempts < slots {
		t := now()
		if x.interval > 0 {
			t = x.wait(t, begin+int64(float64(attempts)*x.interval))
		}
		if x.stop.stopped() {
			return errStopped
		}
		if t-begin >= d {
			break
		}
		n := min(int64(max(x.batch, 1)), slots-attempts)
		sent, tried, errno := x.path.send(k, x.first+uint64(x.sent), int(n), t)
		x.sent += int64(sent)
		attempts += int64(tried)
		if errno != 0 && !x.forgive(errno, int64(tried)) {
			return errno
		}
		if !again(errno) {
			x.refused += int64(tried - sent)
		}
	}
	x.offered, x.took = attempts, max(now()-begin, d)
	if x.interval > 0 {
		x.offered = slots
		x.wait(now(), begin+d)
	}
	return nil
}

// forgive counts an error of n attempts that says nothing of the next ones.
func (x *sender) forgive(errno unix.Errno, n int64) bool {
	switch {
	case errno == unix.ENOBUFS:
		x.noBuffer += n
	case again(errno):
		x.full += n
	case errno == unix.EMSGSIZE && !x.whole:
		x.tooLarge += n
	default:
		return false
	}
	return true
}

// wait returns at the time until, when t is now: it sleeps, and looks at the
// clock for the last moment. It returns the time.
func (x *sender) wait(t, until int64) int64 {
	for ; t < until && !x.stop.stopped(); t = now() {
		if left := until - t; left > spinBelow {
			hotNap(time.Duration(min(left-spinBelow, int64(tick)))) // a nap cut short is followed by another
		}
	}
	return t
}

func (x *sender) errors() map[string]int64 {
	return map[string]int64{"ENOBUFS": x.noBuffer, "EAGAIN": x.full, "EMSGSIZE": x.tooLarge}
}
