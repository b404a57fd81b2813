package trial

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/record"
)

// On two hosts the cost is what both spend, less what both do by themselves, and neither
// end loses processors to the other, although their numbers are equal.
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
		for name, want := range map[string]float64{"cpu.busy": 0.35, "cpu.idle-baseline": 0.15, "cpu.frequency": 2.3e9} {
			if got, _ := r.Get(name); math.Abs(got.Value-want) > 1e-9 {
				t.Errorf("%s = %v, want %v", name, got.Value, want)
			}
		}
		if got := r.Observed["cpus"]; got != "client [], server []" {
			t.Errorf("CPUs: %s", got)
		}
	})
}

// inWindow does something when the measured window has begun.
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

// Stress is on every host that has an end.
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
