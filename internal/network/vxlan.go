package network

import (
	"fmt"
	"net/netip"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// What is usual for the options of VXLAN and VXLANOverlay. The port is the one
// that IANA gave to VXLAN; the kernel's own default is the older 8472.
const (
	DefaultVNI       = 1
	DefaultVXLANPort = 4789
)

// vxlanEnd is the label of a host by its address on the VXLAN device.
const vxlanEnd = "vxlan"

// VXLAN gives every host the kernel's VXLAN device with an address on it.
// Programs run on the hosts; no pod is used. It is the tunnel alone, without a
// bridge and without veths.
type VXLAN struct {
	VNI  int `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1
	Port int `yaml:"port"` // UDP destination port, 1 to 65535
}

// Plan makes the devices and connects each with all others.
func (n VXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkHosts("vxlan", t, 2); err != nil {
		return plan.Plan{}, err
	}
	if err := checkVXLAN("vxlan", n.VNI, n.Port); err != nil {
		return plan.Plan{}, err
	}
	overhead := vxlanOverhead(t)
	mtu, err := podMTU("vxlan", t, overhead)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Path: path(t, mtu, overhead), Steps: meshSteps(t)}
	entries := floodEntries(t)
	for _, h := range t.Hosts {
		addr := netip.PrefixFrom(gateway(h.PodNet), t.PodAll.Bits())
		p.Steps = append(p.Steps,
			vxlanLink(h, mtu, n.VNI, n.Port, ""),
			plan.Step{In: h.Name, Addr: &plan.Addr{Dev: vxlanDev, Prefix: addr}})
		p.Steps = flood(p.Steps, t, h, entries)
		p.Ends = append(p.Ends, plan.End{Label: vxlanEnd, Node: h.Name, Host: h.Name, Addr: addr.Addr(), Dev: vxlanDev})
	}
	p.Expect = expect(t, p)
	return p, nil
}

func checkVXLAN(name string, vni, port int) error {
	if vni < 1 || vni > 1<<24-1 {
		return fmt.Errorf("%s: vni %d is outside 1..%d", name, vni, 1<<24-1)
	}
	if port < 1 || port > 65535 {
		return fmt.Errorf("%s: port %d is outside 1..65535", name, port)
	}
	return nil
}

// vxlanOverhead returns what VXLAN adds to an IP packet of a pod (RFC 7348,
// section 5): the inner Ethernet header, and the VXLAN, UDP and outer IP headers.
// It is 50 bytes over IPv4 and 70 over IPv6, whatever the pods speak. Geneve
// without options is as long (RFC 8926, section 3.4).
func vxlanOverhead(t topo.Topology) int {
	const udp, vxlan, ip4, ip6 = 8, 8, 20, 40
	if underlay6(t) {
		return plan.EthernetHeader + vxlan + udp + ip6
	}
	return plan.EthernetHeader + vxlan + udp + ip4
}

func vxlanLink(h topo.Host, mtu, vni, port int, master string) plan.Step {
	return plan.Step{In: h.Name, Link: &plan.Link{
		Name: vxlanDev, Kind: "vxlan", MTU: mtu, Master: master, VNI: vni, Port: port, Local: h.Addr.Addr()}}
}

// flood appends the steps that make h send frames for stations that it does not know
// to every other host. The device then learns from the frames it receives where a
// station lives.
func flood(steps []plan.Step, t topo.Topology, h topo.Host, entries []*plan.FDB) []plan.Step {
	for i, peer := range t.Hosts {
		if peer.Name != h.Name {
			steps = append(steps, plan.Step{In: h.Name, FDB: entries[i]})
		}
	}
	return steps
}

// floodEntries returns the entry that leads to each host, which all others share:
// a full mesh of 1,000 hosts has a million of them.
func floodEntries(t topo.Topology) []*plan.FDB {
	var entries []*plan.FDB
	for _, h := range t.Hosts {
		entries = append(entries, &plan.FDB{Dev: vxlanDev, Dst: h.Addr.Addr()})
	}
	return entries
}

// meshSteps returns no steps, with room for those of a full mesh and of its underlay.
func meshSteps(t topo.Topology) []plan.Step {
	return make([]plan.Step, 0, len(t.Hosts)*(len(t.Hosts)+12))
}

// gateway returns the address of n that package topo leaves to the host.
func gateway(n netip.Prefix) netip.Addr {
	b := n.Addr().AsSlice()
	b[len(b)-1] = topo.MaxPods + 1
	a, _ := netip.AddrFromSlice(b)
	return a
}
