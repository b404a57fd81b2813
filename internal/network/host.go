package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Host has no pods: programs run on the hosts and use the underlay directly. It is the usual
// baseline of other networks. A lone host uses its loopback device, as the kernel does for local
// addresses.
type Host struct{}

func (Host) Where() []Where { return []Where{InLab, OverSSH, InKube} }

// loMTU is the loopback device's MTU: 64 KiB (drivers/net/loopback.c, loopback_setup).
const loMTU = 65536

// Plan returns no steps, because the underlay is enough.
func (Host) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkHosts("host", t, 1); err != nil {
		return plan.Plan{}, err
	}
	if t.Exists {
		return found("host", t, foundHosts(t))
	}
	p := plan.Plan{Ends: hostEnds(t), Path: path(t, t.MTU, 0)}
	if len(t.Hosts) > 1 {
		return expect(t, p), nil
	}
	h := t.Hosts[0].Name
	p.Path.MTU = loMTU
	p.Expect = []plan.Expect{
		{State: plan.State{In: h, Dev: loopback, MTU: loMTU}, Proof: plan.Proof{MustCarry: true}},
		{State: plan.State{In: h}, Proof: plan.Proof{NoFragments: true}},
	}
	return p, nil
}

func hostEnds(t topo.Topology) []plan.End {
	var ends []plan.End
	for _, h := range t.Hosts {
		ends = append(ends, plan.End{Label: plan.Host, Node: h.Name, Host: h.Name, Addr: h.Addr.Addr(), Dev: h.Dev})
	}
	return ends
}

const loopback = "lo"
