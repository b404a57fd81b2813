package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Macvlan gives every pod a device with a separate MAC address on the host's underlay device, in
// bridge mode: pods are stations of the underlay, and pods of one host reach each other inside the
// kernel. Pods cannot reach their host.
type Macvlan struct{}

func (Macvlan) Plan(t topo.Topology) (plan.Plan, error) {
	// The device below segments, but never sees packets within a host (drivers/net/macvlan.c,
	// ALWAYS_ON_OFFLOADS).
	p, err := newPlan("macvlan", t, 1, 0, refuse(t.NoOffload && len(t.Hosts) == 1,
		"macvlan: cannot switch off segmentation between pods of one host; use 2 hosts, or leave the offloads on"))
	if err != nil {
		return plan.Plan{}, err
	}
	for _, h := range t.Hosts {
		for _, pod := range h.Pods {
			p.Steps = append(p.Steps,
				plan.Step{In: h.Name, Link: &plan.Link{Name: podDev, Kind: "macvlan", MTU: p.Path.MTU, Parent: h.Dev, To: pod.Name}},
				plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}})
		}
	}
	return expect(t, p), nil
}
