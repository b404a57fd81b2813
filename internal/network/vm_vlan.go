package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// How VMVLAN connects machines to a VLAN. Auto is a bridge if the kernel has VLANs, otherwise OVS.
const (
	SwitchAuto   = "auto"
	SwitchBridge = "bridge"
	SwitchOVS    = "ovs"
)

// VMVLAN connects virtual machines, one per pod, as one VLAN of the underlay: through a bridge on
// every host with the VLAN's device as a port, or as OVSVLAN does. They have the underlay's MTU,
// which does not count the tag.
type VMVLAN struct {
	Switch string `yaml:"switch"` // auto, bridge or ovs
	Tag    int    `yaml:"tag"`    // VLAN identifier, 1 to 4094
	VM
}

func (n VMVLAN) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("vm-vlan", t, 2, 0, checkTag("vm-vlan", n.Tag), n.check("vm-vlan"),
		checkOneOf("vm-vlan", "switch", n.Switch, SwitchAuto, SwitchBridge, SwitchOVS))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	p.Path.Tag = plan.VLANTag
	p.Expect = n.expectTaps(t, mtu)
	if n.Switch == SwitchOVS || n.Switch == SwitchAuto && !t.Kernel.VLAN {
		s, err := newVSwitch("vm-vlan", DatapathAuto, InterfaceVeth, t)
		if err != nil {
			return plan.Plan{}, err
		}
		p.Path.Datapath = s.datapath()
		for _, h := range t.Hosts {
			p.Steps = append(p.Steps, n.ovs(s, h, mtu)...)
		}
		p.Steps = append(p.Steps, n.machines(t, mtu, s.netdev)...)
	} else {
		for _, h := range t.Hosts {
			// Hypervisors keep the frames of guests from the host's rules (libvirt's advice); clouds
			// whose security groups use iptables on bridges do not.
			p.Steps = append(p.Steps, bridgeNF(t, h.Name, nfOff)...)
			trunk := fmt.Sprintf("%s.%d", h.Dev, n.Tag)
			p.Steps = append(p.Steps,
				plan.Step{In: h.Name, Link: &plan.Link{Name: bridgeDev, Kind: "bridge", MTU: mtu}},
				plan.Step{In: h.Name, Link: &plan.Link{Name: trunk, Kind: "vlan", MTU: mtu, Master: bridgeDev, Parent: h.Dev, Tag: n.Tag}})
			for i := range h.Pods {
				p.Steps = append(p.Steps, n.tap(h.Name, podPort(i), mtu, bridgeDev))
			}
			p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Dev: trunk, MTU: mtu}, Proof: plan.Proof{MustCarry: true, Across: true}})
		}
		p.Steps = append(p.Steps, n.machines(t, mtu, false)...)
	}
	return expect(t, p), nil
}

// ovs starts Open vSwitch on h: the underlay is its trunk, the pods' TAP devices are access ports.
func (n VMVLAN) ovs(s vSwitch, h topo.Host, mtu int) []plan.Step {
	steps := append(s.start(h), s.addBridge(h, intBridge, h.Dev)...)
	for i := range h.Pods {
		steps = append(steps, n.tap(h.Name, podPort(i), mtu, ""), addPort(h, nil, intBridge, podPort(i), fmt.Sprintf("tag=%d", n.Tag)))
	}
	return append(steps, s.versions(h)...)
}
