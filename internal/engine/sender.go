package engine

import (
	"math"

	"golang.org/x/sys/unix"
)

// A sender sends datagrams over a path, either as fast as it can or on a
// schedule of absolute times: datagram k is due at k times the interval. A
// sender that falls behind catches up, and what it cannot catch up with by the
// end was offered and not sent.
type sender struct {
	path     txPath
	interval float64 // ns; 0 is no schedule
	stop     *stopper

	offered, sent            int64
	noBuffer, full, tooLarge int64 // attempts that failed with ENOBUFS, EAGAIN, EMSGSIZE
}

// spinBelow is how long before its time a datagram is waited for by looking at
// the clock: waking up from a sleep takes about this long.
const spinBelow = 60_000 // ns

// run sends for d nanoseconds and counts from zero. ENOBUFS, EAGAIN and EMSGSIZE
// cost one attempt each; any other error ends the run, for the server or the
// way to it is gone.
func (x *sender) run(k kind, d int64) error {
	x.offered, x.sent, x.noBuffer, x.full, x.tooLarge = 0, 0, 0, 0, 0
	begin := now()
	due, slots := int64(0), int64(math.MaxInt64)
	if x.interval > 0 {
		slots = int64(math.Ceil(float64(d) / x.interval))
	}
	attempts := int64(0)
	for ; attempts < slots; attempts++ {
		if x.interval > 0 {
			due = int64(float64(attempts) * x.interval)
			x.wait(begin + due)
		}
		if x.stop.stopped() {
			return errStopped
		}
		if now()-begin >= d {
			break
		}
		n, errno := x.path.send(k, uint64(x.sent), 1)
		x.sent += int64(n)
		switch errno {
		case 0:
		case unix.ENOBUFS:
			x.noBuffer++
		case unix.EAGAIN, unix.EINTR:
			x.full++
		case unix.EMSGSIZE:
			x.tooLarge++
		default:
			return errno
		}
	}
	x.offered = attempts
	if x.interval > 0 {
		x.offered = slots
		x.wait(begin + d)
	}
	return nil
}

// wait returns at t: it sleeps, and looks at the clock for the last moment.
func (x *sender) wait(t int64) {
	for {
		left := t - now()
		if left <= 0 || x.stop.stopped() {
			return
		}
		if left > spinBelow {
			nap := unix.NsecToTimespec(min(left-spinBelow, int64(tick)))
			unix.Nanosleep(&nap, nil) // a nap cut short is followed by another
		}
	}
}

func (x *sender) errors() map[string]int64 {
	return map[string]int64{"ENOBUFS": x.noBuffer, "EAGAIN": x.full, "EMSGSIZE": x.tooLarge}
}
