package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

func TestMain(m *testing.M) { nstest.Main(m, weir) }

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
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Every network that needs no other programs works in the lab, even without ip(8): full-size
// packets pass, and a trial finds that they took the planned path before, during and after a
// condition.
func TestNetworksInTheLab(t *testing.T) {
	nstest.Need(t)
	for _, name := range In(network.InLab) {
		n := Networks[name]
		for _, s := range []topo.Spec{{}, {Pods: 2, IPv6: true, PodsIPv6: true}, {Hosts: 3}, {Hosts: 1}} {
			d := n.New()
			tp, err := topo.New(n.Spec(d, s))
			if err != nil {
				t.Fatal(err)
			}
			p, err := network.Build(d, tp)
			if _, _, none := p.Between(""); err != nil || none != nil || len(p.Daemons())+len(p.Programs()) > 0 || len(p.Ends) == 1 {
				continue // another test says which of them have to be built
			}
			t.Run(fmt.Sprintf("%s/%d hosts, %d pods, IPv6 %v", name, len(tp.Hosts), len(tp.Hosts[0].Pods), s.IPv6), func(t *testing.T) {
				if testing.Short() && name != "vxlan-overlay" {
					t.Skip("slow: run without -short")
				}
				t.Parallel()
				inLab(t, d, tp, p)
			})
		}
	}
}

// Bridges in the lab pass packets to netfilter if the plan says so, under the factor bridge-nf, too,
// and a trial notices if something else changes that.
func TestBridgeNFInTheLab(t *testing.T) {
	nstest.Need(t)
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
		t.Skip("the kernel has no br_netfilter")
	}
	d := network.VXLANOverlay{VNI: 1, Port: 4789}
	tp, err := topo.New(topo.Spec{Hosts: 3}) // with a switch, which is a bridge, too
	if err != nil {
		t.Fatal(err)
	}
	p, err := network.Build(d, tp)
	if err != nil {
		t.Fatal(err)
	}
	site, e := up(t, tp, p)
	client, server, err := p.Between("")
	if err != nil {
		t.Fatal(err)
	}
	run := func(p plan.Plan) record.Result {
		r, err := trial.Run(t.Context(), trial.Setup{Probe: &probe.UDPRR{}, Client: client, Server: server, Site: site, Engines: e, Plan: p,
			Duration: 20 * time.Millisecond, Raw: func(string, []byte) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	apply := func(steps ...plan.Step) {
		if err := site.Apply(t.Context(), steps); err != nil {
			t.Fatal(err)
		}
	}
	key := func(node string) string {
		b, _ := fs.ReadFile(site.Nodes[node].FS(), "proc/sys/net/bridge/bridge-nf-call-iptables") // "" differs from what is wanted
		return strings.TrimSpace(string(b))
	}
	change, err := condition.Change(d, tp, map[string]string{"bridge-nf": "on"})
	if err != nil {
		t.Fatal(err)
	}
	if r := run(p); r.Observed["bridge.nf"] != "off" || r.Status != record.OK || key("h1") != "0" || key(network.Switch) != "0" {
		t.Errorf("as built: %s %s, %v; the keys are %q and %q", r.Status, r.Reason, r.Observed, key("h1"), key(network.Switch))
	}
	apply(change.Do...)
	if r := run(change.Plan); r.Observed["bridge.nf"] != "on" || r.Status != record.OK || key("h2") != "1" || key(network.Switch) != "0" {
		t.Errorf("on: %s %s, %v; the keys are %q and %q", r.Status, r.Reason, r.Observed, key("h2"), key(network.Switch))
	}
	apply(change.Undo...)
	if r := run(p); r.Observed["bridge.nf"] != "off" || r.Status != record.OK {
		t.Errorf("off again: %s %s, %v", r.Status, r.Reason, r.Observed)
	}
	apply(plan.Step{In: server.Host, Sysctl: &plan.Sysctl{Key: plan.BridgeNF + "iptables", Value: "1"}})
	if r := run(p); r.Status != record.Invalid || !strings.Contains(r.Reason, "net.bridge.bridge-nf-call-iptables is 1, the plan has 0") {
		t.Errorf("changed by something else: %s, %s", r.Status, r.Reason)
	}
}

// A Service's address leads to its pod, from pods and from hosts, for as many Services as need several
// files, and a trial finds that packets took the planned path. Without the rules it leads nowhere.
func TestServicesInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, mode := range []string{network.ServicesIPTables, network.ServicesIPTablesLegacy, network.ServicesNFTables, network.ServicesIPVS} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d := &network.ServiceRules{Mode: mode, Services: 300}
			tp, err := topo.New(topo.Spec{Hosts: 3, Pods: 2})
			if err != nil {
				t.Fatal(err)
			}
			p, err := network.Build(d, tp)
			if err != nil {
				t.Fatal(err)
			}
			for _, program := range p.Programs() {
				if _, _, err := facts.Tool(t.Context(), program); facts.Find(program) == "" {
					t.Skip(err)
				}
			}
			for _, pair := range []string{"pod-pod", "host-pod", "pod3-pod1"} {
				client, server, err := p.Between(pair)
				if err != nil {
					t.Fatal(err)
				}
				site := built(t, tp, p)
				e := engines(t, site, client, server)
				if _, err := e.Reach(t.Context(), p.Path.MTU, 10*time.Second); err != nil {
					t.Fatal(err)
				}
				between(t, site, e, p, client, server, &probe.UDPRR{})
				between(t, site, e, p, client, server, &probe.TCPCRR{})
			}
			p.Steps = slices.DeleteFunc(p.Steps, func(s plan.Step) bool { return s.Exec != nil })
			_, e := up(t, tp, p)
			if _, err := e.Reach(t.Context(), p.Path.MTU, 300*time.Millisecond); err == nil {
				t.Error("packets reach a pod through its Service without rules")
			}
		})
	}
}

