package network

import (
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// OVSVXLAN connects the pods of all hosts with Open vSwitch and VXLAN tunnels between its bridges,
// as container networks based on Open vSwitch do.
type OVSVXLAN struct {
	Datapath  string `yaml:"datapath"`  // system: the kernel forwards; netdev: ovs-vswitchd itself does; auto: the kernel if it has the datapath
	Interface string `yaml:"interface"` // of pods: veth, or internal, a device that Open vSwitch makes
	VNI       int    `yaml:"vni"`       // virtual network identifier, 1 to 1<<24-1
	Port      int    `yaml:"port"`      // UDP destination port, 1 to 65535
}

func (n OVSVXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	return ovsTunnel("ovs-vxlan", "vxlan", n.Datapath, n.Interface, n.VNI, n.Port, t)
}

// OVSGeneve is OVSVXLAN with Geneve tunnels, as in OVN.
type OVSGeneve struct {
	Datapath  string `yaml:"datapath"`  // system: the kernel forwards; netdev: ovs-vswitchd itself does; auto: the kernel if it has the datapath
	Interface string `yaml:"interface"` // of pods: veth, or internal, a device that Open vSwitch makes
	VNI       int    `yaml:"vni"`       // virtual network identifier, 1 to 1<<24-1
	Port      int    `yaml:"port"`      // UDP destination port, 1 to 65535; IANA's is 6081 (RFC 8926, 3.3)
}

func (n OVSGeneve) Plan(t topo.Topology) (plan.Plan, error) {
	return ovsTunnel("ovs-geneve", "geneve", n.Datapath, n.Interface, n.VNI, n.Port, t)
}

func ovsTunnel(name, kind, datapath, iface string, vni, port int, t topo.Topology) (plan.Plan, error) {
	v, bad := newVSwitch(name, datapath, iface, t)
	p, err := newPlan(name, t, 2, vxlanOverhead(t), checkVXLAN(name, vni, port), bad, refuse(!v.netdev && t.NoOffload,
		name+": cannot switch off segmentation by the tunnels of the kernel datapath; use datapath netdev"))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Path.Datapath = v.datapath()
	mtu := p.Path.MTU
	for _, h := range t.Hosts {
		p.Steps = slices.Concat(p.Steps, v.start(h), v.uplink(h, t.MTU), v.addBridge(h, intBridge),
			v.attach(h, mtu), v.join(t, h, mtu), v.tunnel(t, h, kind, vni, port), v.versions(h))
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Dev: extBridge, MTU: t.MTU}})
	}
	return expect(t, p), nil
}
