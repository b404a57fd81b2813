package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VXLANHops connects the pods of a line of hosts, each of which reaches only its neighbors: a
// bridge on every host, with a VXLAN tunnel to each neighbor. Hosts between the ends decapsulate,
// bridge and re-encapsulate frames in the kernel, as Weave's fast datapath does when hosts cannot
// reach each other.
//
// The kernel allows one VXLAN device per identifier and port (drivers/net/vxlan, vxlan_vni_in_use),
// so every segment has a different identifier.
//
// With delay, a segment acts as a long wire for everything that passes it.
type VXLANHops struct {
	Hops  int    `yaml:"hops"`  // 1 to 5, one less than hosts
	VNI   int    `yaml:"vni"`   // of the first segment; each further segment has the next one: 1 to 1<<24-1
	Port  int    `yaml:"port"`  // UDP destination port, 1 to 65535
	Delay Delays `yaml:"delay"` // of every segment, or a list with one for each: 0 to 1 s, each way
}

func (n VXLANHops) Shape(s topo.Spec) topo.Spec { return line(s, n.Hops, n.Delay) }

func (n VXLANHops) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := newPlan("vxlan-hops", t, 2, vxlanOverhead(t), checkLine("vxlan-hops", t, n.Hops, n.Delay),
		checkVXLAN("vxlan-hops", n.VNI, n.Port), checkVXLAN("vxlan-hops", n.VNI+n.Hops-1, n.Port))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, attach(t, h, mtu)...)
	}
	for i, ports := range t.Segments {
		for _, ends := range [][2]topo.Port{{ports[0], ports[1]}, {ports[1], ports[0]}} {
			from, to, dev := ends[0].In, ends[1].Addr.Addr(), hopDev(t, i, ends[0])
			p.Steps = append(p.Steps,
				plan.Step{In: from, Forwards: forwards("vxlan", dev, ends[0].Dev), Link: &plan.Link{Name: dev, Kind: "vxlan", MTU: mtu, Master: bridgeDev, VNI: n.VNI + i, Port: n.Port, Local: ends[0].Addr.Addr()}},
				plan.Step{In: from, FDB: &plan.FDB{Dev: dev, Dst: to}})
			p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: from, Dev: dev, MTU: mtu}, Proof: plan.Proof{MustCarry: true, Side: side(t, i), Near: plan.Pod}})
		}
	}
	return expect(t, p), nil
}

// hopDev names the tunnel over port on segment i: vx0 leads to the previous host or the only
// neighbor, vx1 to the next one.
func hopDev(t topo.Topology, i int, port topo.Port) string {
	if i > 0 && port.In == t.Hosts[i].Name {
		return "vx1"
	}
	return vxlanDev
}
