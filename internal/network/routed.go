package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Routed forwards the pods' packets on layer 3, without a bridge or encapsulation: each pod has a
// veth and a host route, and each host has a route to every other host's pods. Calico without
// tunnels does the same, as does Flannel's host-gw between hosts.
//
// Note: Flannel's host-gw puts the pods of a host on a bridge. Here a pod knows only its own
// address and sends everything to a gateway that is the same in all pods, so packets between pods
// of one host are routed, too.
type Routed struct {
	Rules int `yaml:"rules"` // policy rules that a forwarded packet is compared with on each host, 0 to 10000
}

// The gateway of every pod: link-local, because the host end of every veth has the same address.
var (
	routedGateway  = netip.MustParsePrefix("169.254.1.1/32")
	routedGateway6 = netip.MustParsePrefix("fe80::1/64")
)

func (n Routed) Plan(t topo.Topology) (plan.Plan, error) {
	return routed("routed", t, func(h topo.Host) []plan.Step { return policy(h, n.Rules) }, checkRules("routed", n.Rules))
}

// routed returns the plan of Routed for the driver called name, with further steps after those of
// each host. It returns the first error of bad.
func routed(name string, t topo.Topology, further func(topo.Host) []plan.Step, bad ...error) (plan.Plan, error) {
	p, err := newPlan(name, t, 1, 0, append(bad, oneFamily(name, t))...)
	if err != nil {
		return plan.Plan{}, err
	}
	p.Steps = hostRoutes(t, routedDevs)
	for _, h := range t.Hosts {
		for i, pod := range h.Pods {
			p.Steps = append(p.Steps, routePod(h, pod, podPort(i), p.Path.MTU)...)
		}
		p.Steps = append(p.Steps, further(h)...)
	}
	return expect(t, p), nil
}

// hostRoutes makes every host a router between devs, with routes to the pods of all others.
func hostRoutes(t topo.Topology, devs func(topo.Host) []string) []plan.Step {
	var steps []plan.Step
	for _, h := range t.Hosts {
		steps = append(steps, router(h, is6(t.PodAll.Addr()), len(t.Hosts) > 1, devs(h)...)...)
		for _, peer := range others(t, h) {
			steps = append(steps, plan.Step{In: h.Name, Route: &plan.Route{Dst: peer.PodNet, Via: peer.Addr.Addr()}})
		}
	}
	return steps
}

// routedDevs returns the underlay device of h and its ends of the pods' veths.
func routedDevs(h topo.Host) []string { return devsOf(h, podPort) }

func devsOf(h topo.Host, port func(int) string) []string {
	devs := []string{h.Dev}
	for i := range h.Pods {
		devs = append(devs, port(i))
	}
	return devs
}

func noDevs(topo.Host) []string { return nil }

// router makes h a router between devs; more means that other hosts exist.
func router(h topo.Host, v6, more bool, devs ...string) []plan.Step {
	steps := []plan.Step{forward(h.Name, v6, devs...)}
	if v6 && more {
		steps = append(steps, addLinkLocal(topo.Port{In: h.Name, Dev: h.Dev, Addr: h.Addr}))
	}
	return steps
}

// forward makes the IP stack of host forward packets between devs.
func forward(host string, v6 bool, devs ...string) plan.Step {
	key := "net.ipv4.ip_forward"
	if v6 {
		key = "net.ipv6.conf.all.forwarding"
	}
	s := sysctl(host, key, "1")
	s.Forwards = forwards("route", devs...)
	return s
}

// addLinkLocal gives p a link-local address. An IPv6 router needs one to resolve neighbors: the
// kernel sends no solicitation from a device without it (net/ipv6/ndisc.c, ndisc_solicit), and
// devices get none automatically (see Underlay). It comes after forward because a router does not
// look for other routers.
func addLinkLocal(p topo.Port) plan.Step {
	return plan.Step{In: p.In, Addr: &plan.Addr{Dev: p.Dev, Prefix: linkLocal(p.Addr.Addr())}}
}

func linkLocal(a netip.Addr) netip.Prefix {
	b := a.As16()
	copy(b[:8], []byte{0xfe, 0x80, 0, 0, 0, 0, 0, 0})
	return netip.PrefixFrom(netip.AddrFrom16(b), 64)
}

