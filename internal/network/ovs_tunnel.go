package network

import (
	"errors"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// OVSVXLAN connects the pods of all hosts with Open vSwitch and VXLAN tunnels
// between its bridges, as Open vSwitch based container networks do.
type OVSVXLAN struct {
	Datapath  string `yaml:"datapath"`  // system: the kernel's; netdev: ovs-vswitchd itself forwards; auto: the kernel's where there is one
	Interface string `yaml:"interface"` // of pods: veth, or a device that Open vSwitch makes, internal
	VNI       int    `yaml:"vni"`       // virtual network identifier, 1 to 1<<24-1
	Port      int    `yaml:"port"`      // UDP destination port, 1 to 65535
}

// Plan starts Open vSwitch everywhere and connects the hosts.
func (n OVSVXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	return ovsTunnel("ovs-vxlan", "vxlan", n.Datapath, n.Interface, n.VNI, n.Port, t)
}

// OVSGeneve is OVSVXLAN with Geneve tunnels, as OVN makes them.
type OVSGeneve struct {
	Datapath  string `yaml:"datapath"`  // system: the kernel's; netdev: ovs-vswitchd itself forwards; auto: the kernel's where there is one
	Interface string `yaml:"interface"` // of pods: veth, or a device that Open vSwitch makes, internal
	VNI       int    `yaml:"vni"`       // virtual network identifier, 1 to 1<<24-1
	Port      int    `yaml:"port"`      // UDP destination port, 1 to 65535; IANA's is 6081 (RFC 8926, 3.3)
}

// Plan starts Open vSwitch everywhere and connects the hosts.
func (n OVSGeneve) Plan(t topo.Topology) (plan.Plan, error) {
	return ovsTunnel("ovs-geneve", "geneve", n.Datapath, n.Interface, n.VNI, n.Port, t)
}

func ovsTunnel(name, kind, datapath, iface string, vni, port int, t topo.Topology) (plan.Plan, error) {
	if err := checkHosts(name, t, 2); err != nil {
		return plan.Plan{}, err
	}
	if err := checkVXLAN(name, vni, port); err != nil {
		return plan.Plan{}, err
	}
	v, err := newVSwitch(name, datapath, iface, t)
	if err != nil {
		return plan.Plan{}, err
	}
	if !v.netdev && t.NoOffload {
		return plan.Plan{}, errors.New(name + ": segmentation by the tunnels of the kernel datapath is not switched off here; use datapath netdev")
	}
	// Geneve's header without options is as long as VXLAN's (RFC 8926, 3.4).
	overhead := vxlanOverhead(t)
	mtu, err := podMTU(name, t, overhead)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, overhead)}
	var uplinks []plan.Expect
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, v.start(h)...)
		p.Steps = append(p.Steps, v.uplink(h, t.MTU)...)
		p.Steps = append(p.Steps, v.addBridge(h, intBridge))
		p.Steps = append(p.Steps, v.attach(h, mtu)...)
		p.Steps = append(p.Steps, v.join(t, h, mtu)...)
		p.Steps = append(p.Steps, v.tunnel(t, h, kind, vni, port)...)
		p.Steps = append(p.Steps, v.versions(h)...)
		uplinks = append(uplinks, plan.Expect{State: plan.State{In: h.Name, Dev: extBridge, MTU: t.MTU}})
	}
	p.Expect = expect(t, p, uplinks...)
	return p, nil
}
