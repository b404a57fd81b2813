package network

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Build returns the whole plan for network d in t, the one that is printed and applied: the
// underlay unless it exists, the steps of d and those that switch offloads as t.NoOffload and t.GRO
// ask. The hosts are always ends, unless a target has no program on them. A lab needs the
// namespaces Places(t).
func Build(d Driver, t topo.Topology) (plan.Plan, error) {
	if len(t.Hosts) == 0 {
		return plan.Plan{}, errors.New("underlay: topology has no hosts")
	}
	for _, ports := range t.Segments {
		if len(ports) > maxPorts {
			return plan.Plan{}, fmt.Errorf("underlay: %d devices are more than the %d ports of a switch", len(ports), maxPorts)
		}
	}
	if err := checkNIC(t.NIC); err != nil {
		return plan.Plan{}, fmt.Errorf("underlay: %w", err)
	}
	p, err := d.Plan(t)
	if err != nil {
		return plan.Plan{}, err
	}
	steer, err := rps(t, p)
	if err != nil {
		return plan.Plan{}, err
	}
	if !t.Exists {
		p.Steps = slices.Insert(p.Steps, 0, Underlay(t)...) // in place if the driver left capacity
	}
	p.Steps = slices.Insert(p.Steps, 0, steer...)
	if t.Shape == topo.Line {
		p.Line = side(t, len(t.Segments))
	}
	if !t.Exists && len(p.Labeled(plan.Host)) == 0 {
		p.Ends = append(p.Ends, hostEnds(t)...)
		if len(t.Hosts) > 1 {
			if p.Paths == nil {
				p.Paths = map[string]plan.Path{}
			}
			p.Paths[plan.Host+"-"+plan.Host] = path(t, t.MTU, 0)
		}
	}
	if t.NoOffload {
		p.Steps = append(p.Steps, noOffloads(t, p)...)
	}
	join, err := gro(t, p)
	if err != nil {
		return plan.Plan{}, err
	}
	p.Steps = append(p.Steps, join...)
	for _, s := range plan.Offloads(p.Steps) { // the features must stay as switched
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: s.In, Dev: s.Offload.Dev, Offload: s.Offload.Features}})
	}
	return p, nil
}
