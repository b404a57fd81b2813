package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VMVXLAN is VXLANOverlay with a virtual machine per pod, as in clouds that connect tenants'
// machines.
type VMVXLAN struct {
	VNI  int `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1
	Port int `yaml:"port"` // UDP destination port, 1 to 65535
	VM
}

func (n VMVXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("vm-vxlan", t, 1, vxlanOverhead(t), checkVXLAN("vm-vxlan", n.VNI, n.Port), n.check("vm-vxlan"))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	entries := floodEntries(t)
	p.Expect = n.expectTaps(t, mtu)
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, bridgeNF(t, h.Name, nfOff)...) // as in VMVLAN
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Link: &plan.Link{Name: bridgeDev, Kind: "bridge", MTU: mtu}})
		for i := range h.Pods {
			p.Steps = append(p.Steps, n.tap(h.Name, podPort(i), mtu, bridgeDev))
		}
		p.Steps = append(p.Steps, vxlanLink(h, mtu, n.VNI, n.Port, bridgeDev))
		p.Steps = flood(p.Steps, t, h, entries)
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Dev: vxlanDev, MTU: mtu}, Proof: plan.Proof{MustCarry: len(t.Hosts) > 1, Across: len(t.Hosts) > 1, Near: plan.Pod}})
	}
	p.Steps = append(p.Steps, n.machines(t, mtu, false)...)
	return expect(t, p), nil
}
