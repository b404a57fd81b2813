package network

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Bridge connects the pods of one host with a Linux bridge.
type Bridge struct{}

func (Bridge) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("bridge", t, 1, 0, checkExactly("bridge", t, 1))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Steps = attach(t, t.Hosts[0], p.Path.MTU)
	return expect(t, p), nil
}

// Names of devices that drivers make; podPort(n) names the host's end of pod n's veth.
const (
	bridgeDev = "br0"
	vxlanDev  = "vx0"
	podDev    = "eth0" // in a pod
)

func podPort(n int) string { return fmt.Sprintf("p%d", n+1) }

// attach gives h a bridge with every pod of h on it. The bridge passes nothing to netfilter: only
// products that filter or translate pods' packets with iptables switch that on, and these networks
// are mechanisms.
func attach(t topo.Topology, h topo.Host, mtu int) []plan.Step {
	steps := []plan.Step{{In: h.Name, Link: &plan.Link{Name: bridgeDev, Kind: "bridge", MTU: mtu}}}
	for i, pod := range h.Pods {
		steps = append(steps, attachPod(h, i, pod, bridgeDev, mtu)...)
	}
	return slices.Concat(steps, bridgeNF(t, h.Name, nfOff), join(t, h, bridgeDev))
}

func attachPod(h topo.Host, i int, pod topo.Pod, bridge string, mtu int) []plan.Step {
	return []plan.Step{
		vethTo(h, pod, podPort(i), bridge, mtu),
		{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}},
	}
}

// join gives h an address on dev, on its pods' Ethernet, and makes h their router, as docker0, cni0
// and Weave's bridge do. Packets to other networks end there: real installations translate pod
// addresses between hosts because nothing else has a route back, but the mechanism does not.
func join(t topo.Topology, h topo.Host, dev string) []plan.Step {
	gw := h.Gateway()
	var steps []plan.Step
	if !is6(gw) { // IPv6 does not forward by default
		steps = append(steps, sysctl(h.Name, "net.ipv4.ip_forward", "0"))
	}
	steps = append(steps, plan.Step{In: h.Name, Addr: &plan.Addr{Dev: dev, Prefix: netip.PrefixFrom(gw, t.PodAll.Bits())}})
	for _, pod := range h.Pods {
		steps = append(steps, plan.Step{In: pod.Name, Route: &plan.Route{Dst: defaultRoute(gw), Via: gw, Dev: podDev}})
	}
	return steps
}
