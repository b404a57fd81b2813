package network_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

func down(in, dev string) plan.Step {
	return plan.Step{In: in, Set: &plan.Set{Dev: dev, Down: true}}
}

// What an event did is undone in reverse order, with the routes that the kernel removed.
func TestHappening(t *testing.T) {
	tp := topology(t, topo.Spec{Hosts: 2})
	p, err := network.Build(network.Routed{}, tp)
	if err != nil {
		t.Fatal(err)
	}
	addr := plan.Step{In: "h1p1", Addr: &plan.Addr{Dev: "eth0", Prefix: netip.MustParsePrefix("10.64.1.9/10")}}
	e, err := network.Happening(tp, p, plan.Event{Name: "x", Do: []plan.Step{down("h2", "eth0"), addr}})
	if err != nil {
		t.Fatal(err)
	}
	gone := addr
	gone.Addr = &plan.Addr{Dev: "eth0", Prefix: addr.Addr.Prefix, Gone: true}
	want := []plan.Step{gone, {In: "h2", Set: &plan.Set{Dev: "eth0", Up: true}}}
	slow := plan.Step{In: "h1p1", Rate: &plan.Rate{Dev: "eth0", Rate: 1e6}}
	if e, err := network.Happening(tp, p, plan.Event{Name: "x", Do: []plan.Step{slow}}); err != nil || e.Do[0].Rate.MTU != tp.MTU || len(e.Undo) != 1 || *e.Undo[0].Rate != (plan.Rate{Dev: "eth0"}) || slow.Rate.MTU != 0 {
		t.Errorf("a rate: %+v, %v: want full packets to pass, and no rate at its end", e, err)
	}
	rule := plan.Rule{From: netip.MustParsePrefix("10.64.1.1/32"), Table: plan.MainTable, Priority: 100}
	norule := rule
	norule.Gone = true
	if e, err := network.Happening(tp, p, plan.Event{Name: "x", Do: []plan.Step{{In: "h1", Rule: &rule}}}); err != nil || len(e.Undo) != 1 || *e.Undo[0].Rule != norule {
		t.Errorf("a rule is undone by %+v, %v: want that it is removed", e.Undo, err)
	}
	routes := 0
	for _, s := range p.Steps {
		if s.Route != nil && s.In == "h2" {
			want, routes = append(want, s), routes+1
		}
	}
	if routes == 0 || !reflect.DeepEqual(e.Undo, want) {
		t.Errorf("undone by %v, want %v with routes", e.Undo, want)
	}
}

