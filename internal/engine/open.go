package engine

import (
	"context"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
)

// maxOutstanding bounds the table of udp-open: half a second at the highest rate.
const maxOutstanding = 1 << 19

// outstanding returns room for the requests of twice event.ReplyTimeout, as a power of
// two. A sender that catches up after a long stall may need more; these requests count
// as lost.
func outstanding(rate float64) int {
	n := 1024
	for float64(n) < 2*rate*event.ReplyTimeout.Seconds() && n < maxOutstanding {
		n *= 2
	}
	return n
}

func runUDPOpen(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	var r event.Open
	err := runUDP(ctx, c, s, out, outstanding(c.rate), func(a *udpAsker) (err error) {
		r, err = a.open(out)
		return err
	}, &r.RR)
	return r, err
}

// open sends on a schedule. It must run on a thread of its own.
func (a *udpAsker) open(out events) (r event.Open, err error) {
	interval := 1e9 / a.c.rate
	err = a.warmUp(func(d time.Duration) error {
		_, _, err := a.schedule(interval, int64(d), false)
		return err
	})
	if err != nil {
		return r, err
	}
	if err := out.begin(); err != nil {
		return r, err
	}
	a.began = sock.Now()
	offered, late, err := a.schedule(interval, int64(a.c.Duration), true)
	if err != nil {
		return r, err
	}
	window := sock.Now() - a.began
	a.board.Close(a.tally(sock.Now()))
	if err := out.end(); err != nil {
		return r, err
	}
	for a.book.Expire(nil, sock.Now()); a.book.Pending > 0; a.book.Expire(nil, sock.Now()) {
		if err := a.listen(sock.Now() + int64(askEvery)); err != nil {
			return r, err
		}
	}
	if r.RR, err = a.result(window); err != nil {
		return r, err
	}
	r.Inflight = 0
	r.Rate, r.Offered, r.LateSends, r.Stalls = a.c.rate, offered, late, a.book.Stalls
	return r, nil
}

// schedule sends a request every interval for d nanoseconds, catching up when it falls
// behind. It returns how many requests the schedule held and how many of them were
// late.
func (a *udpAsker) schedule(interval float64, d int64, measured bool) (offered, late int64, err error) {
	begin := sock.Now()
	offered = int64(math.Ceil(float64(d) / interval))
	a.heard = begin
	for k := int64(0); k < offered; k++ {
		due := begin + int64(float64(k)*interval)
		if err := a.listen(due); err != nil {
			return offered, late, err
		}
		t := sock.Now()
		if t-begin >= d {
			late += offered - k // they never leave
			break
		}
		if float64(t-due) > interval {
			late++
		}
		if t-a.heard > int64(a.c.timeout) && float64(t-a.heard) > 3*interval {
			return offered, late, fmt.Errorf("no reply for %v: %w", a.c.timeout, sock.ErrSilent)
		}
		if err := a.send(int(a.seq%uint64(len(a.book.Slots))), due, measured); err != nil {
			return offered, late, err
		}
	}
	return offered, late, a.listen(begin + d)
}

// listen reads replies until t, and those that are waiting then.
func (a *udpAsker) listen(t int64) error {
	for {
		left := t - sock.Now()
		if a.asker.stop.Stopped() {
			return sock.ErrStopped
		}
		if left > sock.SpinBelow && !a.c.Spin {
			a.doze(left - sock.SpinBelow)
		}
		// Poll during the last moment: waking up takes about as long.
		freed, err := a.receive(unix.MSG_DONTWAIT)
		if err == nil {
			err = a.record()
		}
		if err != nil {
			return err
		}
		a.tell()
		if len(freed) > 0 {
			a.heard = sock.Now()
		} else if left <= 0 {
			return nil
		}
	}
}

// doze waits for a reply, for at most d nanoseconds. It reads pending stamps, which
// would end every doze at once.
func (a *udpAsker) doze(d int64) {
	a.poll[0] = unix.PollFd{Fd: int32(a.fd), Events: unix.POLLIN}
	wait := unix.NsecToTimespec(min(d, int64(sock.Tick)))
	n, err := unix.Ppoll(a.poll[:], &wait, nil)
	if err == nil && n > 0 && a.poll[0].Revents&unix.POLLERR != 0 {
		a.samples.Collect(a.sock)
	}
}
