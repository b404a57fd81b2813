package network

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A Where is a kind of target.
type Where string

const (
	InLab   Where = "lab"  // this machine, where weir builds networks
	OverSSH Where = "ssh"  // machines that exist
	InKube  Where = "kube" // a Kubernetes cluster that exists
)

// An Existing is a Driver of a network that targets can find, so that nothing is built.
type Existing interface {
	Where() []Where
}

// WhereIs returns the kinds of targets in which d can be measured: the lab only, unless d is Existing.
func WhereIs(d Driver) []Where {
	if e, ok := d.(Existing); ok {
		return e.Where()
	}
	return []Where{InLab}
}

// found returns the plan of a network that a target has found: no steps, the path, and the
// expectation that the ends' devices keep their MTU and carry the traffic. What the network adds to
// packets is unknown, so that nothing computes a ceiling from the path.
func found(name string, t topo.Topology, ends []plan.End) (plan.Plan, error) {
	switch {
	case !t.Exists:
		return plan.Plan{}, fmt.Errorf("%s: weir does not build this network, but measures one that exists; add --kube or --ssh (weir list networks shows which), or choose another network", name)
	case len(ends) < 2:
		return plan.Plan{}, fmt.Errorf("%s: needs two ends, and the target has %d; name another machine, or measure between two pods of one (-n pod --pods 2)", name, len(ends))
	}
	p := plan.Plan{Ends: ends, Path: plan.Path{Found: true}, Paths: map[string]plan.Path{}}
	mtus, nodes := map[string]int{}, []string(nil) // by label; 0: unknown
	for _, e := range ends {
		mtu := mtuOf(t, e)
		if had, ok := mtus[e.Label]; !ok || mtu < had {
			mtus[e.Label] = mtu
		}
		x := plan.Expect{State: plan.State{In: e.Node, Dev: e.Dev, MTU: mtu}, Proof: plan.Proof{MustCarry: true}}
		if e.Node == e.Host { // the host has other devices, such as the one to its own pods
			x.Across, x.Near = true, e.Label
		}
		p.Expect = append(p.Expect, x)
		if !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
	}
	for _, node := range nodes {
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: node}, Proof: plan.Proof{NoFragments: true}})
	}
	first := ends[0].Label
	p.Path.MTU = smaller(mtus[first], mtus[first], t)
	for from := range mtus {
		for to := range mtus {
			if from != first || to != first {
				p.Paths[from+"-"+to] = plan.Path{Found: true, MTU: smaller(mtus[from], mtus[to], t)}
			}
		}
	}
	return p, nil
}

// smaller returns the smaller of two MTUs; the topology's where one is unknown.
func smaller(a, b int, t topo.Topology) int {
	if min(a, b) == 0 {
		return t.MTU
	}
	return min(a, b)
}

// mtuOf returns the MTU of an end's device; 0 if the target does not know it.
func mtuOf(t topo.Topology, e plan.End) int {
	for _, h := range t.Hosts {
		if h.Name == e.Node {
			return h.MTU
		}
		for _, p := range h.Pods {
			if p.Name == e.Node {
				return p.MTU
			}
		}
	}
	return 0
}

// foundHosts returns an end for every host that has an address: without a program in a host's network
// namespace it has none.
func foundHosts(t topo.Topology) []plan.End {
	return slices.DeleteFunc(hostEnds(t), func(e plan.End) bool { return !e.Addr.IsValid() })
}

// foundPods returns an end for every pod, and after them one for every host.
func foundPods(t topo.Topology) []plan.End {
	var ends []plan.End
	for _, h := range t.Hosts {
		for _, p := range h.Pods {
			dev := p.Dev
			if dev == "" {
				dev = podDev
			}
			ends = append(ends, plan.End{Label: plan.Pod, Node: p.Name, Host: h.Name, Addr: p.Addr.Addr(), Dev: dev, Call: p.Call, Ports: p.Ports})
		}
	}
	return append(ends, foundHosts(t)...)
}

// errNoDevice is the error of a Via without a device.
var errNoDevice = errors.New("via: no device given: write {use: via, dev: wg0}; weir doctor --ssh lists the devices of machines")
