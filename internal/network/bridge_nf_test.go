package network_test

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// keys returns the values of a place's keys of bridge-nf, in order.
func keys(p plan.Plan, in string) (values string, strict bool) {
	for _, s := range p.Steps {
		if s.Sysctl != nil && s.In == in && strings.HasPrefix(s.Sysctl.Key, plan.BridgeNF) {
			values += s.Sysctl.Value
			strict = strict || !s.Sysctl.Optional
		}
	}
	return values, strict
}

// Every place where a plan makes a Linux bridge states what it passes to netfilter.
func TestEveryBridgeStatesNetfilter(t *testing.T) {
	whole(t, func(name string, p plan.Plan, _ topo.Topology) {
		for _, s := range p.Steps {
			if s.Link == nil || s.Link.Kind != "bridge" {
				continue
			}
			if got, strict := keys(p, s.In); got != "000" || strict {
				t.Errorf("%s: bridge %s in %s: the keys are %q, strict %v, want off and optional", name, s.Link.Name, s.In, got, strict)
			}
		}
	})
}

func TestBridgeNF(t *testing.T) {
	for _, c := range []struct {
		network  string
		hosts    int
		is       topo.BridgeNF
		want     string // of h1
		strict   bool
		switches string // of the switch
		fails    string
	}{
		{"bridge", 1, topo.BridgeNFUsual, "000", false, "000", ""},
		{"bridge", 1, topo.BridgeNFOn, "111", true, "000", ""},
		{"bridge", 1, topo.BridgeNFOff, "000", false, "000", ""},
		{"vxlan-overlay", 3, topo.BridgeNFOn, "111", true, "000", ""},
		{"docker-bridge", 1, topo.BridgeNFUsual, "111", false, "000", ""},
		{"docker-bridge", 1, topo.BridgeNFOff, "000", false, "000", ""},
		{"docker-overlay", 2, topo.BridgeNFUsual, "111", false, "", ""},
		{"docker-overlay", 2, topo.BridgeNFOn, "111", true, "", ""},
		{"docker-overlay", 2, topo.BridgeNFOff, "", false, "", "Docker's bridges are in its own namespaces"},
		{"flannel-vxlan", 2, topo.BridgeNFUsual, "111", false, "", ""},
		{"flannel-vxlan", 2, topo.BridgeNFOff, "000", false, "", ""},
		{"cni", 2, topo.BridgeNFUsual, "111", false, "", ""},
		{"cni-ptp", 2, topo.BridgeNFOn, "", false, "", ""},
		{"weave", 2, topo.BridgeNFUsual, "111", false, "", ""},
		{"canal", 2, topo.BridgeNFOn, "", false, "", ""},
		{"routed", 2, topo.BridgeNFOn, "", false, "", ""},
		{"host", 2, topo.BridgeNFOn, "", false, "", ""},
	} {
		d, ok := drivers[c.network]
		if !ok {
			t.Errorf("no driver %s", c.network)
			continue
		}
		tp := topology(t, topo.Spec{Hosts: c.hosts, Pods: 2})
		tp.BridgeNF = c.is
		p, err := network.Build(d, tp)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s %q: %v, want %q", c.network, c.is, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", c.network, c.is, err)
			continue
		}
		got, strict := keys(p, "h1")
		switches, _ := keys(p, network.Switch)
		if got != c.want || strict != c.strict || switches != c.switches {
			t.Errorf("%s %q: %q, strict %v, switch %q; want %q, %v, %q", c.network, c.is, got, strict, switches, c.want, c.strict, c.switches)
		}
	}
}

// Hosts that exist keep their settings.
func TestBridgeNFOfHostsThatExist(t *testing.T) {
	tp := topology(t, topo.Spec{Hosts: 1, Pods: 2})
	tp.Exists = true
	p, err := network.Bridge{}.Plan(tp)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := keys(p, "h1"); got != "" {
		t.Errorf("the keys are %q, want none", got)
	}
}
