package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Bridged connects the pods of all hosts as one Ethernet segment, like VXLANOverlay, but without a
// tunnel: the host's underlay device is a port of the bridge, and pods are stations of the underlay.
// libvirt's bridged networks are built like this.
//
// Every other device is that of VXLANOverlay, so the difference between the two is what VXLAN costs,
// and a prediction of that cost can be refuted.
type Bridged struct{}

func (Bridged) Plan(t topo.Topology) (plan.Plan, error) { return bridged("bridged", t) }

func bridged(name string, t topo.Topology, bad ...error) (plan.Plan, error) {
	p, err := newPlan(name, t, 1, 0, bad...)
	if err != nil {
		return plan.Plan{}, err
	}
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, attach(t, h, p.Path.MTU)...)
		// A port of a bridge receives nothing for its own host, so the address moves to the bridge
		// (net/bridge/br_input.c, br_handle_frame).
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, Addr: &plan.Addr{Dev: h.Dev, Prefix: h.Addr, Gone: true}},
			plan.Step{In: h.Name, Set: &plan.Set{Dev: h.Dev, MTU: t.MTU, Master: bridgeDev}},
			plan.Step{In: h.Name, Addr: &plan.Addr{Dev: bridgeDev, Prefix: h.Addr}})
	}
	return expect(t, p), nil
}
