package network

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// OVSVLAN connects the pods of all hosts as one VLAN of the underlay: access ports of an Open
// vSwitch bridge whose trunk is the host's underlay device. Pods have the underlay's MTU, which
// does not count the tag.
type OVSVLAN struct {
	Datapath  string `yaml:"datapath"`  // system: the kernel forwards; netdev: ovs-vswitchd itself does; auto: the kernel if it has the datapath
	Interface string `yaml:"interface"` // of pods: veth, or internal, a device that Open vSwitch makes
	Tag       int    `yaml:"tag"`       // VLAN identifier, 1 to 4094
}

func (n OVSVLAN) Plan(t topo.Topology) (plan.Plan, error) {
	v, bad := newVSwitch("ovs-vlan", n.Datapath, n.Interface, t)
	p, err := newPlan("ovs-vlan", t, 2, 0, checkTag("ovs-vlan", n.Tag), bad)
	if err != nil {
		return plan.Plan{}, err
	}
	p.Path.Tag, p.Path.Datapath = plan.VLANTag, v.datapath()
	for _, h := range t.Hosts {
		p.Steps = slices.Concat(p.Steps, v.start(h), v.addBridge(h, intBridge, h.Dev),
			v.attach(h, p.Path.MTU, fmt.Sprintf("tag=%d", n.Tag)), v.versions(h))
	}
	return expect(t, p), nil
}

func checkTag(name string, tag int) error { return checkRange(name, "tag", tag, 1, 4094) }
