package network_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A golden file holds the devices from the first end of each kind to all others, for every network and topology.
func TestTraceGolden(t *testing.T) {
	ds, ts := maps.Clone(drivers), maps.Clone(specs)
	ds["relay-3"] = &network.Relay{Hops: 3, Port: 6783}
	ds["vxlan-hops-3"] = &network.VXLANHops{Hops: 3, VNI: 1, Port: 4789}
	ds["netkit-program"] = &network.Netkit{Mode: "l2", Program: true}
	ds["ovs-vlan-internal"] = &network.OVSVLAN{Datapath: "system", Interface: "internal", Tag: 42}
	ds["ipvlan-l3"] = &network.IPvlan{Mode: "l3"}
	ts["far"] = topo.Spec{Hosts: 2, Far: true}
	var got strings.Builder
	for _, d := range slices.Sorted(maps.Keys(ds)) {
		in := map[string][]string{} // by traces, the topologies that give them
		for _, s := range slices.Sorted(maps.Keys(ts)) {
			p, err := network.Build(ds[d], topology(t, network.Shape(ds[d], ts[s])))
			if err != nil {
				continue // TestPlanGolden has the error
			}
			traces := tracesOf(p)
			in[traces] = append(in[traces], s)
		}
		for _, traces := range slices.SortedFunc(maps.Keys(in), func(a, b string) int { return strings.Compare(in[a][0], in[b][0]) }) {
			fmt.Fprintf(&got, "%s: %s\n%s", d, strings.Join(in[traces], ", "), traces)
		}
	}
	golden(t, "traces", []byte(got.String()))
}

// tracesOf returns a line from the first end with each label to every other end of p.
func tracesOf(p plan.Plan) string {
	var b strings.Builder
	tracer := p.Tracer()
	for i, from := range p.Ends {
		if slices.ContainsFunc(p.Ends[:i], func(e plan.End) bool { return e.Label == from.Label }) {
			continue
		}
		for _, to := range p.Ends {
			if from.Node == to.Node {
				continue
			}
			fmt.Fprintf(&b, "  %v to %v:", from, to)
			for _, h := range tracer.Trace(from, to) {
				if h.By != "" {
					fmt.Fprintf(&b, " (%s)", h.By)
				}
				fmt.Fprintf(&b, " %s:%s", h.In, h.Dev)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
