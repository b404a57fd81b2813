// Package topo describes hosts and pods: names, addresses and the underlay
// between the hosts. It holds no connection between pods (package network
// decides that) and touches no machine.
package topo

import (
	"fmt"
	"net/netip"
	"slices"
)

// Bounds of what New accepts.
const (
	MaxHosts = 16383 // the pod range 10.64.0.0/10 holds this many /24 networks
	MaxPods  = 253   // per host: .1 to .253; .254 is left to a gateway
	MinMTU   = 576   // RFC 791: what every IPv4 host must accept
	MinMTU6  = 1280  // RFC 8200, section 5
	MaxMTU   = 65535 // ETH_MAX_MTU, include/uapi/linux/if_ether.h
	MaxLine  = 512   // hosts of a line: 198.18.0.0/15 holds a /24 network per segment
)

// A Pod is a place for a program that has a network of its own.
type Pod struct {
	Name string
	Addr netip.Prefix // in the range that all pods share
}

// A Host is a machine, or what stands for one.
type Host struct {
	Name   string
	Dev    string       // its (first) device on the underlay
	Addr   netip.Prefix // of Dev
	PodNet netip.Prefix // the part of the pod range that lives on this host
	Pods   []Pod
}

// A Port is a device on the underlay.
type Port struct {
	In   string // the host, or the pod that has the device to itself
	Dev  string
	Addr netip.Prefix
}

// A Shape says which devices share a segment of the underlay.
type Shape string

const (
	Flat     Shape = ""          // one segment with all hosts
	Line     Shape = "line"      // a segment for every two neighbours: other hosts are only reached through them
	HostNICs Shape = "host-nics" // Flat, and a second device of every host on a segment that has the pods' addresses
	PodNICs  Shape = "pod-nics"  // Flat, and a device in every pod on a segment that has the pods' addresses
	VPC      Shape = "vpc"       // one segment with all hosts, a second device of each, and a device in the last pod of each
)

// A Topology is a set of hosts and the underlay between them.
type Topology struct {
	Hosts []Host
	Shape Shape
	// Segments are the Ethernets of the underlay, each with its devices in the
	// order of the hosts. Segment n of a line is between Hosts[n] and Hosts[n+1];
	// the second segment of HostNICs and PodNICs is the pods'. The segment of VPC has
	// the first devices of all hosts, then the second ones, then those of pods.
	Segments [][]Port
	MTU      int     // of the underlay, bytes
	Rate     float64 // of each host's link, bit/s on the wire; 0 is unlimited
	NIC      NIC     // what the hosts' underlay devices segment in hardware
	// NoOffload: no device of a host or pod segments, neither NIC nor veth.
	NoOffload bool
	Kernel    Kernel       // of the hosts
	PodAll    netip.Prefix // the range of all pods
	// Exists: a target has found these hosts and what connects them, and nothing of
	// it is made or changed. Then there are no Segments.
	Exists bool
}

// A NIC is what an underlay device segments in hardware.
type NIC string

const (
	NICFull NIC = ""     // everything a veth can, segmentation inside tunnels included: a NIC with VXLAN offload
	NICTSO  NIC = "tso"  // plain TCP only: a NIC without VXLAN offload
	NICNone NIC = "none" // nothing
)

// A Kernel is what plans have to know of the hosts' kernels. It is found out, not
// chosen, so that the same topology gives the same plan everywhere.
type Kernel struct {
	OVS  bool // it has the datapath of Open vSwitch
	VLAN bool // it has devices for IEEE 802.1Q, and they can be used at once
}

// A Spec says how large a topology is. The zero value of a field is its default.
type Spec struct {
	Hosts    int     // 1 to MaxHosts; default 2
	Pods     int     // per host, 1 to MaxPods; default 1
	MTU      int     // of the underlay; default 1500
	Rate     float64 // bit/s; default unlimited
	NIC      NIC
	IPv6     bool // the underlay's addresses are IPv6
	PodsIPv6 bool // the pods' addresses are IPv6
	Shape    Shape
	Kernel   Kernel
}

