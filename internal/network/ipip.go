package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// IPIP is Routed with IPv4 in IPv4 (RFC 2003) between hosts, as in Calico's IPIP mode: the underlay
// needs no routes to the pods. One device serves all other hosts; the route to their pods names the
// host.
type IPIP struct{}

const ipipDev = "ipip0"

func (IPIP) Plan(t topo.Topology) (plan.Plan, error) {
	const overhead = 20
	p, err := tunneled("ipip", t, overhead, refuse(any6(t), "ipip: supports only IPv4, for pods and hosts; use vxlan-overlay or wireguard"), func(h topo.Host, mtu int) []plan.Step {
		steps := []plan.Step{{In: h.Name, Link: &plan.Link{Name: ipipDev, Kind: "ipip", MTU: mtu, Local: h.Addr.Addr()}}}
		for _, peer := range others(t, h) {
			steps = append(steps, plan.Step{In: h.Name, Route: &plan.Route{Dst: peer.PodNet, Via: peer.Addr.Addr(), Dev: ipipDev}})
		}
		return steps
	}, ipipDev)
	if err != nil {
		return plan.Plan{}, err
	}
	// A pod's packets to another host do not enter the tunnel; the replies, which go to a pod, do.
	direct := p.Path
	direct.Overhead = 0
	p.Paths = map[string]plan.Path{plan.Pod + "-" + plan.Host: direct}
	return p, nil
}

// tunneled routes the pods of every host and sends packets between hosts through the device dev,
// which the steps of tunnel make. dev has an address from the host's pod range, so packets from a
// host to pods elsewhere, and the replies, go through it.
func tunneled(name string, t topo.Topology, overhead int, bad error, tunnel func(h topo.Host, mtu int) []plan.Step, dev string) (plan.Plan, error) {
	p, err := newPlan(name, t, 2, overhead, bad)
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, forward(h.Name, is6(t.PodAll.Addr()), routedDevs(h)...))
		for i, pod := range h.Pods {
			p.Steps = append(p.Steps, routePod(h, pod, podPort(i), mtu)...)
		}
		p.Steps = append(p.Steps, tunnel(h, mtu)...)
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Addr: &plan.Addr{Dev: dev, Prefix: hostPrefix(h.Gateway())}})
		e := expectTunnel(h.Name, dev, mtu)
		e.Far = plan.Pod
		p.Expect = append(p.Expect, e)
	}
	return expect(t, p), nil
}
