package network

import (
	"fmt"
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
	if err := sameFamily("routed", t); err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, 0)}
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, forward(h, is6(t.PodAll.Addr()), len(t.Hosts) > 1)...)
		for i, pod := range h.Pods {
			p.Steps = append(p.Steps, routePod(h, pod, podPort(i), mtu)...)
		}
		p.Steps = append(p.Steps, peers(t, h)...)
		rules, err := policy("routed", h, n.Rules)
		if err != nil {
			return plan.Plan{}, err
		}
		p.Steps = append(p.Steps, rules...)
	}
	p.Expect = expect(t, p)
	return p, nil
}

// sameFamily returns an error when the way to the pods of another host cannot be
// a plain route.
func sameFamily(name string, t topo.Topology) error {
	if len(t.Hosts) > 1 && is6(t.PodAll.Addr()) != underlay6(t) {
		return fmt.Errorf("%s: pods in %v and hosts in %v: the next hop must be of the packets' own family; give both the same, or use vxlan-overlay",
			name, t.PodAll, t.Hosts[0].Addr.Masked())
	}
	return nil
}

// peers leads h to the pods of every other host.
func peers(t topo.Topology, h topo.Host) []plan.Step {
	var steps []plan.Step
	for _, peer := range t.Hosts {
		if peer.Name != h.Name {
			steps = append(steps, plan.Step{In: h.Name, Route: &plan.Route{Dst: peer.PodNet, Via: peer.Addr.Addr()}})
		}
	}
	return steps
}

// forward makes h a router.
//
// An IPv6 router asks for its neighbours from a link-local address, and asks
// nobody when its device has none (net/ipv6/ndisc.c, ndisc_solicit). Devices get
// none by themselves here, so the underlay device is given one. It comes after
// the sysctl: a router does not look for other routers.
func forward(h topo.Host, v6, more bool) []plan.Step {
	key := "net.ipv4.ip_forward"
	if v6 {
		key = "net.ipv6.conf.all.forwarding"
	}
	steps := []plan.Step{{In: h.Name, Sysctl: &plan.Sysctl{Key: key, Value: "1"}}}
	if v6 && more {
		steps = append(steps, plan.Step{In: h.Name, Addr: &plan.Addr{Dev: h.Dev, Prefix: linkLocal(h.Addr.Addr())}})
	}
	return steps
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
	gw, all := routedGateway, netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if is6(a) {
		gw, all = routedGateway6, netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	alone := netip.PrefixFrom(a, a.BitLen())
	return []plan.Step{
		{In: h.Name, Link: &plan.Link{Name: port, Kind: "veth", MTU: mtu, Peer: podDev, PeerIn: pod.Name}},
		{In: h.Name, Addr: &plan.Addr{Dev: port, Prefix: gw}},
		{In: h.Name, Route: &plan.Route{Dst: alone, Dev: port}},
		{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: alone}},
		{In: pod.Name, Route: &plan.Route{Dst: all, Via: gw.Addr(), Dev: podDev}},
	}
}
