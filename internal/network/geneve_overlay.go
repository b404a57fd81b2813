package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// GeneveOverlay is VXLANOverlay with Geneve (RFC 8926) without options instead of VXLAN: the
// packets of OVN and Antrea, without their datapath. The kernel's device has only one remote end,
// so this network connects two hosts.
type GeneveOverlay struct {
	VNI  int `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1
	Port int `yaml:"port"` // UDP destination port, 1 to 65535
}

const geneveDev = "gnv0"

func (n GeneveOverlay) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("geneve-overlay", t, 2, vxlanOverhead(t),
		checkExactly("geneve-overlay", t, 2), checkVXLAN("geneve-overlay", n.VNI, n.Port))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	for i, h := range t.Hosts {
		peer := t.Hosts[1-i]
		p.Steps = append(p.Steps, attach(t, h, mtu)...)
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Forwards: forwards("geneve", geneveDev, h.Dev), Link: &plan.Link{
			Name: geneveDev, Kind: "geneve", MTU: mtu, Master: bridgeDev, VNI: n.VNI, Port: n.Port, Remote: peer.Addr.Addr()}})
		p.Expect = append(p.Expect, expectTunnel(h.Name, geneveDev, mtu))
	}
	return expect(t, p), nil
}
