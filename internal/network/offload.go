package network

import (
	"fmt"
	"maps"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Features of devices, by the kernel's names since Linux 5.0 (net/ethtool/common.c,
// netdev_features_strings). tx-tcp-accecn-segmentation of the newest kernels is left out: older
// ones reject the name, and only connections that negotiate AccECN use it.
var (
	// Segmentation of TCP.
	segmentTCP = []string{
		"tx-tcp-segmentation", "tx-tcp6-segmentation",
		"tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
		"tx-generic-segmentation",
	}
	// Segmentation of other protocols.
	segmentOther = []string{"tx-udp-segmentation", "tx-sctp-segmentation"}
	// Segmentation inside tunnels.
	segmentTunnel = []string{
		"tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation",
		"tx-gre-segmentation", "tx-gre-csum-segmentation",
		"tx-ipxip4-segmentation", "tx-ipxip6-segmentation",
	}
)

func checkNIC(n topo.NIC) error {
	return refuse(n != topo.NICFull && n != topo.NICTSO && n != topo.NICNone,
		fmt.Sprintf("invalid nic %q: want %q, %q or %q", n, topo.NICFull, topo.NICNone, topo.NICTSO))
}

// nicFeatures returns the features that the underlay device of profile n lacks.
func nicFeatures(n topo.NIC) map[string]bool {
	switch n {
	case topo.NICTSO:
		return off(segmentTunnel, segmentOther)
	case topo.NICNone:
		return off(segmentTunnel, segmentOther, segmentTCP)
	}
	return nil
}

// noOffload returns the features to switch off to stop a device of this kind from segmenting
// packets that it sends and joining packets that it receives.
//
// GRO is switched off only for tunnels, where the kernel's default is on (net/core/gro_cells.c; for
// wireguard drivers/net/wireguard/receive.c). It has been off for veths since Linux 5.13
// (drivers/net/veth.c, veth_disable_gro), and a bridge and the loopback device receive nothing to
// join. A macvlan and an ipvlan have no features of their own; see Macvlan.
func noOffload(kind string) map[string]bool {
	switch kind {
	case "veth", "netkit", "bridge":
		return off(segmentTCP, segmentOther, segmentTunnel)
	case "geneve", "ipip", "vxlan", "wireguard":
		return off(segmentTCP, segmentOther, []string{"rx-gro"})
	case guestNIC: // it joins what it receives, or lets the host leave it joined
		return off(segmentTCP, segmentOther, []string{"rx-gro", "rx-gro-hw"})
	case "vlan", loopback:
		return off(segmentTCP, segmentOther)
	}
	return nil
}

// guestNIC is the kind of a virtual machine's network device.
const guestNIC = "virtio"

// eachDevice calls f for every device that p's own steps make, with its kind.
func eachDevice(p plan.Plan, f func(in, dev, kind string)) {
	for _, s := range p.Steps {
		if s.Guest != nil {
			for _, dev := range s.Guest.Makes {
				f(s.In, dev, guestNIC)
			}
		}
		switch l := s.Link; {
		case l == nil:
		case l.To != "":
			f(l.To, l.Name, l.Kind)
		case l.Peer != "":
			f(s.In, l.Name, l.Kind)
			f(l.PeerIn, l.Peer, l.Kind)
		default:
			f(s.In, l.Name, l.Kind)
		}
	}
}

func off(lists ...[]string) map[string]bool {
	f := map[string]bool{}
	for _, l := range lists {
		for _, name := range l {
			f[name] = false
		}
	}
	return f
}

// noOffloads returns the steps that switch off the offloads of every device that p makes on hosts
// and in pods, and of a loopback device that it measures. It skips the switch: packets are
// segmented before they reach it. With t.GRO on, devices still join received packets.
func noOffloads(t topo.Topology, p plan.Plan) []plan.Step {
	var steps []plan.Step
	add := func(in, dev, kind string) {
		f := noOffload(kind)
		if t.GRO == topo.GROOn {
			maps.DeleteFunc(f, func(name string, _ bool) bool { return strings.HasPrefix(name, rxGRO) })
		}
		if in != Switch && len(f) > 0 {
			steps = append(steps, plan.Step{In: in, Offload: &plan.Offload{Dev: dev, Features: f}})
		}
	}
	eachDevice(p, add)
	for _, e := range p.Expect {
		if e.Dev == loopback {
			add(e.In, e.Dev, loopback)
		}
	}
	return steps
}
