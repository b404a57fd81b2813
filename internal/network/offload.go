package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Features of devices, by the kernel's names (net/ethtool/common.c,
// netdev_features_strings). All of them exist since Linux 5.0.
//
// Note: tx-tcp-accecn-segmentation, of the newest kernels, is not among them:
// an older kernel refuses the name, and nothing uses it unless a connection
// negotiates AccECN.
var (
	// What segments TCP.
	segmentTCP = []string{
		"tx-tcp-segmentation", "tx-tcp6-segmentation",
		"tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
		"tx-generic-segmentation",
	}
	// What segments other protocols.
	segmentOther = []string{"tx-udp-segmentation", "tx-sctp-segmentation"}
	// What segments inside tunnels.
	segmentTunnel = []string{
		"tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation",
		"tx-gre-segmentation", "tx-gre-csum-segmentation",
		"tx-ipxip4-segmentation", "tx-ipxip6-segmentation",
	}
)

func checkNIC(n topo.NIC) error {
	switch n {
	case topo.NICFull, topo.NICTSO, topo.NICNone:
		return nil
	}
	return fmt.Errorf("nic %q is unknown (known: %q, %q, %q)", n, topo.NICFull, topo.NICNone, topo.NICTSO)
}

// nicFeatures returns what the underlay device of profile n lacks.
func nicFeatures(n topo.NIC) map[string]bool {
	switch n {
	case topo.NICTSO:
		return off(segmentTunnel, segmentOther)
	case topo.NICNone:
		return off(segmentTunnel, segmentOther, segmentTCP)
	}
	return nil
}

// noOffload returns what to switch off so that a device of this kind neither
// segments nor, on its way in, joins.
//
// Only tunnels have GRO switched off: its kernel default is on (net/core/gro_cells.c;
// for wireguard drivers/net/wireguard/receive.c), while that of a veth is off since Linux 5.13 (drivers/net/veth.c,
// veth_disable_gro), and a bridge and the loopback device receive nothing that
// they could join. A macvlan and an ipvlan have no features of their own, see Macvlan.
func noOffload(kind string) map[string]bool {
	switch kind {
	case "veth", "bridge":
		return off(segmentTCP, segmentOther, segmentTunnel)
	case "geneve", "ipip", "vxlan", "wireguard":
		return off(segmentTCP, segmentOther, []string{"rx-gro"})
	case guestNIC: // which joins what it receives, or lets the host leave it joined
		return off(segmentTCP, segmentOther, []string{"rx-gro", "rx-gro-hw"})
	case "vlan":
		return off(segmentTCP, segmentOther)
	case loopback:
		return off(segmentTCP, segmentOther)
	}
	return nil
}

// guestNIC is the kind of the device that a virtual machine has.
const guestNIC = "virtio"

func off(lists ...[]string) map[string]bool {
	f := map[string]bool{}
	for _, l := range lists {
		for _, name := range l {
			f[name] = false
		}
	}
	return f
}

// noOffloads returns the steps that switch off the offloads of every device that
// p makes on hosts and in pods, and of a loopback device that it measures. What
// the switch would segment is already in pieces when it gets there.
func noOffloads(p plan.Plan) []plan.Step {
	var steps []plan.Step
	add := func(in, dev, kind string) {
		if f := noOffload(kind); in != Switch && len(f) > 0 {
			steps = append(steps, plan.Step{In: in, Offload: &plan.Offload{Dev: dev, Features: f}})
		}
	}
	for _, s := range p.Steps {
		if s.Guest != nil {
			for _, dev := range s.Guest.Makes {
				add(s.In, dev, guestNIC)
			}
		}
		if s.Link == nil {
			continue
		}
		add(s.In, s.Link.Name, s.Link.Kind)
		if s.Link.Peer != "" {
			add(s.Link.PeerIn, s.Link.Peer, s.Link.Kind)
		}
	}
	for _, e := range p.Expect {
		if e.Dev == loopback {
			add(e.In, e.Dev, loopback)
		}
	}
	return steps
}
