package distance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/distance"
	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

func TestMain(m *testing.M) { nstest.Main(m, weir) }

// weir runs the programs of these tests, in the lab's namespaces.
func weir(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch args[0] {
	case "host":
		err = hostns.Main(args[2:]) // host init …
	case "engine":
		if err = engine.Main(ctx, args[1:], nil, os.Stdout); args[1] == "agent" {
			err = engine.Agent(ctx, os.Stdin, os.Stdout, os.Stderr)
		}
	case "distance":
		err = distance.Run(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
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
			tp, err := topo.New(n.s)
			if err != nil {
				t.Fatal(err)
			}
			p, err := network.Build(n.d, tp)
			if err != nil {
				t.Fatal(err)
			}
			site, err := lab.Open(t.Context(), network.Places(tp), "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := site.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := site.Apply(t.Context(), p.Steps); errors.Is(err, lab.ErrUnsupported) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			client, server, err := p.Between("")
			if err != nil {
				t.Fatal(err)
			}
			e, err := trial.StartEngines(context.WithoutCancel(t.Context()), site, client, server, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := e.Stop(); err != nil {
					t.Error(err)
				}
			})
			// The first packet also waits for ARP.
			rtt := func() (least time.Duration) {
				least = time.Hour
				for range 5 {
					one, err := e.Reach(t.Context(), p.Path.MTU, 5*time.Second)
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
			if err := site.Apply(t.Context(), c.Do); err != nil {
				t.Fatal(err)
			}
			far := rtt()
			if least := c.Topology.Distance.LeastRTT(); far < least {
				t.Errorf("with a delay of %v ± 5ms, an answer takes %v, want %v or more", long, far, least)
			}
			r, err := trial.Run(t.Context(), trial.Setup{Probe: &probe.Ping{Interval: 10 * time.Millisecond, Size: 56}, Client: client, Server: server, Site: site, Engines: e,
				Plan: c.Plan, Distance: c.Topology.Distance, RTT: far, Duration: 100 * time.Millisecond, Raw: func(string, []byte) error { return nil }})
			if err != nil || r.Status != record.OK || r.Observed["delay.by"] == "" {
				t.Errorf("%v: %s, %v, delay by %q", r.Status, r.Reason, err, r.Observed["delay.by"])
			}
			if got, _ := r.Get("delay.packets"); r.Observed["delay.by"] == "nfqueue" && got.Value < 20 {
				t.Errorf("10 pings, but %g packets met the delay", got.Value)
			}
			if err := site.Apply(t.Context(), c.Undo); err != nil {
				t.Fatal(err)
			}
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
	tp, err := topo.New(topo.Spec{Distance: topo.Distance{Loss: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := network.Build(network.Host{}, tp)
	if err != nil {
		t.Fatal(err)
	}
	site, err := lab.Open(t.Context(), network.Places(tp), "")
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	if err := site.Apply(t.Context(), p.Steps); errors.Is(err, lab.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	client, server, _ := p.Between("")
	e, err := trial.StartEngines(context.WithoutCancel(t.Context()), site, client, server, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	r, err := trial.Run(t.Context(), trial.Setup{Probe: &probe.Ping{Interval: time.Millisecond, Size: 56}, Client: client, Server: server, Site: site, Engines: e,
		Plan: p, Distance: tp.Distance, RTT: time.Millisecond, Duration: time.Second, Raw: func(string, []byte) error { return nil }})
	if err != nil || r.Status != record.OK {
		t.Fatalf("%v: %s, %v", r.Status, r.Reason, err)
	}
	loss, _ := r.Get("loss")
	if loss.Value < 0.6 || loss.Value > 0.9 { // 3/4 of 1000 pings
		t.Errorf("%g of the pings were lost, want 0.75", loss.Value)
	}
}
