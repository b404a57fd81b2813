package network

import (
	"net/netip"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Routed forwards the pods' packets on layer 3, without a bridge and without
// encapsulation: a veth per pod, a host route to it, and a route to every other
// host's pods. It is what Calico does without its tunnels, and between hosts
// what Flannel's host-gw does.
//
// Note: Flannel's host-gw puts the pods of a host on a bridge. Here a pod knows
// its own address alone and sends everything to a gateway that is the same in
// all pods, so packets between pods of one host are routed, too.
type Routed struct {
	Rules int `yaml:"rules"` // of policy, that a forwarded packet is compared with on each host, 0 to 10000
}

// The gateway of every pod, on the host's side of its veth. It is link-local:
// the same address on every veth does no harm.
var (
	routedGateway  = netip.MustParsePrefix("169.254.1.1/32")
	routedGateway6 = netip.MustParsePrefix("fe80::1/64")
)

// Plan makes the veths and the routes.
func (n Routed) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkHosts("routed", t, 1); err != nil {
		return plan.Plan{}, err
	}
	mtu, err := podMTU("routed", t, 0)
	if err != nil {
		return plan.Plan{}, err
	}
	routes, err := hostRoutes("routed", t)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Steps: routes, Ends: podEnds(t, podDev), Path: path(t, mtu, 0)}
	for _, h := range t.Hosts {
		for i, pod := range h.Pods {
			p.Steps = append(p.Steps, routePod(h, pod, podPort(i), mtu)...)
		}
		rules, err := policy("routed", h, n.Rules)
		if err != nil {
			return plan.Plan{}, err
		}
		p.Steps = append(p.Steps, rules...)
	}
	p.Expect = expect(t, p)
	return p, nil
}

// hostRoutes makes every host a router that knows which host has which pods.
func hostRoutes(name string, t topo.Topology) ([]plan.Step, error) {
	pods6 := is6(t.PodAll.Addr())
	if err := oneFamily(name, t); err != nil {
		return nil, err
	}
	var steps []plan.Step
	for _, h := range t.Hosts {
		steps = append(steps, router(h, pods6, len(t.Hosts) > 1)...)
		for _, peer := range others(t, h) {
			steps = append(steps, plan.Step{In: h.Name, Route: &plan.Route{Dst: peer.PodNet, Via: peer.Addr.Addr()}})
		}
	}
	return steps, nil
}

// router makes h a router, for others too when there are more.
func router(h topo.Host, v6, more bool) []plan.Step {
	steps := []plan.Step{forward(h.Name, v6)}
	if v6 && more {
		steps = append(steps, asks(topo.Port{In: h.Name, Dev: h.Dev, Addr: h.Addr}))
	}
	return steps
}

// forward makes a host a router.
func forward(host string, v6 bool) plan.Step {
	key := "net.ipv4.ip_forward"
	if v6 {
		key = "net.ipv6.conf.all.forwarding"
	}
	return plan.Step{In: host, Sysctl: &plan.Sysctl{Key: key, Value: "1"}}
}

// asks lets an IPv6 router ask for its neighbours on p. It asks from a
// link-local address, and nobody when its device has none (net/ipv6/ndisc.c,
// ndisc_solicit). Devices get none by themselves here. It comes after forward: a
// router does not look for other routers.
func asks(p topo.Port) plan.Step {
	return plan.Step{In: p.In, Addr: &plan.Addr{Dev: p.Dev, Prefix: linkLocal(p.Addr.Addr())}}
}

// linkLocal returns the link-local address with the interface identifier of a.
func linkLocal(a netip.Addr) netip.Prefix {
	b := a.As16()
	copy(b[:8], []byte{0xfe, 0x80, 0, 0, 0, 0, 0, 0})
	return netip.PrefixFrom(netip.AddrFrom16(b), 64)
}

// routePod connects pod to h by the veth called port.
func routePod(h topo.Host, pod topo.Pod, port string, mtu int) []plan.Step {
	a := pod.Addr.Addr()
	gw := routedGateway
	if is6(a) {
		gw = routedGateway6
	}
	alone := netip.PrefixFrom(a, a.BitLen())
	return []plan.Step{
		{In: h.Name, Link: &plan.Link{Name: port, Kind: "veth", MTU: mtu, Peer: podDev, PeerIn: pod.Name}},
		{In: h.Name, Addr: &plan.Addr{Dev: port, Prefix: gw}},
		{In: h.Name, Route: &plan.Route{Dst: alone, Dev: port}},
		{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: alone}},
		{In: pod.Name, Route: &plan.Route{Dst: everything(a), Via: gw.Addr(), Dev: podDev}},
	}
}

// everything is the default route's destination, in the family of a.
func everything(a netip.Addr) netip.Prefix {
	if is6(a) {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}
