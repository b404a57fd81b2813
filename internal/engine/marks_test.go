package engine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A printed line and when it was printed.
type printed struct {
	line string
	at   int64
}

// A printer keeps what is printed.
type printer struct {
	lines chan printed
}

func newPrinter() printer { return printer{make(chan printed, 1000)} }

func (p printer) Write(b []byte) (int, error) {
	p.lines <- printed{strings.TrimSuffix(string(b), "\n"), sock.Now()}
	return len(b), nil
}

// wait returns the next line, which must begin like this.
func (p printer) wait(t *testing.T, prefix string) printed {
	t.Helper()
	select {
	case x := <-p.lines:
		if !strings.HasPrefix(x.line, prefix) {
			t.Fatalf("printed %q, want %q", x.line, prefix)
		}
		return x
	case <-time.After(20 * time.Second):
		t.Fatalf("nothing was printed, want %q", prefix)
	}
	return printed{}
}

// marking starts a server that prints marks and returns its address.
func marking(t *testing.T) (addr string, out printer) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out = newPrinter()
	c := serveConfig{at: netip.MustParseAddrPort(loopbacks[0]), token: testToken, marks: true, patience: idleTimeout}
	var done sync.WaitGroup
	done.Go(func() {
		if err := listenAndServe(ctx, c, events{w: out}); !errors.Is(err, context.Canceled) {
			t.Errorf("server: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	var ready event.Ready
	if err := wire.StrictJSON([]byte(out.wait(t, event.MarkReady).line), &ready); err != nil {
		t.Fatal(err)
	}
	return ready.Address, out
}

// A server marks the window of every workload once, after the warm-up, for as long as the window is.
func TestMarks(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	addr, out := marking(t)
	t.Setenv(tokenVariable, testToken)
	const warmup = 20 * time.Millisecond // of short
	for _, workload := range append(slices.Clone(wire.Workloads), "udp-stream --streams 2") {
		fields := strings.Fields(workload)
		for range 2 { // nothing of a run is left for the next
			// On a busy machine the marks begin late, and the run ends them: a longer window shows its length.
			for window := 30 * time.Millisecond; ; window *= 4 {
				from := sock.Now()
				if lines, err := run(t, short(fields[0], addr, append(fields[1:], "--duration", window.String())...)...); err != nil || len(lines) != 3 {
					t.Fatalf("%s: %q, %v", workload, lines, err)
				}
				t.Log(workload, window)
				begin, end := out.wait(t, event.MarkBegin), out.wait(t, event.Mark)
				for end.line == event.MarkBegin { // a repeated request
					begin, end = end, out.wait(t, event.Mark)
				}
				if end.line != event.MarkEnd {
					t.Fatalf("%s: printed %q, want %q", workload, end.line, event.MarkEnd)
				}
				if begin.at-from < int64(warmup) {
					t.Errorf("%s: the window began %v after the client did, in its warm-up of %v", workload, time.Duration(begin.at-from), warmup)
				}
				took := time.Duration(end.at - begin.at)
				if workload == "udp-search" || took >= window/2 && took <= window+10*time.Second {
					break
				}
				if window > time.Second {
					t.Errorf("%s: a window of %v, want %v", workload, took, window)
					break
				}
			}
		}
	}
	if _, err := run(t, "reach", addr, "--size", "1000"); err != nil {
		t.Error(err)
	}
	select {
	case x := <-out.lines:
		t.Errorf("without a window the server prints %q", x.line)
	default:
	}
}

// A repeated request begins the window anew, one that ends it does not; an aborted run ends it.
func TestMarksAreOfOneWindow(t *testing.T) {
	out := newPrinter()
	m := &marks{out: events{w: out}, meter: new(tally.Meter), fail: func(err error) { t.Error(err) }}
	m.at(sock.Now(), time.Hour)
	out.wait(t, event.MarkBegin)
	m.at(sock.Now(), time.Hour)
	out.wait(t, event.MarkBegin)
	m.at(sock.Now()+int64(40*time.Minute), time.Hour)
	m.end()
	out.wait(t, event.MarkEnd)
	m.end() // has nothing to end

	m.mu.Lock() // its timer cannot print in time
	m.stop, m.begun, m.due = make(chan struct{}), sock.Now(), true
	m.mu.Unlock()
	m.end()
	out.wait(t, event.MarkBegin)
	out.wait(t, event.MarkEnd)
	m.at(sock.Now()+int64(time.Hour), time.Hour) // its client vanishes in the warm-up
	m.end()

	m.next(0, time.Nanosecond)
	m.next(0, time.Nanosecond) // repeated before the first message
	m.meter.Add(1, 100)
	out.wait(t, event.MarkBegin)
	out.wait(t, event.MarkEnd)
	m.end()
	m.next(time.Hour, time.Hour) // its client vanishes before it sends
	m.end()
	m.meter.Add(1, 100)
	select {
	case x := <-out.lines:
		t.Errorf("printed %q", x.line)
	case <-time.After(10 * lookEvery):
	}
}
