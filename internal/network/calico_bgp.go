package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// CalicoBGP is the data path of Calico without its tunnels, from the parts that
// make it: BIRD, which tells every host by BGP which blocks of addresses the
// others have, and per pod a veth, a host route and proxy ARP. There is no bridge
// and no encapsulation.
//
// Note: it is not Calico. The steps are those of Felix and confd, which are not
// here. Nor are Felix's chains of iptables rules, which every packet of a real
// Calico goes through even when there is no policy: their cost is not in here.
type CalicoBGP struct {
	AS int `yaml:"as"` // number of the autonomous system, 1 to 1<<32-1
}

// DefaultAS is what Calico takes: the first one for private use (RFC 6996).
const DefaultAS = 64512

// Calico's names and numbers. The gateway is the same in all pods, and no device
// has the IPv4 one: proxy ARP answers for it. A device has the IPv6 one.
var (
	calicoGateway  = netip.MustParsePrefix("169.254.1.1/32")
	calicoGateway6 = netip.MustParsePrefix("fe80::ecee:eeff:feee:eeee/64")
)

const (
	calicoDev    = "cali" // and a number
	calicoBlock  = 26     // prefix of the addresses that a host is given at a time
	calicoBlock6 = 122    // the same of IPv6
	bird         = "bird" // the daemon, and what the kernel calls its routes
	birdControl  = plan.Dir + "/bird.ctl"
	calicoWait   = 60 // seconds; BIRD asks again after 1 s, and a busy machine is slow
)

// Plan connects the pods with their hosts, starts BIRD everywhere, and waits
// until every host has heard of every block.
func (n CalicoBGP) Plan(t topo.Topology) (plan.Plan, error) {
	const name = "calico-bgp-datapath"
	if err := checkHosts(name, t, 1); err != nil {
		return plan.Plan{}, err
	}
	if err := checkAS(name, n.AS); err != nil {
		return plan.Plan{}, err
	}
	mtu, err := podMTU(name, t, 0)
	if err != nil {
		return plan.Plan{}, err
	}
	if err := oneFamily(name, t); err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, 0)}
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, router(h, is6(t.PodAll.Addr()), len(t.Hosts) > 1)...)
		if !is6(t.PodAll.Addr()) {
			// Proxy ARP answers only for what is reached over another device
			// (net/ipv4/arp.c, arp_process), which on a machine is its default
			// route. Nothing is ever sent there.
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Route: &plan.Route{Dst: calicoGateway, Dev: h.Dev}})
		}
		for i, pod := range h.Pods {
			p.Steps = append(p.Steps, calicoPod(h, pod, fmt.Sprint(calicoDev, i+1), mtu)...)
		}
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, File: &plan.File{Name: "bird.conf", Content: n.config(t, h)}},
			plan.Step{In: h.Name, Service: &plan.Service{Name: bird,
				Argv:  []string{bird, "-f", "-c", plan.Dir + "/bird.conf", "-s", birdControl},
				Ready: plan.Ready{File: birdControl}}})
	}
	p.Expect = expect(t, p)
	for _, h := range t.Hosts {
		if routes := learned(t, h); len(routes.Lines) > 0 {
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Await: &plan.Await{Output: routes, Timeout: calicoWait}})
			p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Output: &routes}})
		}
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Exec: &plan.Exec{
			Argv: []string{bird, "--version"}, Found: "bird.version"}})
	}
	return p, nil
}

// checkAS returns an error unless as can be the number of an autonomous system.
func checkAS(name string, as int) error {
	if as < 1 || as > 1<<32-1 {
		return fmt.Errorf("%s: as %d is outside 1..%d", name, as, 1<<32-1)
	}
	return nil
}

