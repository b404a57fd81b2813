package network

import (
	"errors"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Macvlan gives every pod a device of its own MAC address on the host's
// underlay device, in bridge mode: pods are stations of the underlay, and pods
// of one host reach each other inside the kernel. Pods do not reach their host.
type Macvlan struct{}

// Plan makes the devices in the pods.
func (Macvlan) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkHosts("macvlan", t, 1); err != nil {
		return plan.Plan{}, err
	}
	if t.NoOffload && len(t.Hosts) == 1 {
		// drivers/net/macvlan.c, ALWAYS_ON_OFFLOADS: segmenting is left to the
		// device below, which packets between pods of one host never see.
		return plan.Plan{}, errors.New("macvlan: segmentation between pods of one host cannot be switched off; use 2 hosts, or leave the offloads on")
	}
	mtu, err := podMTU("macvlan", t, 0)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, 0)}
	for _, h := range t.Hosts {
		for _, pod := range h.Pods {
			p.Steps = append(p.Steps,
				plan.Step{In: h.Name, Link: &plan.Link{Name: podDev, Kind: "macvlan", MTU: mtu, Parent: h.Dev, To: pod.Name}},
				plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}})
		}
	}
	p.Expect = expect(t, p)
	return p, nil
}
