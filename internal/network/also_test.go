package network_test

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

func also(steps ...plan.Step) network.Also {
	return network.Also{Driver: network.VXLANOverlay{VNI: 1, Port: 4789}, Steps: steps}
}

func mtu(in, dev string, mtu int) plan.Step {
	return plan.Step{In: in, Set: &plan.Set{Dev: dev, MTU: mtu}}
}

func command(in string, argv ...string) plan.Step {
	return plan.Step{In: in, Exec: &plan.Exec{Argv: argv}}
}

func setting(key string) plan.Step {
	return plan.Step{In: "h1p1", Sysctl: &plan.Sysctl{Key: key, Value: "1"}}
}

// The plan of a network with further steps has them last, and expects what they set.
func TestAlso(t *testing.T) {
	off := plan.Step{In: "h1", Offload: &plan.Offload{Dev: "eth0", Features: map[string]bool{"tx-udp_tnl-segmentation": false}}}
	slow := plan.Step{In: "h1", Rate: &plan.Rate{Dev: "eth0", Rate: 1e9}}
	tp := topology(t, topo.Spec{Hosts: 2})
	p, err := network.Build(also(off, mtu("h1", "eth0", 1000), mtu("h1", "eth0", 1400), mtu("h1", "p1", 1450), slow), tp)
	if err != nil {
		t.Fatal(err)
	}
	last := p.Steps[len(p.Steps)-1]
	if last.Rate == nil || last.Rate.MTU != 1500 || slow.Rate.MTU != 0 {
		t.Errorf("the last step is %v, the step of the study %v", last, slow)
	}
	expected := map[string]bool{}
	for _, e := range p.Expect {
		if e.NoFragments {
			t.Errorf("%s expects no fragments on a path with a smaller MTU", e.In)
		}
		if e.In == "h1" && e.Dev == "eth0" && e.MTU != 0 && e.MTU != 1400 {
			t.Errorf("eth0 of h1: expects MTU %d, want 1400", e.MTU)
		}
		if on, has := e.Offload["tx-udp_tnl-segmentation"]; has && !on {
			expected["offload"] = true
		}
		if e.In == "h1" && e.Dev == "p1" && e.MTU == 1450 {
			expected["p1"] = true
		}
	}
	if len(expected) != 2 {
		t.Errorf("expectations: %v, want those of offload and p1 among %v", expected, p.Expect)
	}
	if p.Path.MTU != 1450 || p.Path.Passes != 1350 || p.Path.Reach() != 1350 {
		t.Errorf("path %+v, want MTU 1450, of which 1350 pass", p.Path)
	}
	if p, err = network.Build(also(off), tp); err != nil || p.Path.Passes != 0 || p.Path.Reach() != 1450 {
		t.Errorf("path without a changed MTU: %+v, %v", p.Path, err)
	}
}