// calicoPod connects pod to h by the veth called port, with the settings that
// Felix makes (felix/dataplane/linux/endpoint_mgr.go, configureInterface).
func calicoPod(h topo.Host, pod topo.Pod, port string, mtu int) []plan.Step {
	a := pod.Addr.Addr()
	steps := []plan.Step{{In: h.Name, Link: &plan.Link{Name: port, Kind: "veth", MTU: mtu, Peer: podDev, PeerIn: pod.Name}}}
	gw := calicoGateway
	if is6(a) {
		gw = calicoGateway6
		steps = append(steps, plan.Step{In: h.Name, Addr: &plan.Addr{Dev: port, Prefix: gw}})
	} else {
		steps = append(steps,
			plan.Step{In: h.Name, Sysctl: &plan.Sysctl{Key: "net.ipv4.conf." + port + ".proxy_arp", Value: "1"}},
			// Otherwise it answers after a random part of 0.8 s (arp(7)).
			plan.Step{In: h.Name, Sysctl: &plan.Sysctl{Key: "net.ipv4.neigh." + port + ".proxy_delay", Value: "0"}})
	}
	return append(steps,
		plan.Step{In: h.Name, Route: &plan.Route{Dst: alone(a), Dev: port}},
		plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: alone(a)}},
		plan.Step{In: pod.Name, Route: &plan.Route{Dst: everything(a), Via: gw.Addr(), Dev: podDev}})
}

// blocks returns the blocks of addresses that the pods of h are in, in order.
func blocks(h topo.Host) []netip.Prefix {
	var bs []netip.Prefix
	for _, pod := range h.Pods {
		bits := calicoBlock
		if is6(pod.Addr.Addr()) {
			bits = calicoBlock6
		}
		bs = append(bs, netip.PrefixFrom(pod.Addr.Addr(), bits).Masked())
	}
	return slices.Compact(bs) // pods are numbered in order
}

// learned is what BIRD must have put into h's table: a route to every block of
// every other host, over the underlay.
func learned(t topo.Topology, h topo.Host) plan.Output {
	o := plan.Output{Argv: []string{"ip", "-4", "route", "show", "proto", bird}}
	if is6(t.PodAll.Addr()) {
		o.Argv[1] = "-6"
	}
	o.Lines = toBlocks(t, h, func(b netip.Prefix, peer topo.Host) string {
		return fmt.Sprintf("%v via %v dev %s ", b, peer.Addr.Addr(), h.Dev)
	})
	return o
}

// toBlocks returns the line for each block of every host but h.
func toBlocks(t topo.Topology, h topo.Host, line func(b netip.Prefix, peer topo.Host) string) []string {
	var lines []string
	for _, peer := range others(t, h) {
		for _, b := range blocks(peer) {
			lines = append(lines, line(b, peer))
		}
	}
	return lines
}

// config is BIRD's configuration of h: a full mesh, with the protocols of Calico's
// template (confd/etc/calico/confd/templates/bird.cfg.template).
func (n CalicoBGP) config(t topo.Topology, h topo.Host) string {
	family := "ipv4"
	if is6(t.PodAll.Addr()) {
		family = "ipv6"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "log stderr all;\nrouter id %v;\n", routerID(h.Addr.Addr()))
	b.WriteString("protocol device { scan time 2; }\n")
	// The underlay, without which no next hop can be reached, and no pod.
	fmt.Fprintf(&b, "protocol direct { interface -\"%s*\", \"*\"; %s; }\n", calicoDev, family)
	// A block in a black hole: an address without a pod goes nowhere.
	fmt.Fprintf(&b, "protocol static blocks {\n  %s;\n", family)
	for _, p := range blocks(h) {
		fmt.Fprintf(&b, "  route %v blackhole;\n", p)
	}
	fmt.Fprintf(&b, "}\nprotocol kernel {\n  scan time 2;\n  %s { import none; export where source = RTS_BGP || proto = \"blocks\"; };\n}\n", family)
	for _, peer := range others(t, h) {
		fmt.Fprintf(&b, "protocol bgp %s {\n  debug { states };\n  local %v as %d;\n  neighbor %v as %d;\n", peer.Name, h.Addr.Addr(), n.AS, peer.Addr.Addr(), n.AS)
		fmt.Fprintf(&b, "  connect delay time 1;\n  connect retry time 1;\n  %s { import all; export where proto = \"blocks\"; next hop self; };\n}\n", family)
	}
	return b.String()
}

// routerID is a number of 32 bits in the form of an IPv4 address (RFC 4271, 4.2).
func routerID(a netip.Addr) netip.Addr {
	b := a.AsSlice()
	return netip.AddrFrom4([4]byte(b[len(b)-4:]))
}
