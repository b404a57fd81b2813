package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

// Datagrams that must be fragmented are counted where they are cut and where they are reassembled;
// datagrams that fit have no such values.
func TestFragments(t *testing.T) {
	for mtu, want := range map[int]map[record.Quantity]float64{
		1400: {"fragments.sent": 12, "fragments.received": 9, "fragments.failed": 3, "fragments.waiting": 4096},
		1500: nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			s, cli, srv, _ := setup()
			s.Plan.Path.MTU = mtu
			s.Plan.Expect = s.Plan.Expect[:1]
			run := send(cli, srv)
			cli.run = func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
				cli.add(0, 0, 12)
				srv.mu.Lock()
				srv.reasm += 9
				srv.waiting = 4096
				srv.mu.Unlock()
				return run(ctx, argv, stdout, stderr)
			}
			start(t, &s)
			r, err := Run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []record.Quantity{"fragments.sent", "fragments.received", "fragments.failed", "fragments.waiting"} {
				got, ok := r.Get(name)
				if ok != (want != nil) || got.Value != want[name] {
					t.Errorf("MTU %d: %s = %g (%t), want %g", mtu, name, got.Value, ok, want[name])
				}
			}
		})
	}
}

// A trial gets extra memory to make up for earlier trials' incomplete datagrams, and warns if that
// fails. Nothing is set on a site that is not private.
func TestFragmentMemory(t *testing.T) {
	for _, c := range []struct {
		waiting int
		shared  bool
		err     error
		want    []string
	}{
		{0, false, nil, nil},
		{1 << 20, true, nil, nil},
		{1 << 20, false, nil, []string{"h2 net.ipv4.ipfrag_high_thresh=5242880", "h2 net.ipv4.ipfrag_high_thresh=4194304"}},
		{1 << 30, false, nil, []string{"h2 net.ipv4.ipfrag_high_thresh=67108864", "h2 net.ipv4.ipfrag_high_thresh=4194304"}},
		{1, false, errors.New("read-only file system"), []string{"h2 net.ipv4.ipfrag_high_thresh=4194305", "h2 net.ipv4.ipfrag_high_thresh=4194304"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _, srv, _ := setup()
			srv.waiting, s.Site.Private = c.waiting, !c.shared
			var got []string
			s.Site.Apply = func(_ context.Context, steps []plan.Step) error {
				for _, step := range steps {
					got = append(got, step.In+" "+step.Sysctl.Key+"="+step.Sysctl.Value)
				}
				return c.err
			}
			start(t, &s)
			r, err := Run(t.Context(), s)
			if err != nil || r.Status != record.OK {
				t.Fatalf("%v: %s, %v", r.Status, r.Reason, err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%d bytes wait: %q, want %q", c.waiting, got, c.want)
			}
			if said := strings.Contains(fmt.Sprint(r.Notes), "read-only"); said != (c.err != nil) {
				t.Errorf("%v: notes %q", c.err, r.Notes)
			}
		})
	}
}
