package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VXLANHops connects the pods of a line of hosts, each of which reaches only its
// neighbours: a bridge on every host, with a VXLAN tunnel to each neighbour.
// Between the ends every host unpacks a frame, bridges it and packs it again in
// the kernel, as Weave's fast datapath does when hosts cannot reach each other.
//
// The kernel takes one VXLAN device per identifier and port (drivers/net/vxlan,
// vxlan_vni_in_use), so every segment of the line has an identifier of its own.
type VXLANHops struct {
	Hops int `yaml:"hops"` // 1 to 5, one less than hosts
	VNI  int `yaml:"vni"`  // of the first segment, the next ones count up: 1 to 1<<24-1
	Port int `yaml:"port"` // UDP destination port, 1 to 65535
}

const maxHops = 5

// Shape returns a line that has n.Hops segments.
func (n VXLANHops) Shape(s topo.Spec) topo.Spec { return line(s, n.Hops) }

// line changes s to a line of so many hops as are allowed.
func line(s topo.Spec, hops int) topo.Spec {
	s.Shape, s.Hosts = topo.Line, min(max(hops, 1), maxHops)+1
	return s
}

// checkLine returns an error unless t is a line with so many hops.
func checkLine(name string, t topo.Topology, hops int) error {
	if hops < 1 || hops > maxHops {
		return fmt.Errorf("%s: hops %d is outside 1..%d", name, hops, maxHops)
	}
	if t.Shape != topo.Line || len(t.Hosts) != hops+1 {
		return fmt.Errorf("%s: needs a line of %d hosts, topology has %d hosts and shape %q", name, hops+1, len(t.Hosts), t.Shape)
	}
	return nil
}

// Plan makes the bridges, plugs the pods in, and connects neighbours.
func (n VXLANHops) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkLine("vxlan-hops", t, n.Hops); err != nil {
		return plan.Plan{}, err
	}
	for _, vni := range []int{n.VNI, n.VNI + n.Hops - 1} {
		if err := checkVXLAN("vxlan-hops", vni, n.Port); err != nil {
			return plan.Plan{}, err
		}
	}
	overhead := vxlanOverhead(t)
	mtu, err := podMTU("vxlan-hops", t, overhead)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, overhead)}
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, attach(t, h, mtu)...)
	}
	var tunnels []plan.Expect
	for i, ports := range t.Segments {
		for _, ends := range [][2]topo.Port{{ports[0], ports[1]}, {ports[1], ports[0]}} {
			from, to, dev := ends[0].In, ends[1].Addr.Addr(), hopDev(t, i, ends[0])
			p.Steps = append(p.Steps,
				plan.Step{In: from, Link: &plan.Link{Name: dev, Kind: "vxlan", MTU: mtu, Master: bridgeDev, VNI: n.VNI + i, Port: n.Port, Local: ends[0].Addr.Addr()}},
				plan.Step{In: from, FDB: &plan.FDB{Dev: dev, Dst: to}})
			tunnels = append(tunnels, plan.Expect{In: from, Dev: dev, MTU: mtu, Carries: true, Side: side(t, i), Near: plan.Pod})
		}
	}
	p.Expect = expect(t, p, tunnels...)
	return p, nil
}

// hopDev names the tunnel over port, which is on segment i: vx0 leads to the
// only neighbour or to the one before, vx1 to the one after.
func hopDev(t topo.Topology, i int, port topo.Port) string {
	if i > 0 && port.In == t.Hosts[i].Name {
		return "vx1"
	}
	return vxlanDev
}