// New numbers the hosts and pods of s. Underlay addresses are from the ranges
// reserved for benchmarks (198.18.0.0/15, RFC 2544; 2001:2::/48, RFC 5180).
func New(s Spec) (Topology, error) {
	if s.Hosts == 0 {
		s.Hosts = 2
	}
	if s.Pods == 0 {
		s.Pods = 1
	}
	if s.MTU == 0 {
		s.MTU = 1500
	}
	minMTU := MinMTU
	if s.IPv6 || s.PodsIPv6 {
		minMTU = MinMTU6
	}
	switch {
	case s.Hosts < 1 || s.Hosts > MaxHosts:
		return Topology{}, fmt.Errorf("%d hosts is outside 1..%d", s.Hosts, MaxHosts)
	case s.Pods < 1 || s.Pods > MaxPods:
		return Topology{}, fmt.Errorf("%d pods per host is outside 1..%d", s.Pods, MaxPods)
	case s.MTU < minMTU || s.MTU > MaxMTU:
		return Topology{}, fmt.Errorf("underlay MTU %d is outside %d..%d", s.MTU, minMTU, MaxMTU)
	case s.Rate < 0:
		return Topology{}, fmt.Errorf("link rate %g bit/s is negative", s.Rate)
	case s.Shape == Line && (s.Hosts < 2 || s.Hosts > MaxLine):
		return Topology{}, fmt.Errorf("a line of %d hosts is outside 2..%d", s.Hosts, MaxLine)
	}
	t := Topology{Shape: s.Shape, MTU: s.MTU, Rate: s.Rate, NIC: s.NIC, Kernel: s.Kernel, PodAll: podRange(s.PodsIPv6)}
	for h := 1; h <= s.Hosts; h++ {
		host := Host{Name: HostName(h), Dev: "eth0", PodNet: podNet(h, s.PodsIPv6)}
		for p := 1; p <= s.Pods; p++ {
			host.Pods = append(host.Pods, Pod{
				Name: fmt.Sprintf("h%dp%d", h, p),
				Addr: netip.PrefixFrom(nth(host.PodNet, p), t.PodAll.Bits()),
			})
		}
		t.Hosts = append(t.Hosts, host)
	}
	t.connect(s)
	return t, nil
}

// HostName is the name of host n of every topology, counted from 1.
func HostName(n int) string { return fmt.Sprintf("h%d", n) }

// connect makes the segments of s, and gives every host the address of its first device.
func (t *Topology) connect(s Spec) {
	if s.Shape == Line {
		t.line(s.IPv6)
		return
	}
	var first, second, pods []Port
	for i := range t.Hosts {
		h := &t.Hosts[i]
		h.Addr = hostAddr(i+1, s.IPv6)
		first = append(first, Port{h.Name, h.Dev, h.Addr})
		switch s.Shape {
		case HostNICs:
			second = append(second, Port{h.Name, "eth1", netip.PrefixFrom(nth(h.PodNet, MaxPods+1), t.PodAll.Bits())})
		case VPC:
			eni := nth(h.PodNet, MaxPods+1)
			second = append(second, Port{h.Name, "eth1", netip.PrefixFrom(eni, eni.BitLen())})
			last := h.Pods[len(h.Pods)-1]
			pods = append(pods, Port{last.Name, "eth0", last.Addr})
		case PodNICs:
			for _, p := range h.Pods {
				second = append(second, Port{p.Name, "eth0", p.Addr})
			}
		}
	}
	if s.Shape == VPC {
		t.Segments = [][]Port{slices.Concat(first, second, pods)}
		return
	}
	t.Segments = [][]Port{first}
	if second != nil {
		t.Segments = append(t.Segments, second)
	}
}

// line connects neighbours. A host between two has eth0 to the one before it
// and eth1 to the one after it.
func (t *Topology) line(v6 bool) {
	for n := 1; n < len(t.Hosts); n++ {
		a, b := &t.Hosts[n-1], &t.Hosts[n]
		left, right := Port{a.Name, "eth1", lineAddr(n, 1, v6)}, Port{b.Name, "eth0", lineAddr(n, 2, v6)}
		if n == 1 {
			left.Dev, a.Addr = "eth0", left.Addr
		}
		b.Addr = right.Addr
		t.Segments = append(t.Segments, []Port{left, right})
	}
}

// lineAddr is the address of the left (1) or right (2) end of segment n of a line.
func lineAddr(n, end int, v6 bool) netip.Prefix {
	if v6 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0, 0x02, 6: byte(n >> 8), 7: byte(n), 15: byte(end)}), 64)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18 + byte(n>>8), byte(n), byte(end)}), 24)
}

func hostAddr(h int, v6 bool) netip.Prefix {
	if v6 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0, 0x02, 14: byte(h >> 8), 15: byte(h)}), 64)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(h >> 8), byte(h)}), 15)
}

func podRange(v6 bool) netip.Prefix {
	if v6 {
		return netip.MustParsePrefix("fd77::/32")
	}
	return netip.MustParsePrefix("10.64.0.0/10")
}

func podNet(h int, v6 bool) netip.Prefix {
	if v6 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0x77, 6: byte(h >> 8), 7: byte(h)}), 64)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64 + byte(h>>8), byte(h), 0}), 24)
}

// nth returns the n-th address of p; n must fit the last byte.
func nth(p netip.Prefix, n int) netip.Addr {
	b := p.Addr().AsSlice()
	b[len(b)-1] = byte(n)
	a, _ := netip.AddrFromSlice(b)
	return a
}

// ParseNIC reads a profile as people write it; NICFull is "full".
func ParseNIC(s string) (NIC, error) {
	switch s {
	case "full":
		return NICFull, nil
	case string(NICTSO), string(NICNone):
		return NIC(s), nil
	}
	return "", fmt.Errorf("NIC %q is none of full, tso and none", s)
}
