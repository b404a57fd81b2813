package network

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// TwoPaths is Routed between two hosts with a second link, eth1, beside the underlay, so that traffic can go on when eth0 fails.
// Packets take eth0 while it works: of the static route's next hops it has the weight 255 of 256, and BGP prefers what it learns there.
//
// With routes bgp, BIRD announces the pods' subnet of each host on both links (external BGP, RFC 7938). A link that is up but carries
// nothing shows only when the neighbor has been silent for the hold time, or when three packets of BFD are missing.
//
// Note: the second link has the rate of the underlay, and no distance.
type TwoPaths struct {
	Routes string `yaml:"routes"` // static (one route with two next hops, ECMP) or bgp
	Hold   int    `yaml:"hold"`   // with bgp: after how long a silence the neighbor is given up, 3 to 240 s; a keepalive leaves three times in it
	BFD    bool   `yaml:"bfd"`    // with bgp: BFD (RFC 5880) also watches the neighbors, with a packet every 100 ms
}

// What TwoPaths.Routes can be.
const (
	StaticRoutes = "static"
	BGPRoutes    = "bgp"
)

// The second link has a network of its own, from a range for documentation (RFC 5737): no other route leads there when it is down.
const secondDev = "eth1"

func secondAddr(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}), 30)
}

func (n TwoPaths) Plan(t topo.Topology) (plan.Plan, error) {
	const name = "two-paths"
	p, err := newPlan(name, t, 2, 0, checkExactly(name, t, 2), checkOneOf(name, "routes", n.Routes, StaticRoutes, BGPRoutes), checkRange(name, "hold", n.Hold, 3, 240),
		refuse(n.BFD && n.Routes != BGPRoutes, name+": bfd watches the neighbors of BGP; use routes: bgp, or leave it out"),
		refuse(any6(t), name+": supports only IPv4, for pods and hosts; use routed"),
		refuse(t.Far, name+": its second link has no distance; leave out delay, jitter and loss"))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Steps = append(p.Steps, plan.Step{In: t.Hosts[0].Name, Link: &plan.Link{Name: secondDev, Kind: "veth", MTU: t.MTU, Peer: secondDev, PeerIn: t.Hosts[1].Name}})
	for i, h := range t.Hosts {
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Addr: &plan.Addr{Dev: secondDev, Prefix: secondAddr(i)}},
			forward(h.Name, false, append(routedDevs(h), secondDev)...))
		for j, pod := range h.Pods {
			p.Steps = append(p.Steps, routePod(h, pod, podPort(j), p.Path.MTU)...)
		}
		if t.Rate > 0 {
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Rate: &plan.Rate{Dev: secondDev, Rate: t.Rate, MTU: t.MTU}})
		}
	}
	for i, h := range t.Hosts {
		p.Steps = append(p.Steps, n.routes(h, t.Hosts[1-i], i)...)
	}
	if n.Routes == BGPRoutes {
		for i, h := range t.Hosts {
			p.Steps = append(p.Steps, n.awaits(h, t.Hosts[1-i], 1-i)...)
		}
	}
	return expect(t, p), nil
}

// routes leads from h, host i, to the pods of peer.
func (n TwoPaths) routes(h, peer topo.Host, i int) []plan.Step {
	if n.Routes == StaticRoutes {
		return []plan.Step{find(h, "ip.version", "ip", "-V"), run(h, "ip", "route", "add", peer.PodNet.String(),
			"nexthop", "via", peer.Addr.Addr().String(), "weight", "255", "nexthop", "via", secondAddr(1-i).Addr().String(), "weight", "1")}
	}
	return []plan.Step{
		find(h, "bird.version", bird, "--version"),
		{In: h.Name, File: &plan.File{Name: "bird.conf", Content: n.config(h, peer, i)}},
		{In: h.Name, Service: &plan.Service{Name: bird, Argv: []string{bird, "-f", "-c", plan.Dir + "/bird.conf", "-s", birdControl}, Ready: plan.Ready{File: birdControl}}},
	}
}

// awaits waits until h has learned of peer, host i, over both links, prefers the first, and BFD watches both.
func (n TwoPaths) awaits(h, peer topo.Host, i int) []plan.Step {
	birdc := func(show ...string) []string { return append([]string{"birdc", "-s", birdControl, "show"}, show...) }
	all := []plan.Output{
		{Argv: birdc("route", "for", peer.PodNet.String()), Lines: []string{fmt.Sprintf("via %v on %s", peer.Addr.Addr(), h.Dev), fmt.Sprintf("via %v on %s", secondAddr(i).Addr(), secondDev)}},
		{Argv: []string{"ip", "-4", "route", "show", "proto", bird}, Lines: []string{fmt.Sprintf("%v via %v dev %s ", peer.PodNet, peer.Addr.Addr(), h.Dev)}},
	}
	if n.BFD {
		all = append(all, plan.Output{Argv: birdc("bfd", "sessions"), Lines: []string{" Up ", " Up "}})
	}
	var steps []plan.Step
	for _, o := range all {
		steps = append(steps, plan.Step{In: h.Name, Await: &plan.Await{Output: o, Timeout: calicoWait}})
	}
	return steps
}

// config returns BIRD's configuration for h, host i.
func (n TwoPaths) config(h, peer topo.Host, i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log stderr all;\nrouter id %v;\nprotocol device { scan time 1; }\nprotocol direct { ipv4; interface \"%s\", \"%s\"; }\n", h.Addr.Addr(), h.Dev, secondDev)
	fmt.Fprintf(&b, "protocol static pods { ipv4; route %v blackhole; }\n", h.PodNet)
	b.WriteString("protocol kernel { scan time 1; ipv4 { import none; export where source = RTS_BGP; }; }\n")
	if n.BFD {
		b.WriteString("protocol bfd { interface \"*\" { min rx interval 100 ms; min tx interval 100 ms; multiplier 3; }; }\n")
	}
	for k, link := range []struct {
		dev        string
		here, peer netip.Addr
	}{{h.Dev, h.Addr.Addr(), peer.Addr.Addr()}, {secondDev, secondAddr(i).Addr(), secondAddr(1 - i).Addr()}} {
		fmt.Fprintf(&b, "protocol bgp %s {\n  debug { states };\n  local %v as %d;\n  neighbor %v as %d;\n", link.dev, link.here, calicoAS+i, link.peer, calicoAS+1-i)
		fmt.Fprintf(&b, "  hold time %d;\n  connect delay time 1;\n  connect retry time 1;\n  error wait time 1, 1;\n", n.Hold)
		if n.BFD {
			b.WriteString("  bfd on;\n")
		}
		fmt.Fprintf(&b, "  ipv4 { import filter { bgp_local_pref = %d; accept; }; export where proto = \"pods\"; next hop self; };\n}\n", 200-k)
	}
	return b.String()
}
