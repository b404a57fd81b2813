package network

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// What connects the hosts.
const (
	Switch = "switch" // the namespace of the switches between more or fewer than two hosts; their bridges are sw0, sw1
	// Ports of a Linux bridge (net/bridge/br_private.h, BR_MAX_PORTS, without unused port 0).
	maxPorts = 1<<10 - 1
)

// Places returns the namespaces that t needs: hosts, pods, and the switch if it has one.
func Places(t topo.Topology) []string {
	var names []string
	for _, h := range t.Hosts {
		names = append(names, h.Name)
		for _, p := range h.Pods {
			names = append(names, p.Name)
		}
	}
	if slices.ContainsFunc(t.Segments, func(ports []topo.Port) bool { return !wired(t, ports) }) {
		names = append(names, Switch)
	}
	return names
}

// wired reports whether a segment is a wire between two hosts. Others get a switch, as does a lone
// host, which then has an underlay device like a real machine, and a segment with a distance.
func wired(t topo.Topology, ports []topo.Port) bool {
	return len(ports) == 2 && len(t.Hosts) > 1 && !t.Far && t.Shape != topo.Guests
}

// Underlay returns the steps that connect the hosts of t. They precede a driver's.
func Underlay(t topo.Topology) []plan.Step {
	var steps []plan.Step
	places := Places(t)
	for _, in := range places {
		// Devices generate no IPv6 link-local address (addr_gen_mode 1), so the kernel neither
		// looks for routers nor announces itself.
		steps = append(steps, sysctl(in, "net.ipv6.conf.default.addr_gen_mode", "1"))
	}
	if slices.Contains(places, Switch) {
		// A switch filters nothing, whatever the topology asks of the hosts' bridges.
		steps = append(steps, bridgeNF(topo.Topology{}, Switch, nfOff)...)
	}
	for n, ports := range t.Segments {
		if wired(t, ports) {
			a, b := ports[0], ports[1]
			steps = append(steps, plan.Step{In: a.In, Link: &plan.Link{Name: a.Dev, Kind: "veth", MTU: t.MTU, Peer: b.Dev, PeerIn: b.In}})
			continue
		}
		bridge := switchBridge(n)
		steps = append(steps, plan.Step{In: Switch, Link: &plan.Link{Name: bridge, Kind: "bridge", MTU: t.MTU}})
		if t.Shape == topo.Guests {
			return steps // the driver knows the machines; see VM.hosts
		}
		for _, p := range ports {
			steps = append(steps, plan.Step{In: Switch, Link: &plan.Link{Name: switchPort(n, p), Kind: "veth", MTU: t.MTU, Master: bridge, Peer: p.Dev, PeerIn: p.In}})
		}
	}
	return append(steps, addresses(t)...)
}

// addresses returns the steps that give the underlay's devices their addresses, profile and rate.
func addresses(t topo.Topology) []plan.Step {
	var steps []plan.Step
	ports := slices.Concat(t.Segments...)
	for _, p := range ports {
		steps = append(steps, plan.Step{In: p.In, Addr: &plan.Addr{Dev: p.Dev, Prefix: p.Addr}})
	}
	if f := nicFeatures(t.NIC); len(f) > 0 {
		for _, p := range ports {
			steps = append(steps, plan.Step{In: p.In, Offload: &plan.Offload{Dev: p.Dev, Features: maps.Clone(f)}})
		}
	}
	return append(append(steps, delays(t)...), rates(t)...)
}

// switchPort names the switch's side of p on segment n. A host can have two ports.
func switchPort(n int, p topo.Port) string {
	if n == 0 && p.Dev == "eth0" {
		return p.In
	}
	return p.In + "-" + p.Dev
}

// delays makes every port of a switch delay what it sends to its host, so a packet meets the distance
// once on its way. In a topology that is not far there is nothing to change later, either.
func delays(t topo.Topology) []plan.Step {
	if !t.Far {
		return nil
	}
	var steps []plan.Step
	for n, ports := range t.Segments {
		for _, p := range ports {
			d := t.Segment(n)
			steps = append(steps, plan.Step{In: Switch, Delay: &plan.Delay{Dev: switchPort(n, p), Bridge: switchBridge(n), Delay: d.Delay, Jitter: d.Jitter, Loss: d.Loss}})
		}
	}
	return steps
}

// switchBridge names the switch of segment n.
func switchBridge(n int) string { return fmt.Sprintf("sw%d", n) }

// rates limits both directions of every link: each port of a wire sends one direction; at a switch
// the switch's port sends the other.
func rates(t topo.Topology) []plan.Step {
	if t.Rate <= 0 {
		return nil
	}
	var steps []plan.Step
	for n, ports := range t.Segments {
		for _, p := range ports {
			steps = append(steps, plan.Step{In: p.In, Rate: &plan.Rate{Dev: p.Dev, Rate: t.Rate, MTU: t.MTU}})
			if !wired(t, ports) {
				steps = append(steps, plan.Step{In: Switch, Rate: &plan.Rate{Dev: switchPort(n, p), Rate: t.Rate, MTU: t.MTU, Delayed: t.Far}})
			}
		}
	}
	return steps
}

// expectUnderlay returns the devices that carry traffic between hosts: every device of a line; the
// pods' segment, if separate, for their traffic; otherwise the only one.
func expectUnderlay(t topo.Topology) []plan.Expect {
	if len(t.Hosts) == 1 {
		return nil
	}
	var all []plan.Expect
	for n, ports := range t.Segments {
		for _, p := range ports {
			e := plan.Expect{State: plan.State{In: p.In, Dev: p.Dev, MTU: t.MTU}, Proof: plan.Proof{MustCarry: true, Across: true}}
			switch t.Shape {
			case topo.Line:
				e.Across, e.Side = false, side(t, n)
			case topo.HostNICs, topo.PodNICs:
				if e.Near = plan.Pod; n == 0 {
					e.Near, e.Far = plan.Host, plan.Host
				}
			}
			all = append(all, e)
		}
	}
	return all
}

// side returns the hosts of a line to the left of segment n.
func side(t topo.Topology, n int) []string {
	var names []string
	for _, h := range t.Hosts[:n+1] {
		names = append(names, h.Name)
	}
	return names
}
