// Package plan is the language between network drivers, which decide, and
// package lab, which acts. A Plan is data: it can be printed, compared with a
// golden file, read as ip(8) commands, and sent to another machine.
//
// It must not hold anything that depends on the running kernel.
package plan

import "net/netip"

// A Plan builds one network and says what was built.
type Plan struct {
	Steps  []Step
	Ends   []End    // where programs of the pods run, in the order of the topology
	Path   Path     // between ends on different hosts, or on the only host
	Expect []Expect // what must hold before and after every trial
}

// A Step changes one place. Exactly one of the pointers is set.
type Step struct {
	In      string   `json:"in"` // host or pod
	Link    *Link    `json:"link,omitempty"`
	Set     *Set     `json:"set,omitempty"`
	Addr    *Addr    `json:"addr,omitempty"`
	Route   *Route   `json:"route,omitempty"`
	FDB     *FDB     `json:"fdb,omitempty"`
	Sysctl  *Sysctl  `json:"sysctl,omitempty"`
	Offload *Offload `json:"offload,omitempty"`
	Rate    *Rate    `json:"rate,omitempty"`
	Move    *Move    `json:"move,omitempty"`
	File    *File    `json:"file,omitempty"`
	Exec    *Exec    `json:"exec,omitempty"`
	Adopt   *Adopt   `json:"adopt,omitempty"`
	Service *Service `json:"service,omitempty"`
}

// A Link is a new device, set up at once. What it does not say is the kernel's
// default: a vxlan device learns, and sends a UDP checksum; a bridge forwards
// without waiting (no spanning tree); a macvlan is in bridge mode.
type Link struct {
	Name   string     `json:"name"`
	Kind   string     `json:"kind"`             // veth, bridge, vxlan, macvlan
	MTU    int        `json:"mtu,omitempty"`    // of both ends of a veth
	Master string     `json:"master,omitempty"` // the bridge that it becomes a port of
	Peer   string     `json:"peer,omitempty"`   // veth: name of the other end
	PeerIn string     `json:"peerIn,omitempty"` // veth: where the other end lives
	Parent string     `json:"parent,omitempty"` // macvlan: the device below
	To     string     `json:"to,omitempty"`     // macvlan: the pod that receives it
	VNI    int        `json:"vni,omitempty"`    // vxlan: network identifier
	Port   int        `json:"port,omitempty"`   // vxlan: UDP destination port
	Local  netip.Addr `json:"local,omitzero"`   // vxlan: source address
}

// Set changes a device that exists.
type Set struct {
	Dev string `json:"dev"`
	MTU int    `json:"mtu"`
	Up  bool   `json:"up,omitempty"` // and set it up
}

// An Addr is an address of a device. It is usable at once: whether an IPv6
// address is taken is not asked, which would take a second (RFC 4862, section
// 5.4) and even switched off takes a moment of the kernel's.
type Addr struct {
	Dev    string       `json:"dev"`
	Prefix netip.Prefix `json:"prefix"`
	Gone   bool         `json:"gone,omitempty"` // it is taken off the device instead
}

// A Route leads to Dst: over the router Via, or straight out of Dev, or both
// when Via is only reachable on Dev (onlink).
type Route struct {
	Dst netip.Prefix `json:"dst"`
	Via netip.Addr   `json:"via,omitzero"`
	Dev string       `json:"dev,omitempty"`
}

// An FDB entry of a VXLAN device sends frames for unknown stations to Dst.
type FDB struct {
	Dev string     `json:"dev"`
	Dst netip.Addr `json:"dst"`
}

// A Sysctl is a kernel setting of one network namespace.
type Sysctl struct {
	Key   string `json:"key"` // dots, as sysctl(8) prints it
	Value string `json:"value"`
}

// Offload switches features of a device, by the kernel's names
// (net/ethtool/common.c, netdev_features_strings). It names only features that
// the kernel would have the other way, so that Diff can switch them back.
type Offload struct {
	Dev      string          `json:"dev"`
	Features map[string]bool `json:"features"`
}

// Rate limits what leaves Dev to Rate bit/s as a wire would: every packet costs
// its frame and WireOverhead bytes. A Rate of 0 removes the limit. Its methods
// are the parameters of the kernel's token bucket (tbf) that does it.
type Rate struct {
	Dev  string  `json:"dev"`
	Rate float64 `json:"rate"`
	MTU  int     `json:"mtu,omitempty"` // of Dev, bytes
}

// What Ethernet adds to an IP packet, in bytes (IEEE 802.3).
const (
	EthernetHeader = 14
	VLANTag        = 4  // IEEE 802.1Q, in the Ethernet header
	WireOverhead   = 24 // preamble and start 8, check sequence 4, gap 12
	WireMinimum    = 84 // of the shortest frame, with WireOverhead: 60 bytes and what is around them
)

// An End is where traffic starts or stops.
type End struct {
	Node string     `json:"node"` // host or pod
	Host string     `json:"host"` // that Node lives on, or is
	Addr netip.Addr `json:"addr"`
	Dev  string     `json:"dev"` // that holds Addr
}

// A Path is what the headers leave for payload.
type Path struct {
	MTU      int `json:"mtu"`      // that a program at an End sees
	Overhead int `json:"overhead"` // bytes that encapsulation adds to every IP packet on the underlay
	Outer    int `json:"outer"`    // MTU of the underlay; 0 when the path never leaves the host
	// Tag is the bytes that a VLAN adds to every frame on the underlay: overhead
	// that its MTU does not count.
	Tag int `json:"tag,omitempty"`
}

// An Expect is one thing that must hold. MTU and Offload are looked at before
// and after a trial; Carries and NoFragments are judged from the counters of
// the trial itself.
type Expect struct {
	In      string          `json:"in"`
	Dev     string          `json:"dev,omitempty"`
	MTU     int             `json:"mtu,omitempty"`     // Dev has this MTU
	Offload map[string]bool `json:"offload,omitempty"` // Dev has these features
	// Carries: the bytes that Dev moved are at least those that the probe
	// delivered. It is judged only when In is the node or the host of one of the
	// trial's ends, and with Across only when these are on different hosts.
	Carries bool `json:"carries,omitempty"`
	Across  bool `json:"across,omitempty"`
	// NoFragments: no packet was fragmented in In, unless the probe sends more
	// than the path's MTU.
	NoFragments bool `json:"noFragments,omitempty"`
}