// routePod connects pod to h with a veth, called port on the host.
func routePod(h topo.Host, pod topo.Pod, port string, mtu int) []plan.Step {
	return append([]plan.Step{vethTo(h, pod, port, "", mtu)}, routeBehind(h, pod, port)...)
}

// routeBehind gives h and pod, which is behind its device dev, the routes to each other, and h the pod's gateway.
func routeBehind(h topo.Host, pod topo.Pod, dev string) []plan.Step {
	gw := routedGateway
	if is6(pod.Addr.Addr()) {
		gw = routedGateway6
	}
	return routesBehind(h, pod, dev, gw.Addr(), plan.Step{In: h.Name, Addr: &plan.Addr{Dev: dev, Prefix: gw}})
}

// vethTo connects pod to h with a veth, called port on the host, where it can join a bridge.
func vethTo(h topo.Host, pod topo.Pod, port, bridge string, mtu int) plan.Step {
	return plan.Step{In: h.Name, Link: &plan.Link{Name: port, Kind: "veth", MTU: mtu, Master: bridge, Peer: podDev, PeerIn: pod.Name}}
}

// vethPod connects pod to h with a veth, called port on the host, and host routes. The answer steps
// make the host answer for the pod's gateway gw.
func vethPod(h topo.Host, pod topo.Pod, port string, mtu int, gw netip.Addr, answer ...plan.Step) []plan.Step {
	return append([]plan.Step{vethTo(h, pod, port, "", mtu)}, routesBehind(h, pod, port, gw, answer...)...)
}

// routesBehind is vethPod without the veth, for a pod behind the host's device dev.
func routesBehind(h topo.Host, pod topo.Pod, dev string, gw netip.Addr, answer ...plan.Step) []plan.Step {
	a := pod.Addr.Addr()
	return append(slices.Clone(answer),
		plan.Step{In: h.Name, Route: &plan.Route{Dst: hostPrefix(a), Dev: dev}},
		plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: hostPrefix(a)}},
		plan.Step{In: pod.Name, Route: &plan.Route{Dst: defaultRoute(a), Via: gw, Dev: podDev}})
}

func hostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// defaultRoute returns the destination of a default route, in the family of a.
func defaultRoute(a netip.Addr) netip.Prefix {
	if is6(a) {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

// maxRules is the maximum number of policy rules per host.
const maxRules = 10000

// rulesAtOnce rules fit the send buffer of nft's socket (net.core.wmem_default, 208 KiB), which
// only root can enlarge; with more, nft fails with "Message too long".
const rulesAtOnce = 250

func checkRules(name string, rules int) error { return checkRange(name, "rules", rules, 0, maxRules) }

// policy gives h rules in nftables' forward hook. Every forwarded packet is compared with all of
// them and matches none, so they cost as much as a network policy that is a list. Their sources are
// in ranges that no packet comes from (240.0.0.0/4, RFC 1112, section 4; 100::/64, RFC 6666).
//
// Note: real policies avoid this cost: they first accept packets of known connections, or look up
// sets.
func policy(h topo.Host, rules int) []plan.Step {
	if rules == 0 {
		return nil
	}
	family, source := "ip", netip.MustParseAddr("240.0.0.0")
	if is6(h.PodNet.Addr()) {
		family, source = "ip6", netip.MustParseAddr("100::")
	}
	var steps []plan.Step
	for first := 0; first < rules; first += rulesAtOnce {
		var b strings.Builder
		b.WriteString("table inet weir {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n")
		for range min(rulesAtOnce, rules-first) {
			source = source.Next()
			fmt.Fprintf(&b, "\t\t%s saddr %v drop\n", family, source)
		}
		b.WriteString("\t}\n}\n")
		file := "policy.nft"
		if first > 0 { // declaring the chain again adds rules to it
			file = fmt.Sprintf("policy-%d.nft", first/rulesAtOnce+1)
		}
		steps = append(steps,
			plan.Step{In: h.Name, File: &plan.File{Name: file, Content: b.String()}},
			run(h, "nft", "-f", plan.Dir+"/"+file))
	}
	return append(steps, find(h, "nft.version", "nft", "--version"))
}