func TestHappeningErrors(t *testing.T) {
	tp := topology(t, topo.Spec{Hosts: 2})
	p, err := network.Build(network.VXLANOverlay{VNI: 1, Port: 4789}, tp)
	if err != nil {
		t.Fatal(err)
	}
	for want, steps := range map[string][]plan.Step{
		"cannot undo it":            {setting("net.ipv4.ip_forward")},
		`unknown place "h9"`:        {down("h9", "eth0")},
		"networks alone":            {{In: "h1", File: &plan.File{Name: "x"}}},
		`no daemon "flanneld"`:      {{In: "h1", Daemon: &plan.Daemon{Name: "flanneld", Do: plan.Kill}}},
		"do: step 2: 0 kinds":       {down("h1", "eth0"), {In: "h1"}},
		`"reboot -f" is not allow`:  {command("h1", "reboot", "-f")},
		"say how (undo)":            {{In: "h1", Command: &plan.Command{Argv: []string{"true"}}}},
		"is not an IPv4 address":    {{In: "h1p1", Announce: &plan.Announce{Dev: "eth0", Addr: netip.MustParseAddr("::1")}}},
		`table "nat": want conntr`:  {{In: "h1", Flush: &plan.Flush{Table: "nat"}}},
		"want nft or iptables":      {{In: "h1", Reload: &plan.Reload{Rules: "pf"}}},
		"measure a cluster (--kube": {{In: "h1", Policy: &plan.Policy{Deny: plan.Ingress}}},
		`invalid device "a b"`:      {{In: "h1", Drop: &plan.Drop{Dev: "a b"}}},
		"no program":                {{In: "h1", Command: &plan.Command{}}},
		"want 1 to 25 seconds":      {{In: "h1", Command: &plan.Command{Argv: []string{"true"}, Timeout: 26}}},
	} {
		undo := []plan.Step{down("h1", "eth0")}
		if strings.Contains(want, "undo") {
			undo = nil
		}
		if _, err := network.Happening(tp, p, plan.Event{Name: "x", Do: steps, Undo: undo}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", steps, err, want)
		}
	}
	k, err := network.Build(network.KubeProxy{Mode: network.ProxyNFTables, Services: 10}, tp)
	if err != nil {
		t.Fatal(err)
	}
	gone := func(in, service string) plan.Event {
		return plan.Event{Name: "x", Do: []plan.Step{{In: in, Endpoint: &plan.Endpoint{Service: service, Gone: true}}}}
	}
	if e, err := network.Happening(tp, k, gone("h1", "h2p1")); err != nil || len(e.Undo) != 1 || e.Undo[0].Endpoint.Gone {
		t.Errorf("%+v, %v: want the endpoint again", e.Undo, err)
	}
	for want, e := range map[string]plan.Event{"nothing in h2 tells": gone("h2", "h2p1"), `no service "other-1" that anyone calls`: gone("h1", "other-1")} {
		if _, err := network.Happening(tp, k, e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	checkFound(t)
	again := []plan.Step{{In: "h1", Flush: &plan.Flush{Table: plan.Conntrack}}, {In: "h1", Reload: &plan.Reload{Rules: plan.NFT}}}
	if e, err := network.Happening(tp, p, plan.Event{Name: "x", Do: again}); err != nil || len(e.Undo) != 0 {
		t.Errorf("%+v, %v: nothing is left to undo", e.Undo, err)
	}
	own := plan.Step{In: "h1", Command: &plan.Command{Argv: []string{"on"}, Undo: []string{"off"}}}
	if e, err := network.Happening(tp, p, plan.Event{Name: "x", Do: []plan.Step{own}}); err != nil || len(e.Undo) != 1 || e.Undo[0].Command.Argv[0] != "off" {
		t.Errorf("%+v, %v: want the command that ends it", e.Undo, err)
	}
	if _, err := network.Build(network.Also{Driver: network.Routed{}, Steps: []plan.Step{own}}, tp); err == nil || !strings.Contains(err.Error(), "networks alone") {
		t.Errorf("a command of a network: %v", err)
	}
	for want, d := range map[string]plan.Device{"": {In: "h1", Dev: "eth0"}, `unknown place "h9"`: {In: "h9", Dev: "eth0"}, `over: no device "eth7" in h1: have br0, eth0`: {In: "h1", Dev: "eth7"}} {
		_, err := network.Happening(tp, p, plan.Event{Name: "x", Do: []plan.Step{down("h1", "eth0")}, Traffic: plan.Moves, Over: []plan.Device{d}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", d, err, want)
		}
	}
	tp.Exists = true
	if _, err := network.Happening(tp, p, plan.Event{Name: "x", Do: []plan.Step{{In: "h1", Flush: &plan.Flush{Table: plan.Conntrack}}}}); err == nil || !strings.Contains(err.Error(), "measure in the lab") {
		t.Errorf("machines that exist: %v", err)
	}
}

// In a cluster, events change what weir has made there, and nothing else.
func checkFound(t *testing.T) {
	gone, deny := &plan.Endpoint{Gone: true}, &plan.Policy{Deny: plan.Ingress}
	for _, c := range []struct {
		kind topo.Kind
		step plan.Step
		want string
	}{
		{topo.Service, plan.Step{In: plan.Server, Endpoint: gone}, ""},
		{topo.PodNet, plan.Step{In: plan.Server, Policy: deny}, ""},
		{topo.PodNet, plan.Step{In: plan.Server, Endpoint: gone}, "use the network service or nodeport"},
		{topo.Service, plan.Step{In: plan.Server, Endpoint: &plan.Endpoint{Service: "other", Gone: true}}, "leave out service"},
		{topo.Service, plan.Step{In: "node1", Policy: deny}, "write in: server"},
		{topo.Service, plan.Step{In: plan.Server, Policy: &plan.Policy{Deny: "all"}}, `invalid deny "all": want ingress`},
		{topo.PodNet, plan.Step{In: plan.Client, Daemon: &plan.Daemon{Name: "kube-system/flannel", Do: plan.Terminate}}, ""},
		{topo.PodNet, plan.Step{In: "node1", Daemon: &plan.Daemon{Name: "kube-system/flannel", Do: plan.Terminate}}, "on the node of an end"},
		{topo.PodNet, plan.Step{In: plan.Server, Daemon: &plan.Daemon{Name: "kube-system/flannel", Do: plan.Kill}}, "in a cluster, want terminate"},
		{topo.Service, down(plan.Server, "eth0"), "only what it has made in a cluster"},
		{topo.Hosts, plan.Step{In: plan.Server, Policy: deny}, "on machines that it finds, weir changes only devices"},
		{topo.Via, plan.Step{In: plan.Server, Command: &plan.Command{Argv: []string{"down"}, Undo: []string{"up"}}}, ""},
		{topo.Hosts, down(plan.Server, "eth1"), ""},
		{topo.Via, plan.Step{In: plan.Client, Set: &plan.Set{Dev: "eth1", MTU: 1400}}, ""},
		{topo.Hosts, plan.Step{In: plan.Server, Drop: &plan.Drop{Dev: "eth1"}}, ""},
		{topo.Hosts, plan.Step{In: plan.Server, Rate: &plan.Rate{Dev: "eth1", Rate: 1e6}}, ""},
		{topo.Hosts, plan.Step{In: plan.Server, Rate: &plan.Rate{Dev: "eth1"}}, "rate: 0 bit/s: want more than 0"},
		{topo.Hosts, plan.Step{In: plan.Server, Drop: &plan.Drop{Dev: "eth1", Gone: true}}, "leave out gone"},
		{topo.Hosts, plan.Step{In: plan.Server, Drop: &plan.Drop{Dev: `x"; flush ruleset; "`}}, "drop: invalid device"},
		{topo.Hosts, down("a", "eth1"), "in: client or in: server"},
		{topo.Hosts, plan.Step{In: plan.Server, Set: &plan.Set{Dev: "eth1", MTU: 1}}, "invalid MTU 1"},
		{topo.Hosts, plan.Step{In: plan.Server, Set: &plan.Set{Dev: "eth1", Up: true, Master: "br0"}}, "to another bridge"},
		{topo.Hosts, plan.Step{In: "a", Command: &plan.Command{Argv: []string{"down"}, Undo: []string{"up"}}}, "in: client or in: server"},
		{topo.Hosts, plan.Step{In: plan.Server, Command: &plan.Command{Undo: []string{"up"}}}, "no program"},
		{topo.Hosts, plan.Step{In: plan.Client, Command: &plan.Command{Argv: []string{"down"}}}, "says itself what undoes it"},
	} {
		found := topo.Topology{Exists: true, Find: topo.Find{Kind: c.kind}}
		e, err := network.Happening(found, plan.Plan{}, plan.Event{Name: "x", Do: []plan.Step{c.step}})
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v in %q: %v, want %q", c.step, c.kind, err, c.want)
		case c.want == "" && (err != nil || len(e.Undo) != 1 || e.Undo[0].In != c.step.In || e.Undo[0].Device() != "" || c.step.In == plan.Server && e.In("node1-p1", "node2-p1").Undo[0].In != "node2-p1"):
			t.Errorf("%v in %q: %+v, %v", c.step, c.kind, e, err)
		}
	}
	// Two changes of a device are undone at once, and only by the machine.
	found := topo.Topology{Exists: true, Find: topo.Find{Kind: topo.Hosts}}
	twice := plan.Event{Name: "x", Do: []plan.Step{{In: plan.Server, Set: &plan.Set{Dev: "eth1", MTU: 1400}}, down(plan.Server, "eth1")}}
	if e, err := network.Happening(found, plan.Plan{}, twice); err != nil || len(e.Undo) != 1 || e.Undo[0].Restore == nil {
		t.Errorf("%+v, %v", e.Undo, err)
	}
	twice.Undo = []plan.Step{{In: plan.Server, Set: &plan.Set{Dev: "eth1", Up: true}}}
	if _, err := network.Happening(found, plan.Plan{}, twice); err == nil || !strings.Contains(err.Error(), "undo: step 1: leave it out") {
		t.Errorf("an undo of its own: %v", err)
	}
}
