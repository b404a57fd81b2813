package network

import (
	"maps"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Names of what connects the hosts.
const (
	Switch    = "switch" // the namespace of the switch between more or fewer than two hosts
	switchDev = "sw0"    // the bridge in it
	// maxPorts is how many ports a Linux bridge has (net/bridge/br_private.h,
	// BR_MAX_PORTS, of which 0 is none).
	maxPorts = 1<<10 - 1
)

// Places returns the names of the namespaces that t needs: hosts, pods, and the
// switch when there is one.
func Places(t topo.Topology) []string {
	var names []string
	for _, h := range t.Hosts {
		names = append(names, h.Name)
		for _, p := range h.Pods {
			names = append(names, p.Name)
		}
	}
	if len(t.Hosts) != 2 {
		names = append(names, Switch)
	}
	return names
}

// Underlay returns the steps that connect the hosts of t, before any driver's.
// Two hosts get a wire. Others get a switch; so does a lone host, which then has
// an underlay device as a machine would.
func Underlay(t topo.Topology) []plan.Step {
	steps := quiet(Places(t))
	if len(t.Hosts) == 2 {
		a, b := t.Hosts[0], t.Hosts[1]
		steps = append(steps, plan.Step{In: a.Name, Link: &plan.Link{Name: a.Dev, Kind: "veth", MTU: t.MTU, Peer: b.Dev, PeerIn: b.Name}})
	} else {
		steps = append(steps, plan.Step{In: Switch, Link: &plan.Link{Name: switchDev, Kind: "bridge", MTU: t.MTU}})
		for _, h := range t.Hosts {
			steps = append(steps, plan.Step{In: Switch, Link: &plan.Link{Name: h.Name, Kind: "veth", MTU: t.MTU, Master: switchDev, Peer: h.Dev, PeerIn: h.Name}})
		}
	}
	for _, h := range t.Hosts {
		steps = append(steps, plan.Step{In: h.Name, Addr: &plan.Addr{Dev: h.Dev, Prefix: h.Addr}})
	}
	if f := nicFeatures(t.NIC); len(f) > 0 {
		for _, h := range t.Hosts {
			steps = append(steps, plan.Step{In: h.Name, Offload: &plan.Offload{Dev: h.Dev, Features: maps.Clone(f)}})
		}
	}
	return append(steps, rates(t)...)
}

// quiet keeps the kernel from sending what nobody asked for: a device makes no
// IPv6 link-local address of its own (addr_gen_mode 1), so that it looks for no
// routers and tells nobody that it exists.
func quiet(places []string) []plan.Step {
	var steps []plan.Step
	for _, in := range places {
		steps = append(steps,
			plan.Step{In: in, Sysctl: &plan.Sysctl{Key: "net.ipv6.conf.default.addr_gen_mode", Value: "1"}})
	}
	return steps
}

// rates limits both directions of every host's link. On a wire each host is the
// sender of one direction; at a switch the port sends the other.
func rates(t topo.Topology) []plan.Step {
	if t.Rate <= 0 {
		return nil
	}
	var steps []plan.Step
	for _, h := range t.Hosts {
		steps = append(steps, plan.Step{In: h.Name, Rate: &plan.Rate{Dev: h.Dev, Rate: t.Rate, MTU: t.MTU}})
		if len(t.Hosts) != 2 {
			steps = append(steps, plan.Step{In: Switch, Rate: &plan.Rate{Dev: h.Name, Rate: t.Rate, MTU: t.MTU}})
		}
	}
	return steps
}
