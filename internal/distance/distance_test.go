package distance_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/distance"
	"github.com/weir-bench/weir/internal/labtest"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

func TestMain(m *testing.M) {
	labtest.Main(m, map[string]func(context.Context, []string) error{
		"distance": func(ctx context.Context, _ []string) error { return distance.Run(ctx, os.Stdout) },
	})
}

// Packets meet the delay in every network, between ends that pass the hosts' IP stacks and ends that
// do not, and only while the condition holds. Both mechanisms must pass this test.
func TestDistance(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	vxlan := &network.VXLANOverlay{VNI: 1, Port: 4789}
	for name, n := range map[string]struct {
		d network.Driver
		s topo.Spec
	}{
		"host":          {network.Host{}, topo.Spec{}},
		"host, IPv6":    {network.Host{}, topo.Spec{IPv6: true}},
		"host, limited": {network.Host{}, topo.Spec{Rate: 1e9}},
		"macvlan":       {network.Macvlan{}, topo.Spec{Hosts: 3}},
		"vxlan-overlay": {vxlan, topo.Spec{}},
	} {
		t.Run(name, func(t *testing.T) {
			fail := nstest.Judge(t)
			n.s.Far = true
			tp, p := labtest.Plan(t, n.d, n.s)
			built := labtest.Up(t, tp, p, "")
			// The first packet also waits for ARP.
			rtt := func() (least time.Duration) {
				least = time.Hour
				for range 5 {
					one, err := built.Engines.Reach(t.Context(), p.Path.MTU, 5*time.Second)
					if err != nil {
						t.Fatal(err)
					}
					least = min(least, one)
				}
				return least
			}
			const long = 20 * time.Millisecond // more than a busy machine adds
			near := rtt()
			if near >= 2*long {
				fail("without delay, an answer takes %v", near)
			}
			c, err := condition.Change(n.d, tp, map[string]string{"delay": long.String(), "jitter": "5ms"})
			if err != nil {
				t.Fatal(err)
			}
			labtest.Apply(t, built.Site, c.Do...)
			far := rtt()
			if least := c.Topology.Distance.LeastRTT(); far < least {
				t.Errorf("with a delay of %v ± 5ms, an answer takes %v, want %v or more", long, far, least)
			}
			built.Plan, built.Distance, built.RTT, built.Duration = c.Plan, c.Topology.Distance, far, 100*time.Millisecond
			r := labtest.Run(t, built, &probe.Ping{Interval: 10 * time.Millisecond, Size: 56})
			if r.Status != record.OK || r.Observed["delay.by"] == "" {
				t.Errorf("%v: %s, delay by %q", r.Status, r.Reason, r.Observed["delay.by"])
			}
			if got, _ := r.Get("delay.packets"); r.Observed["delay.by"] == "nfqueue" && got.Value < 20 {
				t.Errorf("10 pings, but %g packets met the delay", got.Value)
			}
			labtest.Apply(t, built.Site, c.Undo...)
			if again := rtt(); again >= c.Topology.Distance.LeastRTT() {
				fail("after the delay, an answer takes %v", again)
			}
		})
	}
}

// Packets are lost as asked, in both directions.
func TestLoss(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	tp, p := labtest.Plan(t, network.Host{}, topo.Spec{Distance: topo.Distance{Loss: 0.5}})
	built := labtest.Up(t, tp, p, "")
	built.Distance, built.RTT, built.Duration = tp.Distance, time.Millisecond, time.Second
	r := labtest.Run(t, built, &probe.Ping{Interval: time.Millisecond, Size: 56})
	if r.Status != record.OK {
		t.Fatalf("%v: %s", r.Status, r.Reason)
	}
	loss, _ := r.Get("loss")
	if loss.Value < 0.6 || loss.Value > 0.9 { // 3/4 of 1000 pings
		t.Errorf("%g of the pings were lost, want 0.75", loss.Value)
	}
}
