package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/rootless"
)

// An interruption is the cause of a context that a signal has canceled.
type interruption struct{ signal syscall.Signal }

func (i *interruption) Error() string {
	return fmt.Sprintf("interrupted by signal %d (%v)", i.signal, i.signal)
}

// Signal is for package rootless, which passes the signal on.
func (i *interruption) Signal() syscall.Signal { return i.signal }

// ending says once that a signal ends the command: when it has ended in time, or when it has not.
var ending sync.Once

// toEnd is how long a command has after the first signal, to undo what it did. One that only reads leaves nothing
// behind. Process 1 of the lab ends first, so that the process outside, which has 2 s, has its status.
func toEnd(reads bool) time.Duration {
	switch {
	case reads:
		return time.Second
	case rootless.Inside():
		return 1200 * time.Millisecond
	}
	return 1800 * time.Millisecond
}

// interruptible returns a context that SIGINT, SIGTERM or SIGHUP cancels, unless whoever started this process
// has it ignored, as nohup(1) does. A command ends within 2 s of the first signal, whatever it waits for; a second
// one, or SIGQUIT, ends it at once. What it started ends with it, all the same.
func interruptible(reads bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	sigs := make(chan os.Signal, 2)
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if os.Getenv(caught.DebugVariable) == "" { // else the runtime prints the goroutines
		all = append(all, syscall.SIGQUIT)
	}
	for _, s := range all {
		if !signal.Ignored(s) {
			signal.Notify(sigs, s)
		}
	}
	go func() {
		s, ok := <-sigs
		if !ok {
			return
		}
		sig, _ := s.(syscall.Signal) // as all are
		cancel(&interruption{sig})
		late := time.After(toEnd(reads))
		if sig == syscall.SIGQUIT {
			late = time.After(0)
		}
		select {
		case _, ok := <-sigs:
			if !ok {
				return
			}
		case <-late:
			ending.Do(func() { lastWords("weir: " + context.Cause(ctx).Error()) })
		}
		rootless.EndChildren()
		os.Exit(int(failure.Interrupted))
	}()
	return ctx, func() {
		if ctx.Err() != nil {
			rootless.EndChildren()
		}
		signal.Stop(sigs)
		close(sigs)
		cancel(nil)
	}
}

// lastWords prints a line, unless nobody reads it.
func lastWords(line string) {
	said := make(chan bool)
	go func() { defer close(said); fmt.Fprintln(os.Stderr, line) }()
	select {
	case <-said:
	case <-time.After(100 * time.Millisecond):
	}
}