// Under the factor gro the devices of pods join packets or do not, and a trial notices if something
// else changes that.
func TestGROInTheLab(t *testing.T) {
	nstest.Need(t)
	d := network.VXLANOverlay{VNI: 1, Port: 4789}
	tp, err := topo.New(topo.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := network.Build(d, tp)
	if err != nil {
		t.Fatal(err)
	}
	site, e := up(t, tp, p)
	for level, want := range map[string]map[string]bool{"on": {"eth0": true}, "off": {"vx0": false}} {
		c, err := condition.Change(d, tp, map[string]string{"gro": level})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, s := range c.Plan.States() {
			if on, ok := s.Offload["rx-gro"]; ok {
				seen[s.Dev] = on
			}
		}
		for dev, on := range want {
			if got, ok := seen[dev]; !ok || got != on {
				t.Errorf("%s: the plan expects %v", level, seen)
			}
		}
		if err := site.Verify(t.Context(), c.Plan.States()); err == nil {
			t.Errorf("%s: what it changes holds before", level)
		}
		if err := site.Apply(t.Context(), c.Do); err != nil {
			t.Fatal(err)
		}
		measure(t, site, e, c.Plan)
		if err := site.Apply(t.Context(), c.Undo); err != nil {
			t.Fatal(err)
		}
		measure(t, site, e, p)
	}
}

func up(t *testing.T, tp topo.Topology, p plan.Plan) (*target.Site, *trial.Engines) {
	t.Helper()
	site := built(t, tp, p)
	client, server, err := p.Between("")
	if err != nil {
		t.Fatal(err)
	}
	return site, engines(t, site, client, server)
}

func built(t *testing.T, tp topo.Topology, p plan.Plan) *target.Site {
	t.Helper()
	site, err := lab.Open(t.Context(), network.Places(tp), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := site.Apply(t.Context(), p.Steps); errors.Is(err, lab.ErrUnsupported) || err != nil && strings.Contains(err.Error(), "not supported by this kernel") {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return site
}

func engines(t *testing.T, site *target.Site, client, server plan.End) *trial.Engines {
	t.Helper()
	e, err := trial.StartEngines(context.WithoutCancel(t.Context()), site, client, server, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func inLab(t *testing.T, d network.Driver, tp topo.Topology, p plan.Plan) {
	site, e := up(t, tp, p)
	change, err := condition.Change(d, tp, map[string]string{"mtu": "2000", "nic": "tso", "link": "1gbit"})
	if err != nil {
		t.Fatal(err)
	}
	measure(t, site, e, p)
	if err := site.Apply(t.Context(), change.Do); err != nil {
		t.Fatal(err)
	}
	measure(t, site, e, change.Plan)
	if err := site.Apply(t.Context(), change.Undo); err != nil {
		t.Fatal(err)
	}
	measure(t, site, e, p)
}

func measure(t *testing.T, site *target.Site, e *trial.Engines, p plan.Plan) {
	t.Helper()
	if _, err := e.Reach(t.Context(), p.Path.MTU, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	client, server, err := p.Between("")
	if err != nil {
		t.Fatal(err)
	}
	between(t, site, e, p, client, server, &probe.UDPRR{})
}

// between runs a trial; its status is ok if packets took the planned path.
func between(t *testing.T, site *target.Site, e *trial.Engines, p plan.Plan, client, server plan.End, pr probe.Probe) {
	t.Helper()
	r, err := trial.Run(t.Context(), trial.Setup{
		Probe: pr, Client: client, Server: server, Site: site, Engines: e, Plan: p,
		Duration: 50 * time.Millisecond, Raw: func(string, []byte) error { return nil },
	})
	if err != nil || r.Status != record.OK {
		t.Errorf("%v: %s, %v", r.Status, r.Reason, err)
	}
}

// Pods on a shared NIC need its routing table and proxy ARP: without either, no packet arrives.
func TestSharedENINeeds(t *testing.T) {
	nstest.Need(t)
	for name, spoil := range map[string]func(steps []plan.Step) []plan.Step{
		"the table": func(steps []plan.Step) []plan.Step {
			for i, s := range steps {
				if s.Route != nil && s.Route.Table != 0 {
					steps[i].Route = &plan.Route{Dst: s.Route.Dst, Dev: "eth0", Table: s.Route.Table}
				}
			}
			return steps
		},
		"the proxy": func(steps []plan.Step) []plan.Step {
			return slices.DeleteFunc(steps, func(s plan.Step) bool { return s.Proxy != nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &network.ENIShared{}
			tp, err := topo.New(network.Shape(d, topo.Spec{}))
			if err != nil {
				t.Fatal(err)
			}
			p, err := network.Build(d, tp)
			if err != nil {
				t.Fatal(err)
			}
			p.Steps = spoil(p.Steps)
			site, e := up(t, tp, p)
			if _, err := e.Reach(t.Context(), p.Path.MTU, 300*time.Millisecond); err == nil {
				t.Error("packets pass all the same")
			}
			if err := site.Verify(t.Context(), p.States()); err != nil {
				t.Error(err) // something else is wrong
			}
		})
	}
}
