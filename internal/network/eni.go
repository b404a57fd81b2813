package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// ENIShared gives the pods of a host addresses of the underlay and one shared NIC, separate from
// the host's: a pod is behind a veth, and a policy rule sends its packets out of the second NIC.
// There is no bridge, encapsulation or address translation. Terway does this when pods share an
// elastic network interface (ENI); the rules, tables and their order are Terway's
// (plugin/datapath/policy_router_linux.go).
//
// A cloud delivers a pod's packets to the NIC that the pod is registered with. Here the host
// answers for its pods on that NIC.
type ENIShared struct{}

func (ENIShared) Shape(s topo.Spec) topo.Spec { s.Shape = topo.HostNICs; return s }

// Packets to a pod match first and use the main table; those from a pod use its NIC's.
const (
	toPodPriority   = 512
	fromPodPriority = 2048
	eniTable        = 1001
)

func (ENIShared) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("eni-shared", t, 1, 0, checkNICs("eni-shared", t, topo.HostNICs))
	if err != nil {
		return plan.Plan{}, err
	}
	for i, h := range t.Hosts {
		eni := t.Segments[1][i]
		p.Steps = append(p.Steps, eniRouter(t, h, eni)...)
		for n, pod := range h.Pods {
			p.Steps = append(p.Steps, eniShare(h, pod, podPort(n), eni, p.Path.MTU)...)
		}
	}
	return expect(t, p), nil
}

// eniShare puts pod behind a veth called port, and sends its packets through eni of its host h.
func eniShare(h topo.Host, pod topo.Pod, port string, eni topo.Port, mtu int) []plan.Step {
	return eniRules(h, pod, port, eni, routePod(h, pod, port, mtu))
}

// eniBridge is eniShare with a bridge of the host between the veth and its routes.
func eniBridge(t topo.Topology, h topo.Host, pod topo.Pod, port string, eni topo.Port, mtu int) []plan.Step {
	steps := append(bridgeNF(t, h.Name, nfOff),
		plan.Step{In: h.Name, Link: &plan.Link{Name: bridgeDev, Kind: "bridge", MTU: mtu}},
		vethTo(h, pod, port, bridgeDev, mtu))
	return eniRules(h, pod, bridgeDev, eni, append(steps, routeBehind(h, pod, bridgeDev)...))
}

// eniRules adds to steps the rules and the proxy of a pod behind dev of its host h.
func eniRules(h topo.Host, pod topo.Pod, dev string, eni topo.Port, steps []plan.Step) []plan.Step {
	own := hostPrefix(pod.Addr.Addr())
	return append(steps,
		plan.Step{In: h.Name, Rule: &plan.Rule{To: own, Table: plan.MainTable, Priority: toPodPriority}},
		plan.Step{In: h.Name, Forwards: forwards("route", dev, eni.Dev), Rule: &plan.Rule{From: own, Table: eniTable, Priority: fromPodPriority}},
		plan.Step{In: h.Name, Proxy: &plan.Proxy{Dev: eni.Dev, Addr: own.Addr()}})
}

// eniRouter makes h, the host of eni, forward between its pods and eni, and answer for them there
// without delay: the kernel delays proxy replies by up to 0.8 s to let the station itself answer
// first (proxy_delay, net/ipv4/arp.c and net/ipv6/ndisc.c).
func eniRouter(t topo.Topology, h topo.Host, eni topo.Port) []plan.Step {
	v6, family := is6(t.PodAll.Addr()), "ipv4"
	if v6 {
		family = "ipv6"
	}
	steps := []plan.Step{forward(eni.In, v6, h.Dev, eni.Dev), sysctl(eni.In, "net."+family+".neigh."+eni.Dev+".proxy_delay", "0")}
	if v6 {
		steps = append(steps, addLinkLocal(eni), sysctl(eni.In, "net.ipv6.conf."+eni.Dev+".proxy_ndp", "1"))
	}
	return append(steps, plan.Step{In: eni.In, Route: &plan.Route{Dst: defaultRoute(t.PodAll.Addr()), Dev: eni.Dev, Table: eniTable}})
}

// ENIDedicated gives every pod a NIC: a device on the underlay that is in the pod, with nothing in
// between. Terway does this when a pod has a whole elastic network interface (ENI), and so do
// SR-IOV and host-device CNIs.
//
// Note: the device is made in the pod. Moving one there gives the same result but drops its
// queueing discipline (net/core/dev.c, dev_shutdown).
type ENIDedicated struct{}

func (ENIDedicated) Shape(s topo.Spec) topo.Spec { s.Shape = topo.PodNICs; return s }

// Plan returns no steps, because the pods are on the underlay.
func (ENIDedicated) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("eni-dedicated", t, 1, 0, checkNICs("eni-dedicated", t, topo.PodNICs))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Path.Outer = t.MTU
	return expect(t, p), nil
}

func checkNICs(name string, t topo.Topology, s topo.Shape) error {
	return refuse(t.Shape != s, fmt.Sprintf("%s: needs NICs for pods (shape %q), topology has shape %q", name, s, t.Shape))
}
