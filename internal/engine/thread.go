package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// tick bounds how long a blocked thread takes to see that it should stop.
const tick = 100 * time.Millisecond

// epoch is the zero of now.
var epoch = time.Now()

// now returns nanoseconds on the monotonic clock. It is a vDSO call and does
// not allocate.
func now() int64 { return int64(time.Since(epoch)) }

// onThread runs f on a thread of its own on which every signal is blocked, and
// sends what f returns, and nil for ever after. The thread is never unlocked, so it ends with f and its
// signal mask reaches no other goroutine.
func onThread(f func() error) <-chan error {
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
		// (prctl(2)); without it paced datagrams would come in bursts.
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
			done <- fmt.Errorf("engine: thread: timer slack: %w", err)
			return
		}
		done <- f()
	}()
	return done
}

// A stopper tells threads to stop, at the price of one atomic load.
type stopper struct{ flag atomic.Bool }

// stopWith returns a stopper that ctx sets, and a function to release it.
func stopWith(ctx context.Context) (*stopper, func() bool) {
	s := new(stopper)
	return s, context.AfterFunc(ctx, s.stop)
}

func (s *stopper) stop() { s.flag.Store(true) }

func (s *stopper) stopped() bool { return s.flag.Load() }

// errStopped is what a loop returns that was told to stop before its end.
var errStopped = errors.New("stopped")

// cancelled replaces errStopped by why ctx was cancelled.
func cancelled(ctx context.Context, err error) error {
	if errors.Is(err, errStopped) && ctx.Err() != nil {
		return fmt.Errorf("engine: %w", context.Cause(ctx))
	}
	return err
}

// sleepUntil returns nil at t, or earlier the error that arrives, or errStopped
// when ctx is cancelled. It is for control, not for pacing traffic.
func sleepUntil(ctx context.Context, t int64, errs <-chan error) error {
	timer := time.NewTimer(time.Duration(t - now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-errs:
		return err
	case <-ctx.Done():
		return errStopped
	}
}
