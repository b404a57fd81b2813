package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Terway gives every host one pod of each kind that Terway makes: one shares a NIC of the host, as
// with ENIShared; the other has a dedicated NIC, as with ENIDedicated. It is for measurements
// between them and the hosts in all directions.
//
// All NICs are on one Ethernet, as on a cloud's virtual switch: a host reaches pods through its
// first NIC, and pods reach everything through theirs.
type Terway struct {
	Bridge bool `yaml:"bridge"` // a bridge of the host between the shared pod's veth and its routes, as a test of 2019 describes the default mode
}

// Labels of the two kinds of pods.
const (
	sharedEnd    = "shared"
	dedicatedEnd = "dedicated"
)

func (Terway) Shape(s topo.Spec) topo.Spec { s.Shape, s.Pods = topo.VPC, 2; return s }

func (n Terway) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("terway", t, 2, 0, checkNICs("terway", t, topo.VPC), refuse(is6(t.PodAll.Addr()) != underlay6(t),
		"terway: pods and hosts share one network and need one address family; give both IPv4 or both IPv6"))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Ends = nil // the two kinds of pods have different labels
	for i, h := range t.Hosts {
		first, eni := t.Segments[0][i], t.Segments[0][len(t.Hosts)+i]
		shared, dedicated := h.Pods[0], h.Pods[1]
		p.Steps = append(p.Steps, eniRouter(t, h, eni)...)
		p.Steps = append(p.Steps, oneEthernet(first, eni)...)
		if n.Bridge {
			p.Steps = append(p.Steps, eniBridge(t, h, shared, podPort(0), eni, p.Path.MTU)...)
		} else {
			p.Steps = append(p.Steps, eniShare(h, shared, podPort(0), eni, p.Path.MTU)...)
		}
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, Route: &plan.Route{Dst: t.PodAll, Dev: first.Dev}},
			plan.Step{In: dedicated.Name, Route: &plan.Route{Dst: defaultRoute(dedicated.Addr.Addr()), Dev: podDev}})
	}
	for kind, label := range []string{sharedEnd, dedicatedEnd} {
		for _, h := range t.Hosts {
			p.Ends = append(p.Ends, plan.End{Label: label, Node: h.Pods[kind].Name, Host: h.Name, Addr: h.Pods[kind].Addr.Addr(), Dev: podDev})
		}
	}
	p = expect(t, p)
	for i, e := range p.Expect { // the devices of hosts
		for kind, label := range []string{plan.Host, sharedEnd} {
			if port := t.Segments[0][kind*len(t.Hosts)]; e.Across && e.Dev == port.Dev {
				p.Expect[i].Near = label
			}
		}
	}
	return p, nil
}

// oneEthernet separates two NICs of a host on one Ethernet. Otherwise each answers for the other's
// addresses and sends requests in its name, and packets arrive on the wrong NIC
// (Documentation/networking/ip-sysctl.rst, arp_ignore and arp_announce). A reply can leave through
// the other NIC (rp_filter). IPv6 does not need these settings: only the NIC with an address
// answers for it.
func oneEthernet(first, second topo.Port) []plan.Step {
	if is6(first.Addr.Addr()) {
		return []plan.Step{addLinkLocal(first)}
	}
	const conf = "net.ipv4.conf."
	steps := []plan.Step{sysctl(first.In, conf+"all.arp_ignore", "1"), sysctl(first.In, conf+"all.arp_announce", "2")}
	for _, dev := range []string{"all", first.Dev, second.Dev} { // the kernel uses the maximum of all and the device
		steps = append(steps, sysctl(first.In, conf+dev+".rp_filter", "0"))
	}
	return steps
}
