// Package topo describes hosts and pods: names, addresses and the underlay. It must not connect
// pods (package network does that) or touch a machine.
package topo

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Bounds that New enforces.
const (
	MaxHosts = 16383 // the pod range 10.64.0.0/10 holds this many /24 networks
	MaxPods  = 253   // per host: .1 to .253; .254 is reserved for a gateway
	MinMTU   = 576   // RFC 791: what every IPv4 host must accept
	MinMTU6  = 1280  // RFC 8200, section 5
	MaxMTU   = 65535 // ETH_MAX_MTU, include/uapi/linux/if_ether.h
	MaxLine  = 512   // hosts in a line: 198.18.0.0/15 holds a /24 network per segment
	MaxDelay = time.Second
)

// A Pod runs programs in a separate network namespace.
type Pod struct {
	Name string
	Addr netip.Prefix // within Topology.PodAll
	// The other fields describe a pod that a target found.
	Dev string // its device; "" is eth0
	MTU int    // of Dev, bytes; 0: unknown
	// Call is the address that clients call instead of Addr, such as a Service's; zero: Addr.
	Call netip.Addr
	// Ports maps the ports that the pod listens on to those that clients call; others are equal.
	Ports map[uint16]uint16
}

// A Host is a machine, or a network namespace that stands for one.
type Host struct {
	Name   string
	Zone   string       // of a cluster's host; "" if unknown
	Dev    string       // its device on the underlay, the first one if it has several
	Addr   netip.Prefix // of Dev
	PodNet netip.Prefix // the part of the pod range for this host
	Pods   []Pod
	MTU    int // of Dev, bytes, where a target found it; 0: unknown
}

// Gateway returns the address of h among its pods.
func (h Host) Gateway() netip.Addr { return nth(h.PodNet, MaxPods+1) }

// A Port is a device on the underlay.
type Port struct {
	In   string // a host, or a pod with a device of its own
	Dev  string
	Addr netip.Prefix
}

// A Shape says which devices share a segment of the underlay.
type Shape string

const (
	Flat     Shape = ""          // one segment with all hosts
	Line     Shape = "line"      // a segment for every two neighbors; they forward to all other hosts
	HostNICs Shape = "host-nics" // Flat, and a second device of every host on a segment with pod addresses
	PodNICs  Shape = "pod-nics"  // Flat, and a device in every pod on a segment with pod addresses
	Guests   Shape = "guests"    // Flat, and every host is a virtual machine on a switch
	VPC      Shape = "vpc"       // one segment with all hosts, a second device of each, and a device in the last pod of each
)

// A Topology is a set of hosts and the underlay between them.
type Topology struct {
	Hosts []Host
	Shape Shape
	// Segments are the Ethernets of the underlay, each with its devices in host order. Segment n of
	// a line is between Hosts[n] and Hosts[n+1]. HostNICs and PodNICs have a second segment, for
	// pods. VPC's only segment has all hosts' first devices, then their second ones, then those of
	// pods.
	Segments [][]Port
	MTU      int     // of the underlay, bytes
	Rate     float64 // of each host's link, bit/s on the wire; 0 is unlimited
	NIC      NIC     // hardware segmentation of the hosts' underlay devices
	Distance Distance
	// Delays are added to Distance.Delay on each segment of a line; nil for other shapes.
	Delays []time.Duration
	// Far: every segment passes through a switch whose ports can delay and drop packets, even if
	// Distance is zero now. Only then can a condition change Distance.
	Far bool
	// NoOffload switches segmentation off on every device, NIC or veth, of hosts and pods.
	NoOffload bool
	GRO       GRO // of the devices of hosts and pods
	BridgeNF  BridgeNF
	RPS       RPS          // of the devices of hosts and pods
	Kernel    Kernel       // of the hosts
	PodAll    netip.Prefix // the range of all pods
	// Exists: a target found these hosts, and weir does not change them. Segments is then empty.
	Exists bool
	Find   Find
	// Programs is a directory whose programs come before all others of their name in every place; "" is none.
	Programs string
}

// A NIC is a profile of hardware segmentation for underlay devices.
type NIC string

const (
	NICFull NIC = ""     // everything a veth can, including segmentation inside tunnels: a NIC with VXLAN offload
	NICTSO  NIC = "tso"  // plain TCP only: a NIC without VXLAN offload
	NICNone NIC = "none" // nothing
)

// A GRO says whether devices join the received packets of a flow before the IP stack sees them
// (generic receive offload).
type GRO string

const (
	GROUsual GRO = "" // the kernel's defaults: on for tunnels, off for veths since Linux 5.13
	GROOn    GRO = "on"
	GROOff   GRO = "off"
)

// A BridgeNF says whether the bridges of hosts pass packets to netfilter, whose rules and hooks
// otherwise see only routed packets.
type BridgeNF string

const (
	BridgeNFUsual BridgeNF = ""    // like the product that a network stands for
	BridgeNFOn    BridgeNF = "on"  // the kernel must be able to: it has br_netfilter
	BridgeNFOff   BridgeNF = "off" // also in a kernel without br_netfilter
)

