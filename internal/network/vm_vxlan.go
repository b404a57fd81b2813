package network

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VMVXLAN is VXLANOverlay with a virtual machine per pod, as in clouds that connect tenants'
// machines; or, with switch ovs, OVSVXLAN with a bridge of its own between each machine and Open
// vSwitch, as OpenStack's Neutron has it for rules of iptables (qbr, the hybrid driver).
type VMVXLAN struct {
	Switch string `yaml:"switch"` // bridge: the kernel's bridge and tunnel; ovs: a bridge for each machine, and Open vSwitch with its tunnel
	VNI    int    `yaml:"vni"`    // virtual network identifier, 1 to 1<<24-1
	Port   int    `yaml:"port"`   // UDP destination port, 1 to 65535
	VM
}

func (n VMVXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("vm-vxlan", t, 1, vxlanOverhead(t), checkVXLAN("vm-vxlan", n.VNI, n.Port), n.check("vm-vxlan"),
		checkOneOf("vm-vxlan", "switch", n.Switch, SwitchBridge, SwitchOVS))
	if err != nil {
		return plan.Plan{}, err
	}
	if n.Switch == SwitchOVS {
		return n.ovs(t, p)
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

// ovs connects each machine's TAP device to a bridge (qbr), which a veth (qvb, qvo) connects to
// br-int (Neutron's names; os-vif, vif_plug_ovs/ovs.py). There are no rules, and the bridges pass nothing to netfilter unless a study
// says so: then that is measured, too, as with Neutron.
func (n VMVXLAN) ovs(t topo.Topology, p plan.Plan) (plan.Plan, error) {
	s, err := newVSwitch("vm-vxlan", DatapathAuto, InterfaceVeth, t)
	if err == nil {
		err = refuse(!s.netdev && t.NoOffload, "vm-vxlan: cannot switch off segmentation by the tunnels of the kernel datapath; use switch bridge")
	}
	if err != nil {
		return plan.Plan{}, err
	}
	p.Path.Datapath = s.datapath()
	mtu := p.Path.MTU
	p.Expect = n.expectTaps(t, mtu)
	for _, h := range t.Hosts {
		p.Steps = slices.Concat(p.Steps, bridgeNF(t, h.Name, nfOff), s.start(h), s.uplink(h, t.MTU), s.addBridge(h, intBridge))
		for i := range h.Pods {
			qbr, qvb, qvo := fmt.Sprintf("qbr%d", i+1), fmt.Sprintf("qvb%d", i+1), fmt.Sprintf("qvo%d", i+1)
			p.Steps = append(p.Steps,
				plan.Step{In: h.Name, Link: &plan.Link{Name: qbr, Kind: "bridge", MTU: mtu}},
				n.tap(h.Name, podPort(i), mtu, qbr),
				plan.Step{In: h.Name, Link: &plan.Link{Name: qvb, Kind: "veth", MTU: mtu, Master: qbr, Peer: qvo, PeerIn: h.Name}},
				addPort(h, nil, intBridge, qvo))
			p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Dev: qvo, MTU: mtu}, Proof: plan.Proof{MustCarry: true, Near: plan.Pod}})
		}
		p.Steps = slices.Concat(p.Steps, s.tunnel(t, h, "vxlan", n.VNI, n.Port), s.versions(h))
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Dev: extBridge, MTU: t.MTU}})
	}
	p.Steps = append(p.Steps, n.machines(t, mtu, s.netdev)...)
	return expect(t, p), nil
}