// Conditions are differences between two plans, which both have the further steps: they change nothing
// else, and afterwards the steps hold again.
func TestAlsoUnderConditions(t *testing.T) {
	tp := topology(t, topo.Spec{Hosts: 2})
	on := plan.Step{In: "h1", Offload: &plan.Offload{Dev: "vx0", Features: map[string]bool{"rx-gro": false}}}
	d := also(mtu("h1", "eth0", 1400), on, command("h1", "tc", "qdisc", "replace", "dev", "eth0", "root", "pfifo"))
	c, err := condition.Change(d, tp, map[string]string{"mtu": "9000"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(c.Do, c.Undo...) {
		if s.Exec != nil || s.In == "h1" && s.Set != nil && s.Set.Dev == "eth0" {
			t.Errorf("the condition changes what the study has fixed: %v", s)
		}
	}
	if c.Plan.Path.Passes != 1350 || c.Plan.Path.MTU != 8950 {
		t.Errorf("path %+v", c.Plan.Path)
	}
	if c, err = condition.Change(d, tp, map[string]string{"offload": "off"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Undo {
		if s.In == "h1" && s.Offload != nil && s.Offload.Dev == "vx0" && s.Offload.Features["rx-gro"] {
			t.Errorf("the way back switches on what the study has switched off: %v", s)
		}
	}
	nf := also(plan.Step{In: "h1", Sysctl: &plan.Sysctl{Key: plan.BridgeNF + "iptables", Value: "1"}})
	if c, err = condition.Change(nf, tp, nil); err != nil || len(c.Do)+len(c.Undo) > 0 {
		t.Errorf("without a condition: %v, %v, %v", c.Do, c.Undo, err)
	}
	_, err = condition.Change(d, tp, map[string]string{"link": "1gbit"})
	if err == nil || !strings.Contains(err.Error(), "also: step 3: eth0 of h1 has the rate or the distance of this study") {
		t.Errorf("a rate that the step would replace: %v", err)
	}
}

func TestAlsoErrors(t *testing.T) {
	const kinds = "want one of addr, exec, link, offload, rate, route, rule, set, sysctl"
	const programs = "is not allowed: want nft with commands, without options and include, or tc qdisc, tc class or tc filter without bpf"
	two := topology(t, topo.Spec{Hosts: 2})
	for _, c := range []struct {
		s    plan.Step
		want string
	}{
		{mtu("h9", "eth0", 1400), `unknown place "h9": have h1, h1p1, h2, h2p1`},
		{plan.Step{In: "h1", Link: &plan.Link{Name: "a", Kind: "veth", Peer: "b", PeerIn: "h8"}}, `unknown place "h8": have h1, h1p1, h2, h2p1`},
		{plan.Step{In: "h1"}, "0 kinds of steps in one; " + kinds},
		{plan.Step{In: "h1", Set: &plan.Set{}, Rate: &plan.Rate{}}, "2 kinds of steps in one; " + kinds},
		{plan.Step{Set: &plan.Set{}}, "no place; add in: h1, or another host or pod"},
		{plan.Step{In: "h1", Service: &plan.Service{}}, "a kind of step for networks alone; " + kinds},
		{plan.Step{In: "h1", Exec: &plan.Exec{Argv: []string{"nft", "flush", "ruleset"}, Env: []string{"A=b"}}}, "exec has more than argv; leave out the rest"},
		{command("h1"), `exec: "" ` + programs},
		{command("h1", "sh", "-c", "id"), `exec: "sh -c id" ` + programs},
		{command("h1", "tc", "exec", "bpf", "import", "/tmp/x", "run", "sh"), `exec: "tc exec bpf import /tmp/x run sh" ` + programs},
		{command("h1", "tc", "-batch", "/tmp/x"), `exec: "tc -batch /tmp/x" ` + programs},
		{command("h1", "nft", "flush ruleset", "-f", "/tmp/x"), `exec: "nft flush ruleset -f /tmp/x" ` + programs},
		{command("h1", "nft", `add table t; include "/etc/shadow"`), `exec: "nft add table t; include \"/etc/shadow\"" ` + programs},
		{command("h1", "tc", "filter", "add", "dev", "eth0", "ingress", "bpf", "da", "obj", "/tmp/x.o"), `exec: "tc filter add dev eth0 ingress bpf da obj /tmp/x.o" ` + programs},
		{command("h1", "/tmp/nft", "list"), `exec: "/tmp/nft list" ` + programs},
		{setting("kernel.core_pattern"), `invalid sysctl "kernel.core_pattern": want a key of a network namespace, such as net.ipv4.tcp_rmem`},
		{setting("net/../kernel/core_pattern"), `invalid sysctl "net/../kernel/core_pattern": want a key of a network namespace, such as net.ipv4.tcp_rmem`},
		{setting("net..ipv4.neigh.default.gc_thresh3"), `invalid sysctl "net..ipv4.neigh.default.gc_thresh3": want a key of a network namespace, such as net.ipv4.tcp_rmem`},
		{setting("net.ipv4.neigh.default.gc_thresh3"), "net.ipv4.neigh.default.gc_thresh3 is a setting of the whole machine, which weir does not change; set it with sysctl(8) before the run"},
		{setting(plan.DefaultRPS), "net.core.rps_default_mask concerns only devices made later; use the factor rps"},
		{mtu("h1", "eth0", 70000), "invalid MTU 70000: want 576 to 65535 bytes"},
	} {
		if _, err := network.Build(also(mtu("h1", "eth0", 1400), c.s), two); err == nil || err.Error() != "also: step 2: "+c.want {
			t.Errorf("%v: error %v, want %q", c.s, err, c.want)
		}
	}
	guest := network.Also{Driver: drivers["vm-vxlan"], Steps: []plan.Step{command("h1p1", "nft", "flush", "ruleset")}}
	if _, err := network.Build(guest, shaped(t, "vm-vxlan", topo.Spec{Hosts: 2})); err == nil || !strings.Contains(err.Error(), "h1p1 is in a virtual machine") {
		t.Errorf("a program in a guest: %v", err)
	}
	found := two
	found.Exists, found.Segments = true, nil
	if _, err := network.Build(network.Also{Driver: network.Host{}, Steps: []plan.Step{mtu("h1", "eth0", 1400)}}, found); err == nil || !strings.Contains(err.Error(), "weir changes nothing on machines that it finds") {
		t.Errorf("machines that exist: %v", err)
	}
}
