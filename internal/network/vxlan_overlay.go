package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VXLANOverlay connects the pods of all hosts as one Ethernet segment: a bridge on every host with
// the pods and a VXLAN device as ports. Docker's overlay and many CNIs set up the same with
// daemons.
type VXLANOverlay struct {
	VNI  int `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1
	Port int `yaml:"port"` // UDP destination port, 1 to 65535
}

func (n VXLANOverlay) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("vxlan-overlay", t, 1, vxlanOverhead(t), checkVXLAN("vxlan-overlay", n.VNI, n.Port))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu, entries := p.Path.MTU, floodEntries(t)
	p.Steps = meshSteps(t)
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, attach(t, h, mtu)...)
		p.Steps = append(p.Steps, vxlanLink(h, mtu, n.VNI, n.Port, bridgeDev))
		p.Steps = flood(p.Steps, t, h, entries)
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Dev: vxlanDev, MTU: mtu}, Proof: plan.Proof{MustCarry: len(t.Hosts) > 1, Across: len(t.Hosts) > 1, Near: plan.Pod}})
	}
	return expect(t, p), nil
}
