package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// OVSVLAN connects the pods of all hosts as one VLAN of the underlay: access
// ports of an Open vSwitch bridge that has the host's underlay device as its
// trunk. Pods have the MTU of the underlay, which carries the tag beside it.
type OVSVLAN struct {
	Datapath  string `yaml:"datapath"`  // system: the kernel's; netdev: ovs-vswitchd itself forwards; auto: the kernel's where there is one
	Interface string `yaml:"interface"` // of pods: veth, or a device that Open vSwitch makes, internal
	Tag       int    `yaml:"tag"`       // VLAN identifier, 1 to 4094
}

// Plan starts Open vSwitch everywhere and plugs pods and underlay in.
func (n OVSVLAN) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkHosts("ovs-vlan", t, 2); err != nil {
		return plan.Plan{}, err
	}
	if err := checkTag("ovs-vlan", n.Tag); err != nil {
		return plan.Plan{}, err
	}
	v, err := newVSwitch("ovs-vlan", n.Datapath, n.Interface, t)
	if err != nil {
		return plan.Plan{}, err
	}
	mtu, err := podMTU("ovs-vlan", t, 0)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, 0)}
	p.Path.Tag = plan.VLANTag
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, v.start(h)...)
		p.Steps = append(p.Steps, v.addBridge(h, intBridge), configure(h, nil, "add-port", intBridge, h.Dev))
		p.Steps = append(p.Steps, v.attach(h, mtu, fmt.Sprintf("tag=%d", n.Tag))...)
		p.Steps = append(p.Steps, v.versions(h)...)
	}
	p.Expect = expect(t, p)
	return p, nil
}

func checkTag(name string, tag int) error {
	if tag < 1 || tag > 4094 {
		return fmt.Errorf("%s: tag %d is outside 1..4094", name, tag)
	}
	return nil
}
