package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// rxGRO is the kernel's name of the feature; that of a device that joins packets itself begins with it.
const rxGRO = "rx-gro"

// joins says, for the kinds of devices that can join received packets, whether the kernel's default
// makes them: a tunnel (net/core/gro_cells.c; drivers/net/wireguard/receive.c) and a virtual machine's
// NIC do, a veth does not since Linux 5.13 (drivers/net/veth.c, veth_disable_gro).
var joins = map[string]bool{"veth": false, "geneve": true, "ipip": true, "vxlan": true, "wireguard": true, guestNIC: true}

// gro returns the steps that make all devices of p on hosts and in pods that can join received packets
// do so, or none. A veth then receives in a NAPI poll instead of the backlog, whether or not
// there is anything to join.
func gro(t topo.Topology, p plan.Plan) ([]plan.Step, error) {
	if t.GRO == topo.GROUsual {
		return nil, nil
	}
	on := t.GRO == topo.GROOn
	var steps []plan.Step
	made := map[[2]string]bool{}
	eachDevice(p, func(in, dev, kind string) {
		made[[2]string{in, dev}] = true
		usual, can := joins[kind]
		if !can || usual == on || in == Switch {
			return
		}
		f := map[string]bool{rxGRO: on}
		if kind == guestNIC {
			f[rxGRO+"-hw"] = on
		}
		steps = append(steps, plan.Step{In: in, Offload: &plan.Offload{Dev: dev, Features: f}})
	})
	for _, e := range p.Labeled(plan.Pod) {
		if !made[[2]string{e.Node, e.Dev}] {
			return nil, fmt.Errorf("gro: a program makes %s of %s, so weir does not know whether it can join packets; leave out this network", e.Dev, e.Node)
		}
	}
	return steps, nil
}
