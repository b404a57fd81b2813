package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VXLANOverlay connects the pods of all hosts as one Ethernet segment: a bridge
// on every host, with the pods and a VXLAN device as its ports. It is what
// Docker's overlay and many CNIs set up, without their daemons.
type VXLANOverlay struct {
	VNI  int `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1
	Port int `yaml:"port"` // UDP destination port, 1 to 65535
}

// Plan makes the bridges, plugs pods and tunnels in, and connects the tunnels.
func (n VXLANOverlay) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkHosts("vxlan-overlay", t, 1); err != nil {
		return plan.Plan{}, err
	}
	if err := checkVXLAN("vxlan-overlay", n.VNI, n.Port); err != nil {
		return plan.Plan{}, err
	}
	overhead := vxlanOverhead(t)
	mtu, err := podMTU("vxlan-overlay", t, overhead)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, overhead), Steps: meshSteps(t)}
	entries := floodEntries(t)
	var tunnels []plan.Expect
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, attach(t, h, mtu)...)
		p.Steps = append(p.Steps, vxlanLink(h, mtu, n.VNI, n.Port, bridgeDev))
		p.Steps = flood(p.Steps, t, h, entries)
		tunnels = append(tunnels, plan.Expect{In: h.Name, Dev: vxlanDev, MTU: mtu, Carries: len(t.Hosts) > 1, Across: len(t.Hosts) > 1, Near: plan.Pod})
	}
	p.Expect = expect(t, p, tunnels...)
	return p, nil
}
