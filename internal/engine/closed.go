package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
)

// closed keeps as many requests in flight as the workload asks for, through the warm-up and the
// duration, which the last requests can outlast. It must run on a thread of its own.
func (a *asker) closed(out events) (r event.RR, err error) {
	for i := range slices.Backward(a.book.Slots) { // the first ones are used first, and the rest only after losses
		a.free = append(a.free, i)
	}
	a.sock.Spin = a.c.Spin
	window, err := a.measure(out, a.keepBusy)
	if err == nil {
		err = a.linger()
	}
	if err == nil {
		err = a.mark(true)
	}
	if err != nil {
		return r, err
	}
	return a.result(window)
}

// keepBusy sends for d, at least once, and returns when no request is outstanding except overdue ones.
func (a *asker) keepBusy(d time.Duration, measured bool) error {
	silent := sock.Now() // time of the last reply
	until := silent + int64(d)
	look := silent + int64(tally.LeastPatience) // when to look for overdue and lost requests
	start := silent                             // of the next request, 0: not known
	for t := silent; ; {
		for ; a.book.Waiting < a.inflight && len(a.free) > 0; start = 0 {
			if start == 0 {
				start = sock.Now()
			}
			last := len(a.free) - 1
			if err := a.send(a.free[last], start, measured); err != nil {
				return err
			}
			a.free = a.free[:last]
		}
		for a.book.Waiting >= a.inflight || len(a.free) == 0 || t >= until {
			if err := a.record(); err != nil {
				return err
			}
			freed, err := a.receive(a.flags())
			if err != nil {
				return err
			}
			a.free = append(a.free, freed...)
			if t = a.read; len(freed) > 0 {
				silent, start = t, t
			} else {
				t = sock.Now()
			}
			if t > look {
				look, start = t+int64(tally.LeastPatience), 0
				if a.book.Overdue(t, a.patience.Wait()) {
					a.patience.Ended()
				}
				a.free = a.book.Expire(a.free, t)
			}
			switch {
			case a.stop.Stopped():
				return sock.ErrStopped
			case t >= until && a.book.Waiting == 0:
				return a.record()
			case t-silent > int64(a.c.timeout):
				return fmt.Errorf("no reply for %v: %w", a.c.timeout, sock.ErrSilent)
			}
		}
	}
}

// linger waits until every measured request has been answered or is lost. Requests that are overdue at
// the end of the window count like all others.
func (a *asker) linger() error {
	for a.book.Pending > 0 {
		freed, err := a.receive(0)
		if err == nil {
			err = a.record()
		}
		if err != nil {
			return err
		}
		if a.stop.Stopped() {
			return sock.ErrStopped
		}
		a.free = a.book.Expire(append(a.free, freed...), sock.Now())
	}
	return nil
}
