package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VMVXLAN is VXLANOverlay with a virtual machine per pod, as in clouds that connect tenants'
// machines.
type VMVXLAN struct {
	VNI    int    `yaml:"vni"`    // virtual network identifier, 1 to 1<<24-1
	Port   int    `yaml:"port"`   // UDP destination port, 1 to 65535
	CPUs   int    `yaml:"cpus"`   // of each, 1 to 255
	Queues int    `yaml:"queues"` // of its network device, 1 to cpus
	VHost  string `yaml:"vhost"`  // on: a kernel thread moves the packets; off: QEMU does; auto: on if the host has KVM and vhost
	Memory int64  `yaml:"memory"` // of each, bytes, 256 MiB or more
}

func (n VMVXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	v := VM{n.CPUs, n.Queues, n.VHost, n.Memory}
	p, err := newPlan("vm-vxlan", t, 1, vxlanOverhead(t), checkVXLAN("vm-vxlan", n.VNI, n.Port), v.check("vm-vxlan"))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	entries := floodEntries(t)
	p.Expect = v.expectTaps(t, mtu)
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, bridgeNF(t, h.Name, nfOff)...) // as in VMVLAN
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Link: &plan.Link{Name: bridgeDev, Kind: "bridge", MTU: mtu}})
		for i := range h.Pods {
			p.Steps = append(p.Steps, v.tap(h.Name, podPort(i), mtu, bridgeDev))
		}
		p.Steps = append(p.Steps, vxlanLink(h, mtu, n.VNI, n.Port, bridgeDev))
		p.Steps = flood(p.Steps, t, h, entries)
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Dev: vxlanDev, MTU: mtu}, Proof: plan.Proof{MustCarry: len(t.Hosts) > 1, Across: len(t.Hosts) > 1, Near: plan.Pod}})
	}
	p.Steps = append(p.Steps, v.machines(t, mtu, false)...)
	return expect(t, p), nil
}
