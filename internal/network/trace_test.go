package network_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// The trace follows from the plan alone, and passes the mechanism that the network measures.
func TestTrace(t *testing.T) {
	want := map[string]string{
		"host":                "h1:eth0 h2:eth0",
		"vxlan":               "h1:vx0 vxlan h1:eth0 h2:eth0 vxlan h2:vx0",
		"vxlan-overlay":       "h1p1:eth0 h1:p1 h1:br0 h1:vx0 vxlan h1:eth0 h2:eth0 vxlan h2:vx0 h2:br0 h2:p1 h2p1:eth0",
		"bridged":             "h1p1:eth0 h1:p1 h1:br0 h1:eth0 h2:eth0 h2:br0 h2:p1 h2p1:eth0",
		"routed":              "h1p1:eth0 h1:p1 route h1:eth0 h2:eth0 route h2:p1 h2p1:eth0",
		"two-paths":           "h1p1:eth0 h1:p1 route h1:eth0 h2:eth0 route h2:p1 h2p1:eth0",
		"netkit":              "h1p1:eth0 h1:p1 route h1:eth0 h2:eth0 route h2:p1 h2p1:eth0",
		"service-nftables":    "h1p1:eth0 h1:p1 route h1:eth0 h2:eth0 route h2:p1 h2p1:eth0",
		"service-ipvs":        "h1p1:eth0 h1:p1 route h1:eth0 h2:eth0 route h2:p1 h2p1:eth0",
		"tc-redirect":         "h1p1:eth0 h1:p1 tcx h1:eth0 h2:eth0 tcx h2:p1 h2p1:eth0",
		"xdp-redirect":        "h1p1:eth0 h1:p1 xdp h1:eth0 h2:eth0 xdp h2:p1 h2p1:eth0",
		"relay":               "h1p1:eth0 h1:p1 h1:br0 h1:relay0 a program h1:eth0 h2:eth0 a program h2:relay0 h2:br0 h2:p1 h2p1:eth0",
		"eni-shared":          "h1p1:eth0 h1:p1 route h1:eth1 h2:eth1 route h2:p1 h2p1:eth0",
		"terway":              "h1p1:eth0 h1:p1 route h1:eth1 switch:h1-eth1 switch:sw0 switch:h2-eth1 h2:eth1 route h2:p1 h2p1:eth0",
		"macvlan":             "h1p1:eth0 h1:eth0 h2:eth0 h2p1:eth0",
		"calico":              "h1p1:eth0 cni h1:eth0 h2:eth0 cni h2p1:eth0",
		"calico-vxlan":        "h1p1:eth0 cni h1:vxlan.calico felix h1:eth0 h2:eth0 felix h2:vxlan.calico cni h2p1:eth0",
		"calico-bgp-datapath": "h1p1:eth0 h1:cali1 route h1:eth0 h2:eth0 route h2:cali1 h2p1:eth0",
		"ovs-vlan":            "h1p1:eth0 h1:p1 h1:br-int h1:eth0 h2:eth0 h2:br-int h2:p1 h2p1:eth0",
		"ovs-vxlan":           "h1p1:eth0 h1:p1 h1:br-int h1:tun-h2 vxlan h1:br-ex h1:eth0 h2:eth0 h2:br-ex vxlan h2:tun-h1 h2:br-int h2:p1 h2p1:eth0",
		"ovs-vxlan-internal":  "h1p1:eth0 h1:p1 h1:br-int h1:tun-h2 vxlan h1:br-ex h1:eth0 h2:eth0 h2:br-ex vxlan h2:tun-h1 h2:br-int h2:p1 h2p1:eth0",
		"weave":               "h1p1:eth0 h1:p1 h1:weave weaver h1:eth0 h2:eth0 weaver h2:weave h2:p1 h2p1:eth0",
		"docker-bridge":       "h1p1:eth0 docker h1p2:eth0",
		"docker-overlay":      "h1p1:eth0 docker h1:eth0 h2:eth0 docker h2p1:eth0",
		"cni":                 "h1p1:eth0 cni h1:cni0 cni h1:eth0 h2:eth0 cni h2:cni0 cni h2p1:eth0",
		"cni-macvlan":         "h1p1:eth0 cni h1:eth0 h2:eth0 cni h2p1:eth0",
		"flannel-udp":         "h1p1:eth0 cni h1:cni0 cni h1:flannel0 flanneld h1:eth0 h2:eth0 flanneld h2:flannel0 cni h2:cni0 cni h2p1:eth0",
		"canal":               "h1p1:eth0 cni h1:flannel.1 flanneld h1:eth0 h2:eth0 flanneld h2:flannel.1 cni h2p1:eth0",
		"bridge":              "h1p1:eth0 h1:p1 h1:br0 h1:p2 h1p2:eth0",
		"ovs":                 "h1p1:eth0 h1:p1 h1:br-int h1:p2 h1p2:eth0",
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		tp := shaped(t, name, topo.Spec{})
		if catalog.Networks[name].Hosts == 1 {
			tp = topology(t, topo.Spec{Hosts: 1, Pods: 2})
		}
		p, err := network.Build(drivers[name], tp)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		from, to, err := p.Between("")
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range p.Trace(from, to) {
			if h.By != "" {
				got = append(got, h.By)
			}
			got = append(got, h.In+":"+h.Dev)
		}
		if s := strings.Join(got, " "); s != want[name] {
			t.Errorf("%s:\ngot  %s\nwant %s", name, s, want[name])
		}
	}
}

// A golden file holds the devices from the first end of each kind to all others, for every network and topology.
func TestTraceGolden(t *testing.T) {
	ds, ts := maps.Clone(drivers), maps.Clone(specs)
	ds["relay-3"] = &network.Relay{Hops: 3, Port: 6783}
	ds["weave-sleeve-3"] = &network.Weave{Mode: network.WeaveSleeve, Hops: 3}
	ds["terway-bridge"] = &network.Terway{Bridge: true}
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
