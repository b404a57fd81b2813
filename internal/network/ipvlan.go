package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// IPvlan gives every pod a device on the host's underlay device that shares its MAC address; the
// kernel tells pods apart by IP address. In mode l2 pods are stations of the underlay, as with
// Macvlan. In mode l3 the host's routing table handles outgoing packets, and pods do not resolve
// neighbors. Pods cannot reach their host.
type IPvlan struct {
	Mode string `yaml:"mode"` // l2: pods are switched; l3: they are routed
}

func (n IPvlan) Plan(t topo.Topology) (plan.Plan, error) {
	// drivers/net/ipvlan/ipvlan_main.c, IPVLAN_ALWAYS_ON_OFLOADS: as with macvlan.
	p, err := newPlan("ipvlan", t, 1, 0, checkOneOf("ipvlan", "mode", n.Mode, "l2", "l3"), refuse(t.NoOffload && len(t.Hosts) == 1,
		"ipvlan: cannot switch off segmentation between pods of one host; use 2 hosts, or leave the offloads on"))
	if err != nil {
		return plan.Plan{}, err
	}
	if n.Mode == "l3" {
		if err := oneFamily("ipvlan", t); err != nil {
			return plan.Plan{}, err
		}
		p.Steps = hostRoutes(t, noDevs)
	}
	for _, h := range t.Hosts {
		for _, pod := range h.Pods {
			addr := pod.Addr
			if n.Mode == "l3" {
				addr = hostPrefix(addr.Addr())
			}
			p.Steps = append(p.Steps,
				plan.Step{In: h.Name, Link: &plan.Link{Name: podDev, Kind: "ipvlan", MTU: p.Path.MTU, Parent: h.Dev, To: pod.Name, Mode: n.Mode}},
				plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: addr}})
			if n.Mode == "l3" {
				p.Steps = append(p.Steps, plan.Step{In: pod.Name, Route: &plan.Route{Dst: defaultRoute(addr.Addr()), Dev: podDev}})
			}
		}
	}
	return expect(t, p), nil
}
