package network

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Build returns the whole plan for network d in t: the underlay, unless it exists, the
// steps of d and, when t wants that, the offloads switched off. The hosts are ends, too,
// whether or not d connects them itself. This plan is the one that is applied, and
// printed. A lab needs the namespaces Places(t) for it.
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
	if !t.Exists {
		p.Steps = slices.Insert(p.Steps, 0, Underlay(t)...) // in place if the driver left capacity
	}
	if t.Shape == topo.Line {
		for _, h := range t.Hosts {
			p.Line = append(p.Line, h.Name)
		}
	}
	if len(p.Labelled(plan.Host)) == 0 {
		p.Ends = append(p.Ends, hostEnds(t)...)
		if len(t.Hosts) > 1 {
			if p.Paths == nil {
				p.Paths = map[string]plan.Path{}
			}
			p.Paths[plan.Host+"-"+plan.Host] = path(t, t.MTU, 0)
		}
	}
	if t.NoOffload {
		p.Steps = append(p.Steps, noOffloads(p)...)
	}
	p.Expect = append(p.Expect, expectOffloads(p.Steps)...)
	return p, nil
}

// expectOffloads expects the features that the steps switch to stay that way.
func expectOffloads(steps []plan.Step) []plan.Expect {
	type device struct{ in, dev string }
	var order []device
	want := map[device]map[string]bool{}
	for _, s := range steps {
		if s.Offload == nil {
			continue
		}
		d := device{s.In, s.Offload.Dev}
		if want[d] == nil {
			order = append(order, d)
			want[d] = map[string]bool{}
		}
		maps.Copy(want[d], s.Offload.Features)
	}
	var all []plan.Expect
	for _, d := range order {
		all = append(all, plan.Expect{State: plan.State{In: d.in, Dev: d.dev, Offload: want[d]}})
	}
	return all
}
