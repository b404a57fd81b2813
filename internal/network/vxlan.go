package network

import (
	"cmp"
	"net/netip"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// vxlanEnd labels a host by its address on the VXLAN device.
const vxlanEnd = "vxlan"

// VXLAN gives every host the kernel's VXLAN device with an address. Programs run on the hosts,
// without pods. It measures the tunnel alone, without a bridge or veths.
type VXLAN struct {
	VNI  int `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1
	Port int `yaml:"port"` // UDP destination port, 1 to 65535
}

func (n VXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("vxlan", t, 2, vxlanOverhead(t), checkVXLAN("vxlan", n.VNI, n.Port))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Ends, p.Steps = nil, meshSteps(t)
	entries := floodEntries(t)
	for _, h := range t.Hosts {
		addr := netip.PrefixFrom(h.Gateway(), t.PodAll.Bits())
		p.Steps = append(p.Steps,
			vxlanLink(h, p.Path.MTU, n.VNI, n.Port, ""),
			plan.Step{In: h.Name, Addr: &plan.Addr{Dev: vxlanDev, Prefix: addr}})
		p.Steps = flood(p.Steps, t, h, entries)
		p.Ends = append(p.Ends, plan.End{Label: vxlanEnd, Node: h.Name, Host: h.Name, Addr: addr.Addr(), Dev: vxlanDev})
	}
	return expect(t, p), nil
}

func checkVXLAN(name string, vni, port int) error {
	return cmp.Or(checkRange(name, "vni", vni, 1, 1<<24-1), checkPort(name, port))
}

// vxlanOverhead returns the bytes that VXLAN adds to a pod's IP packet (RFC 7348, section 5): the
// inner Ethernet header and the VXLAN, UDP and outer IP headers, 50 bytes over IPv4 and 70 over
// IPv6, whatever the pods use. Geneve without options adds as much (RFC 8926, section 3.4).
func vxlanOverhead(t topo.Topology) int {
	const vxlan = 8
	return plan.EthernetHeader + vxlan + udpHeaders(t)
}

func vxlanLink(h topo.Host, mtu, vni, port int, master string) plan.Step {
	return plan.Step{In: h.Name, Forwards: forwards("vxlan", vxlanDev, h.Dev), Link: &plan.Link{
		Name: vxlanDev, Kind: "vxlan", MTU: mtu, Master: master, VNI: vni, Port: port, Local: h.Addr.Addr()}}
}

// flood appends the steps that make h send frames for unknown stations to every other host. The
// device then learns from received frames where a station is.
func flood(steps []plan.Step, t topo.Topology, h topo.Host, entries []*plan.FDB) []plan.Step {
	for i, peer := range t.Hosts {
		if peer.Name != h.Name {
			steps = append(steps, plan.Step{In: h.Name, FDB: entries[i]})
		}
	}
	return steps
}

// floodEntries returns one entry per host, shared because a full mesh of 1,000 hosts has a million.
func floodEntries(t topo.Topology) []*plan.FDB {
	var entries []*plan.FDB
	for _, h := range t.Hosts {
		entries = append(entries, &plan.FDB{Dev: vxlanDev, Dst: h.Addr.Addr()})
	}
	return entries
}

// meshSteps returns no steps, with capacity for those of a full mesh and its underlay.
func meshSteps(t topo.Topology) []plan.Step {
	return make([]plan.Step, 0, len(t.Hosts)*(len(t.Hosts)+12))
}
