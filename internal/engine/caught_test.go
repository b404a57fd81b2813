package engine

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
)

// A panics is a writer that panics at the first line that contains its text.
type panics string

func (p panics) Write(b []byte) (int, error) {
	if strings.Contains(string(b), string(p)) {
		panic("line of " + string(p))
	}
	return len(b), nil
}

// A panic beside the threads that measure ends the engine with an error.
func TestPanicBesideTheTraffic(t *testing.T) {
	marked := func(begin func(*marks)) func(*testing.T) error {
		return func(t *testing.T) error {
			ctx, fail := context.WithCancelCause(t.Context())
			m := &marks{out: events{w: panics(event.MarkBegin)}, meter: new(tally.Meter), fail: fail}
			begin(m)
			m.meter.Add(1, 1)
			<-ctx.Done()
			m.mu.Lock() // the panic released it
			defer m.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	question := func() io.Reader { return strings.NewReader("\n") }
	for name, run := range map[string]func(*testing.T) error{
		"marks of a window": marked(func(m *marks) { m.at(sock.Now(), time.Hour) }),
		"marks of the next": marked(func(m *marks) { m.next(0, time.Hour) }),
		"answers of a server": func(t *testing.T) error {
			c := serveConfig{at: netip.MustParseAddrPort(loopbacks[0]), token: testToken, count: true, patience: idleTimeout}
			return listenAndServe(t.Context(), c, events{w: panics(event.KindCount), questions: question()})
		},
		"answers of a hog": func(t *testing.T) error {
			cpus, err := sock.OwnCPUs()
			if err != nil {
				t.Fatal(err)
			}
			h := hog{share: 0.01, period: defaultPeriod, stop: new(sock.Stopper)}
			return h.run(t.Context(), cpus[:1], events{w: panics(event.KindCount), questions: question()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t); err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "internal error: line of ") {
				t.Errorf("%v, want the panic as an internal error", err)
			}
		})
	}
}
