package network

import (
	"fmt"
	"net/netip"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Bridge connects the pods of one host with a Linux bridge.
type Bridge struct{}

// Plan makes the bridge and plugs the pods in.
func (Bridge) Plan(t topo.Topology) (plan.Plan, error) {
	if len(t.Hosts) != 1 {
		return plan.Plan{}, fmt.Errorf("bridge: needs exactly 1 host, topology has %d", len(t.Hosts))
	}
	mtu, err := podMTU("bridge", t, 0)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Steps: attach(t, t.Hosts[0], mtu), Ends: podEnds(t, podDev), Path: path(t, mtu, 0)}
	p.Expect = expect(t, p)
	return p, nil
}

// Names of devices that drivers make. The host's side of pod n is podPort(n).
const (
	bridgeDev = "br0"
	vxlanDev  = "vx0"
	podDev    = "eth0" // in a pod
)

func podPort(n int) string { return fmt.Sprintf("p%d", n+1) }

// attach gives h a bridge and plugs every pod of h into it.
func attach(t topo.Topology, h topo.Host, mtu int) []plan.Step {
	steps := []plan.Step{{In: h.Name, Link: &plan.Link{Name: bridgeDev, Kind: "bridge", MTU: mtu}}}
	for i, pod := range h.Pods {
		steps = append(steps,
			plan.Step{In: h.Name, Link: &plan.Link{Name: podPort(i), Kind: "veth", MTU: mtu, Master: bridgeDev, Peer: podDev, PeerIn: pod.Name}},
			plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}})
	}
	return append(steps, join(t, h, bridgeDev)...)
}

// join makes h a station among its pods, with an address on dev, and their router,
// as docker0, cni0 and Weave's bridge do. Their packets to other networks end
// there: between hosts these systems translate the addresses of pods, for nobody
// else has a route back to them, which is no part of the mechanism.
func join(t topo.Topology, h topo.Host, dev string) []plan.Step {
	gw := gateway(h.PodNet)
	var steps []plan.Step
	if !is6(gw) { // for IPv6 it is the default
		steps = append(steps, plan.Step{In: h.Name, Sysctl: &plan.Sysctl{Key: "net.ipv4.ip_forward", Value: "0"}})
	}
	steps = append(steps, plan.Step{In: h.Name, Addr: &plan.Addr{Dev: dev, Prefix: netip.PrefixFrom(gw, t.PodAll.Bits())}})
	for _, pod := range h.Pods {
		steps = append(steps, plan.Step{In: pod.Name, Route: &plan.Route{Dst: everything(gw), Via: gw, Dev: podDev}})
	}
	return steps
}
