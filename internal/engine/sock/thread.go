package sock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Tick bounds how long a blocked thread takes to notice that it should stop.
const Tick = 100 * time.Millisecond

// epoch is the zero of Now.
var epoch = time.Now()

// Now returns nanoseconds on the monotonic clock. It is a vDSO call and does not
// allocate.
func Now() int64 { return int64(time.Since(epoch)) }

// OnThread runs f on a thread of its own with all signals blocked. The channel yields
// what f returns, then nil for ever. The thread is never unlocked, so it ends with f
// and its signal mask reaches no other goroutine.
func OnThread(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		var all unix.Sigset_t
		for i := range all.Val {
			all.Val[i] = ^all.Val[i]
		}
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil); err != nil {
			done <- fmt.Errorf("engine: thread: block signals: %w", err)
			return
		}
		// The default slack lets a sleep last 50 µs longer than asked
		// (prctl(2)); otherwise paced datagrams would leave in bursts.
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
			done <- fmt.Errorf("engine: thread: timer slack: %w", err)
			return
		}
		done <- f()
	}()
	return done
}

// A Stopper tells threads to stop, at the cost of one atomic load.
type Stopper struct{ flag atomic.Bool }

// StopWith returns a Stopper that ctx sets, and a function that releases it.
func StopWith(ctx context.Context) (*Stopper, func() bool) {
	s := new(Stopper)
	return s, context.AfterFunc(ctx, s.Stop)
}

func (s *Stopper) Stop() { s.flag.Store(true) }

func (s *Stopper) Stopped() bool { return s.flag.Load() }

// ErrStopped is returned by loops that were told to stop early.
var ErrStopped = errors.New("stopped")

// Cancelled replaces ErrStopped with the cause of the cancellation of ctx.
func Cancelled(ctx context.Context, err error) error {
	if errors.Is(err, ErrStopped) && ctx.Err() != nil {
		return fmt.Errorf("engine: %w", context.Cause(ctx))
	}
	return err
}

// SleepUntil returns nil at time t; earlier it returns the error that arrives on errs,
// or ErrStopped when ctx is cancelled. It is for control, not for pacing traffic.
func SleepUntil(ctx context.Context, t int64, errs <-chan error) error {
	timer := time.NewTimer(time.Duration(t - Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-errs:
		return err
	case <-ctx.Done():
		return ErrStopped
	}
}