// BridgeNFTables lists the last parts of the kernel's keys for it: IPv4, IPv6 and ARP.
var BridgeNFTables = []string{"iptables", "ip6tables", "arptables"}

// An RPS is receive packet steering: the CPUs that devices hand received packets to, each flow to one
// of them (Documentation/networking/scaling.rst). It is a mask in hexadecimal unless it is one of these.
type RPS string

const (
	RPSOff RPS = ""   // packets stay on the CPU that received them: the kernel's default
	RPSAll RPS = "on" // every CPU that the run can use
)

// A Kernel lists what plans depend on in the hosts' kernels. It is detected but passed in like a
// choice, so one topology gives the same plan everywhere.
type Kernel struct {
	OVS  bool // has the datapath of Open vSwitch
	VLAN bool // has IEEE 802.1Q devices that are usable without loading a module
}

// A Spec gives the size and shape of a topology. A zero field takes its default.
type Spec struct {
	Hosts    int     // 1 to MaxHosts; default 2
	Pods     int     // per host, 1 to MaxPods; default 1
	MTU      int     // of the underlay; default 1500
	Rate     float64 // bit/s; default unlimited
	NIC      NIC
	Distance Distance
	Delays   []time.Duration // of the segments of a line; fewer than there are: the others have none
	Far      bool            // see Topology; a Distance and Delays imply it
	IPv6     bool            // IPv6 addresses on the underlay
	PodsIPv6 bool            // IPv6 addresses for pods
	Shape    Shape
	Kernel   Kernel
	Find     Find
}

// New builds the topology of s, or returns an error if a number is out of bounds. Underlay addresses
// come from the benchmark ranges (198.18.0.0/15, RFC 2544; 2001:2::/48, RFC 5180).
func New(s Spec) (Topology, error) {
	s.Hosts, s.Pods, s.MTU = cmp.Or(s.Hosts, 2), cmp.Or(s.Pods, 1), cmp.Or(s.MTU, 1500)
	minMTU := MinMTU
	if s.IPv6 || s.PodsIPv6 {
		minMTU = MinMTU6
	}
	switch {
	case s.Hosts < 1 || s.Hosts > MaxHosts:
		return Topology{}, fmt.Errorf("invalid number of hosts %d: want 1 to %d", s.Hosts, MaxHosts)
	case s.Pods < 1 || s.Pods > MaxPods:
		return Topology{}, fmt.Errorf("invalid number of pods per host %d: want 1 to %d", s.Pods, MaxPods)
	case s.MTU < minMTU || s.MTU > MaxMTU:
		return Topology{}, fmt.Errorf("invalid underlay MTU %d: want %d to %d bytes", s.MTU, minMTU, MaxMTU)
	case s.Rate < 0:
		return Topology{}, fmt.Errorf("invalid link rate %g bit/s: want 0 (unlimited) or more", s.Rate)
	case (s.Far || s.Distance != Distance{}) && s.Hosts < 2:
		return Topology{}, errors.New("delay, jitter and loss are between hosts, but the network has 1; give it two or more (hosts: 2), or leave them out")
	case s.Shape == Line && (s.Hosts < 2 || s.Hosts > MaxLine):
		return Topology{}, fmt.Errorf("invalid line of %d hosts: want 2 to %d", s.Hosts, MaxLine)
	}
	if err := s.Distance.Check(); err != nil {
		return Topology{}, err
	}
	if s.Shape != Line || !slices.ContainsFunc(s.Delays, func(d time.Duration) bool { return d != 0 }) {
		s.Delays = nil
	}
	for _, d := range s.Delays {
		if err := (Distance{Delay: s.Distance.Delay + d}).Check(); err != nil {
			return Topology{}, fmt.Errorf("segment of the line: %w", err)
		}
	}
	t := Topology{Shape: s.Shape, MTU: s.MTU, Rate: s.Rate, NIC: s.NIC, Distance: s.Distance, Delays: s.Delays, Far: s.Far || s.Delays != nil || s.Distance != Distance{}, Kernel: s.Kernel, Find: s.Find, PodAll: podRange(s.PodsIPv6)}
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

// HostName returns the name of host n in every topology, counting from 1.
func HostName(n int) string { return fmt.Sprintf("h%d", n) }

// connect makes the segments of s, and gives each host the address of its first device.
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
			second = append(second, Port{h.Name, "eth1", netip.PrefixFrom(h.Gateway(), t.PodAll.Bits())})
		case VPC:
			eni := h.Gateway()
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

// line connects neighbors: between two others, a host's eth0 leads to the previous, eth1 to the
// next.
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

// lineAddr returns the address of the left (1) or right (2) end of segment n of a line.
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

// nth returns address n of p; n must fit in the last byte.
func nth(p netip.Prefix, n int) netip.Addr {
	b := p.Addr().AsSlice()
	b[len(b)-1] = byte(n)
	a, _ := netip.AddrFromSlice(b)
	return a
}

// ParseNIC parses a profile as users write it; NICFull is "full".
func ParseNIC(s string) (NIC, error) {
	switch s {
	case "full":
		return NICFull, nil
	case string(NICTSO), string(NICNone):
		return NIC(s), nil
	}
	return "", fmt.Errorf("invalid NIC %q: want full, tso or none", s)
}
