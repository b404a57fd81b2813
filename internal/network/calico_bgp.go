package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// CalicoBGP is Calico's datapath without tunnels, built from its parts: BIRD announces the address
// blocks of every host to the others over BGP; each pod has a veth, a host route and proxy ARP.
// There is no bridge and no encapsulation.
//
// Note: it is not Calico. The steps are those of Felix and confd, but neither runs. It also lacks
// Felix's iptables chains, which every packet of a real Calico passes even without a policy, so
// their cost is not included.
type CalicoBGP struct {
	Graceful bool `yaml:"graceful"` // the kernel keeps its routes while BIRD restarts, and a neighbor those of BIRD for up to 120 s (RFC 4724), as in Calico; without it, a neighbor forgets them at once
}

// Calico's names and numbers. All pods have the same gateway. No device has the IPv4 gateway's
// address: proxy ARP answers for it. The IPv6 address is on a device.
var (
	calicoGateway  = netip.MustParsePrefix("169.254.1.1/32")
	calicoGateway6 = netip.MustParsePrefix("fe80::ecee:eeff:feee:eeee/64")
)

const (
	calicoDev    = "cali" // followed by a number
	calicoBlock  = 26     // prefix length of the blocks in which hosts get addresses
	calicoBlock6 = 122    // the same for IPv6
	bird         = "bird" // the daemon, and the kernel's name for its routes
	birdControl  = plan.Dir + "/bird.ctl"
	calicoAS     = 64512 // autonomous system; Calico's default, the first number for private use (RFC 6996)
	calicoWait   = 60    // seconds; BIRD retries after 1 s, and a busy machine is slow
)

func (n CalicoBGP) Plan(t topo.Topology) (plan.Plan, error) {
	const name = "calico-bgp-datapath"
	p, err := newPlan(name, t, 1, 0, oneFamily(name, t))
	if err != nil {
		return plan.Plan{}, err
	}
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, router(h, is6(t.PodAll.Addr()), len(t.Hosts) > 1, devsOf(h, calicoPort)...)...)
		if !is6(t.PodAll.Addr()) {
			// Proxy ARP answers only for addresses behind another device (net/ipv4/arp.c,
			// arp_process), on a real machine its default route's. No packet is ever sent there.
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Route: &plan.Route{Dst: calicoGateway, Dev: h.Dev}})
		}
		for i, pod := range h.Pods {
			p.Steps = append(p.Steps, calicoPod(h, pod, calicoPort(i), p.Path.MTU)...)
		}
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, File: &plan.File{Name: "bird.conf", Content: n.config(t, h)}},
			plan.Step{In: h.Name, Service: &plan.Service{Name: bird,
				Argv:  append([]string{bird, "-f", "-c", plan.Dir + "/bird.conf", "-s", birdControl}, n.graceful("-R")...),
				Ready: plan.Ready{File: birdControl}}})
	}
	p = expect(t, p)
	for _, h := range t.Hosts {
		if routes := bgpRoutes(t, h); len(routes.Lines) > 0 {
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Await: &plan.Await{Output: routes, Timeout: calicoWait}})
			p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Output: &routes}})
		}
		p.Steps = append(p.Steps, find(h, "bird.version", bird, "--version"))
	}
	return p, nil
}

func calicoPort(n int) string { return fmt.Sprint(calicoDev, n+1) }

// calicoPod connects pod to h with a veth, called port on the host, and Felix's settings
// (felix/dataplane/linux/endpoint_mgr.go, configureInterface).
func calicoPod(h topo.Host, pod topo.Pod, port string, mtu int) []plan.Step {
	if is6(pod.Addr.Addr()) {
		return vethPod(h, pod, port, mtu, calicoGateway6.Addr(), plan.Step{In: h.Name, Addr: &plan.Addr{Dev: port, Prefix: calicoGateway6}})
	}
	return vethPod(h, pod, port, mtu, calicoGateway.Addr(),
		sysctl(h.Name, "net.ipv4.conf."+port+".proxy_arp", "1"),
		// Otherwise the host answers after a random delay of up to 0.8 s (arp(7)).
		sysctl(h.Name, "net.ipv4.neigh."+port+".proxy_delay", "0"))
}

// blocks returns the address blocks that contain the pods of h, in order.
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

// bgpRoutes returns the routes that BIRD must have added on h, to every block of other hosts.
func bgpRoutes(t topo.Topology, h topo.Host) plan.Output {
	o := plan.Output{Argv: []string{"ip", "-4", "route", "show", "proto", bird}}
	if is6(t.PodAll.Addr()) {
		o.Argv[1] = "-6"
	}
	o.Lines = toBlocks(t, h, func(b netip.Prefix, peer topo.Host) string {
		return fmt.Sprintf("%v via %v dev %s ", b, peer.Addr.Addr(), h.Dev)
	})
	return o
}

// toBlocks returns the line for each block of every host except h.
func toBlocks(t topo.Topology, h topo.Host, line func(b netip.Prefix, peer topo.Host) string) []string {
	var lines []string
	for _, peer := range others(t, h) {
		for _, b := range blocks(peer) {
			lines = append(lines, line(b, peer))
		}
	}
	return lines
}

// graceful returns words for a graceful restart; none without one.
func (n CalicoBGP) graceful(words ...string) []string {
	if n.Graceful {
		return words
	}
	return nil
}

// config returns BIRD's configuration for h: a full mesh, with the protocols of Calico's template
// (confd/etc/calico/confd/templates/bird.cfg.template).
func (n CalicoBGP) config(t topo.Topology, h topo.Host) string {
	family := "ipv4"
	if is6(t.PodAll.Addr()) {
		family = "ipv6"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "log stderr all;\nrouter id %v;\n", routerID(h.Addr.Addr()))
	b.WriteString("protocol device { scan time 2; }\n")
	// BIRD needs the underlay, but not the pods, to resolve next hops.
	fmt.Fprintf(&b, "protocol direct { interface -\"%s*\", \"*\"; %s; }\n", calicoDev, family)
	// A blackhole route per block drops packets to addresses without a pod.
	fmt.Fprintf(&b, "protocol static blocks {\n  %s;\n", family)
	for _, p := range blocks(h) {
		fmt.Fprintf(&b, "  route %v blackhole;\n", p)
	}
	fmt.Fprintf(&b, "}\nprotocol kernel {\n  scan time 2;\n%s  %s { import none; export where source = RTS_BGP || proto = \"blocks\"; };\n}\n", strings.Join(n.graceful("  persist;\n  graceful restart;\n"), ""), family)
	for _, peer := range others(t, h) {
		fmt.Fprintf(&b, "protocol bgp %s {\n  debug { states };\n  local %v as %d;\n  neighbor %v as %d;\n", peer.Name, h.Addr.Addr(), calicoAS, peer.Addr.Addr(), calicoAS)
		fmt.Fprintf(&b, "  connect delay time 1;\n  connect retry time 1;\n%s  %s { import all; export where proto = \"blocks\"; next hop self; };\n}\n", strings.Join(n.graceful("  graceful restart;\n"), ""), family)
	}
	return b.String()
}

// routerID returns a 32-bit number in the form of an IPv4 address (RFC 4271, 4.2).
func routerID(a netip.Addr) netip.Addr {
	b := a.AsSlice()
	return netip.AddrFrom4([4]byte(b[len(b)-4:]))
}
