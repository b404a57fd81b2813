package network

import (
	"net/netip"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// WireGuard is Routed with packets between hosts encrypted by the kernel's WireGuard device.
// Calico, Cilium and Flannel set up the same with daemons if encryption is on.
type WireGuard struct {
	Port int `yaml:"port"` // UDP port of every host, 1 to 65535
}

const wireguardDev = "wg0"

func (n WireGuard) Plan(t topo.Topology) (plan.Plan, error) {
	return tunneled("wireguard", t, wireguardOverhead(t), checkPort("wireguard", n.Port), func(h topo.Host, mtu int) []plan.Step {
		wg := plan.Link{Name: wireguardDev, Kind: "wireguard", MTU: mtu, Port: n.Port}
		steps := []plan.Step{{In: h.Name, Link: &wg}}
		for _, peer := range others(t, h) {
			wg.Peers = append(wg.Peers, plan.Peer{In: peer.Name,
				Endpoint: netip.AddrPortFrom(peer.Addr.Addr(), uint16(n.Port)), Allowed: []netip.Prefix{peer.PodNet}})
			steps = append(steps, plan.Step{In: h.Name, Route: &plan.Route{Dst: peer.PodNet, Dev: wireguardDev}})
		}
		return steps
	}, wireguardDev)
}

// wireguardOverhead returns the bytes that WireGuard adds to a full-size packet: the data message's
// header and authentication tag, and the UDP and IP headers. Shorter packets are first padded to a
// multiple of 16 bytes (drivers/net/wireguard/send.c, calculate_skb_padding).
func wireguardOverhead(t topo.Topology) int {
	const message = 16 + 16
	return message + udpHeaders(t)
}
