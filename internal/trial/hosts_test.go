package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// Across two hosts the cost is their sum minus each host's idle cost. Neither end loses processors
// to the other, although their numbers are equal.
func TestTwoHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, srv, _ := setup()
		srv.host = hostOf(srv)
		s.Idle = Idle{"h1": {User: 0.1}, "h2": {User: 0.05}, "h3": {User: 1}}
		run := cli.run
		cli.run = func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
			return run(ctx, argv, inWindow{stdout, func() { srv.add(20, 0, 0) }}, stderr)
		}
		start(t, &s)
		r, err := Run(t.Context(), s)
		if err != nil || r.Status != record.OK {
			t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
		}
		for name, want := range map[record.Quantity]float64{"cpu.busy": 0.35, "cpu.idle-baseline": 0.15, "cpu.frequency": 2.3e9} {
			if got, _ := r.Get(name); math.Abs(got.Value-want) > 1e-9 {
				t.Errorf("%s = %v, want %v", name, got.Value, want)
			}
		}
		if record.ClientCPUs.In(r.Observed) || record.ServerCPUs.In(r.Observed) {
			t.Errorf("CPUs: %v", r.Observed)
		}
	})
}

// The cost of a trial covers all its hosts or is missing: an agent without readings or with a
// stopped clock costs values, not the trial. A reading from before its mark, or from a host without
// that mark, is not part of a window.
func TestReadingsOfABrokenHost(t *testing.T) {
	sample := func(r target.Reading, err error) func(context.Context, ...string) (target.Reading, error) {
		return func(context.Context, ...string) (target.Reading, error) { return r, err }
	}
	standing := target.Reading{Counters: map[string]float64{"cpu.user": 1}}
	for name, c := range map[string]struct {
		spoil func(s *Setup, srv *node)
		cost  bool
	}{
		"no reading":       {func(_ *Setup, srv *node) { srv.host.Sample = sample(target.Reading{}, errors.New("gone")) }, false},
		"a standing clock": {func(_ *Setup, srv *node) { srv.host.Sample = sample(standing, nil) }, false},
		"a reading before its mark": {func(s *Setup, _ *node) {
			s.Engines.client.mark.Lines = nil
			s.Engines.client.mark.Take(target.Reading{At: -time.Hour, Counters: map[string]float64{"cpu.user": -1e9}})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _, srv, _ := setup()
				srv.host = hostOf(srv)
				start(t, &s)
				c.spoil(&s, srv)
				r, err := Run(t.Context(), s)
				if err != nil || r.Status != record.OK {
					t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
				}
				if busy, got := r.Get("cpu.busy"); got != c.cost || busy.Value > 1 {
					t.Errorf("cost %v, want %v; notes %q", busy, c.cost, r.Notes)
				}
			})
		})
	}
}

// inWindow calls a function once the measured window has begun.
type inWindow struct {
	io.Writer
	do func()
}

func (w inWindow) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if strings.Contains(string(b), `"begin"`) {
		w.do()
	}
	return n, err
}

// Stress runs on every host with an end.
func TestStressOfHosts(t *testing.T) {
	for hosts, want := range map[int][]string{1: {"h1"}, 2: {"h1", "h2"}} {
		s, cli, srv, _ := setup()
		if hosts == 2 {
			srv.host = hostOf(srv)
		}
		hog := func(ctx context.Context, _ []string, stdout, _ io.Writer) error {
			fmt.Fprintln(stdout, `{"event":"ready","address":"x"}`)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		cli.run, srv.run = hog, hog
		all, err := StartStress(t.Context(), s.Site, s.Client, s.Server, condition.Stress{Share: 0.5}, s.Duration)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range all {
			got = append(got, b.counter.node.Name())
			_ = b.Stop()
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d hosts: stress on %v, want %v", hosts, got, want)
		}
	}
}
