package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

// two returns trials of one network between h1 and h2 (nodes[0], [1]), and h3 and h4 (nodes[2],
// [3]).
func two(t *testing.T) (ss []Setup, nodes [4]*node, raw [2]map[string]string) {
	t.Helper()
	a, h1, h2, rawA := setup()
	b, h3, h4, rawB := setup()
	h3.name, h4.name, h3.host, h4.host = "h3", "h4", h1.host, h1.host
	b.Client = plan.End{Node: "h3", Host: "h3", Addr: netip.MustParseAddr("198.18.0.3"), Dev: "eth0"}
	b.Server = plan.End{Node: "h4", Host: "h4", Addr: netip.MustParseAddr("198.18.0.4"), Dev: "eth0"}
	b.Site = a.Site
	b.Site.Nodes["h3"], b.Site.Nodes["h4"] = h3, h4
	a.Plan.Expect = append(a.Plan.Expect, plan.Expect{State: plan.State{In: "h4", Dev: "eth0"}, Proof: plan.Proof{MustCarry: true}}, plan.Expect{State: plan.State{In: "h3"}, Proof: plan.Proof{NoFragments: true}})
	b.Plan.Expect = a.Plan.Expect
	return []Setup{a, b}, [4]*node{h1, h2, h3, h4}, [2]map[string]string{rawA, rawB}
}

func startAll(t *testing.T, ss []Setup) {
	t.Helper()
	for i := range ss {
		start(t, &ss[i])
	}
}

// Concurrent trials take the time of one, report no cost, and read only their own places.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ss, _, raw := two(t)
		checks := 0
		ss[0].Site.Verify = func(context.Context, []plan.State) error { checks++; return nil }
		startAll(t, ss)
		begin := time.Now()
		rs, err := Together(t.Context(), ss)
		if err != nil || len(rs) != 2 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		if took := time.Since(begin); took > 1100*time.Millisecond {
			t.Errorf("two trials of a second took %v", took)
		}
		if checks != 2 {
			t.Errorf("the network was checked %d times, want before and after", checks)
		}
		for i, r := range rs {
			if r.Status != record.OK || record.AtOnce.Of(r.Observed) != 2 {
				t.Errorf("trial %d is %s: %s, %v", i, r.Status, r.Reason, r.Observed)
			}
			for _, v := range r.Values {
				if !v.Name.In("throughput", "window", "packet.size", "packet.size.path", "packet.rate", "cpu.steal", "cpu.frequency", "cpus", "others.user", "others.system") {
					t.Errorf("trial %d has %s, which is not its own", i, v.Name)
				}
			}
			if size, ok := r.Get("packet.size"); !ok || size.Value != 1000 {
				t.Errorf("trial %d: packets of %v bytes", i, size.Value)
			}
			var read struct {
				First, Begin, Last struct{ Nodes map[string]any }
			}
			if err := json.Unmarshal([]byte(raw[i]["counters.json"]), &read); err != nil {
				t.Fatal(err)
			}
			own := []string{"h1", "h2"}
			if i == 1 {
				own = []string{"h3", "h4"}
			}
			for _, nodes := range []map[string]any{read.First.Nodes, read.Last.Nodes} {
				if got := slices.Sorted(maps.Keys(nodes)); !slices.Equal(got, own) {
					t.Errorf("trial %d looked at %v", i, got)
				}
			}
		}
		for _, name := range []record.Quantity{"others.user", "others.system"} { // cover the time of both
			a, _ := rs[0].Get(name)
			if b, _ := rs[1].Get(name); a != b {
				t.Errorf("%s is %v for one and %v for the other", name, a.Value, b.Value)
			}
		}
	})
}

// A failing trial does not affect the others; neither do its fragments.
func TestTogetherOneFails(t *testing.T) {
	for name, c := range map[string]struct {
		run    func(nodes [4]*node) func(context.Context, []string, io.Writer, io.Writer) error
		status record.Status
	}{
		"error": {func([4]*node) func(context.Context, []string, io.Writer, io.Writer) error {
			return func(_ context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, `{"event":"error","error":"no route to host"}`)
				return nil
			}
		}, record.Failed},
		"fragments": {func(nodes [4]*node) func(context.Context, []string, io.Writer, io.Writer) error {
			run := nodes[2].run
			return func(ctx context.Context, a []string, o, e io.Writer) error {
				nodes[2].add(0, 0, 2)
				return run(ctx, a, o, e)
			}
		}, record.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ss, nodes, _ := two(t)
				nodes[2].run = c.run(nodes)
				startAll(t, ss)
				rs, err := Together(t.Context(), ss)
				if err != nil || rs[0].Status != record.OK || rs[1].Status != c.status {
					t.Errorf("%+v, %v", rs, err)
				}
			})
		})
	}
}

// A canceled run keeps all output.
func TestTogetherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ss, nodes, raw := two(t)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		for i, c := range []*node{nodes[0], nodes[2]} {
			c.run = func(ctx context.Context, _ []string, stdout, _ io.Writer) error {
				fmt.Fprintln(stdout, "half")
				time.Sleep(time.Duration(i) * time.Second)
				cancel(why)
				<-ctx.Done()
				return context.Cause(ctx)
			}
		}
		startAll(t, ss)
		if _, err := Together(ctx, ss); !errors.Is(err, why) {
			t.Errorf("error %v, want the cause", err)
		}
		if raw[0]["client.out"] != "half\n" || raw[1]["client.out"] != "half\n" {
			t.Errorf("what was printed is lost: %q", raw)
		}
	})
}
