// Package plan is the language between network drivers, which decide, and
// package lab, which acts. A Plan is data: it can be printed, compared with a
// golden file, read as ip(8) commands, and sent to another machine.
//
// It must not hold anything that depends on the running kernel.
package plan

import (
	"net/netip"
	"slices"
	"time"
)

// A Plan builds one network and says what was built.
type Plan struct {
	Steps []Step
	// Ends are where programs run. Those with the label of the first one are what
	// the network is for; ends of one label are in the order of the topology.
	Ends   []End
	Path   Path            // between ends on different hosts, or on the only host
	Paths  map[string]Path // between ends for which it is another one: by FROM-TO, two labels
	Line   []string        // the hosts in their order, where each reaches only its neighbours; nil elsewhere
	Expect []Expect        // what must hold before and after every trial
}

// A Step changes one place. Exactly one of the pointers is set.
type Step struct {
	In      string   `json:"in"` // host or pod
	Link    *Link    `json:"link,omitempty"`
	Set     *Set     `json:"set,omitempty"`
	Addr    *Addr    `json:"addr,omitempty"`
	Route   *Route   `json:"route,omitempty"`
	Rule    *Rule    `json:"rule,omitempty"`
	Proxy   *Proxy   `json:"proxy,omitempty"`
	FDB     *FDB     `json:"fdb,omitempty"`
	Sysctl  *Sysctl  `json:"sysctl,omitempty"`
	Offload *Offload `json:"offload,omitempty"`
	Rate    *Rate    `json:"rate,omitempty"`
	Delay   *Delay   `json:"delay,omitempty"`
	Move    *Move    `json:"move,omitempty"`
	File    *File    `json:"file,omitempty"`
	Exec    *Exec    `json:"exec,omitempty"`
	Adopt   *Adopt   `json:"adopt,omitempty"`
	Service *Service `json:"service,omitempty"`
	Await   *Await   `json:"await,omitempty"`
	Guest   *Guest   `json:"guest,omitempty"`
}

// A Link is a new device, set up at once. What it does not say is the kernel's
// default: a vxlan device learns, and sends a UDP checksum, which a geneve device
// does over IPv6 alone; a bridge forwards without waiting (no spanning tree); a
// macvlan is in bridge mode; an ipip device sends to the router of the route that
// leads to it.
type Link struct {
	Name   string     `json:"name"`
	Kind   string     `json:"kind"`             // bridge, geneve, ipip, ipvlan, macvlan, tap, veth, vlan, vxlan, wireguard
	MTU    int        `json:"mtu,omitempty"`    // of both ends of a veth
	Master string     `json:"master,omitempty"` // the bridge that it becomes a port of
	Peer   string     `json:"peer,omitempty"`   // veth: name of the other end
	PeerIn string     `json:"peerIn,omitempty"` // veth: where the other end lives
	Parent string     `json:"parent,omitempty"` // macvlan, ipvlan, vlan: the device below
	To     string     `json:"to,omitempty"`     // macvlan, ipvlan: the pod that receives it
	Mode   string     `json:"mode,omitempty"`   // ipvlan: l2 or l3
	Queues int        `json:"queues,omitempty"` // tap: how many programs or threads can have it open at once; 0 is one
	Tag    int        `json:"tag,omitempty"`    // vlan: identifier
	VNI    int        `json:"vni,omitempty"`    // vxlan, geneve: network identifier
	Port   int        `json:"port,omitempty"`   // vxlan, geneve: UDP destination port; wireguard: where it listens
	Local  netip.Addr `json:"local,omitzero"`   // vxlan, ipip: source address
	Remote netip.Addr `json:"remote,omitzero"`  // geneve: the other end
	Peers  []Peer     `json:"peers,omitempty"`  // wireguard: the other ends
}

// A Peer is another end of a wireguard device, whose device has the same name.
// Its key is no part of a plan: who applies the plan makes keys.
type Peer struct {
	In       string         `json:"in"` // host
	Endpoint netip.AddrPort `json:"endpoint"`
	Allowed  []netip.Prefix `json:"allowed"` // the addresses behind it: what is sent to it, and taken from it
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
	// Table that it is in; 0 is the main one.
	Table int `json:"table,omitempty"`
}

// MainTable is the routing table of a Route that names none (RT_TABLE_MAIN,
// include/uapi/linux/rtnetlink.h).
const MainTable = 254

// A Rule looks packets From or To these addresses up in Table. Rules are tried
// from the lowest Priority up; the kernel's own are 0 for local addresses, and
// 32766 for MainTable.
type Rule struct {
	From     netip.Prefix `json:"from,omitzero"`
	To       netip.Prefix `json:"to,omitzero"`
	Table    int          `json:"table"`
	Priority int          `json:"priority"`
}

// A Proxy makes a router answer on Dev those that look for Addr, which it knows
// how to reach (proxy ARP, RFC 1027; for IPv6 RFC 4389).
type Proxy struct {
	Dev  string     `json:"dev"`
	Addr netip.Addr `json:"addr"`
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

// Delay holds back what leaves Dev, as a long wire would: every packet by the same
// time, so that their order stays (netem). Dev has no Rate.
type Delay struct {
	Dev   string        `json:"dev"`
	Delay time.Duration `json:"delay"` // ns
}

// DelayLimit is how many packets may wait in a Delay: what 2 million packets/s leave
// on the way in 16 ms. netem's own default of 1000 would be a rate limit.
const DelayLimit = 1 << 15

// What Ethernet adds to an IP packet, in bytes (IEEE 802.3).
const (
	EthernetHeader = 14
	VLANTag        = 4  // IEEE 802.1Q, in the Ethernet header
	WireOverhead   = 24 // preamble and start 8, check sequence 4, gap 12
	WireMinimum    = 84 // of the shortest frame, with WireOverhead: 60 bytes and what is around them
)

// A Path is what the headers leave for payload.
type Path struct {
	MTU      int `json:"mtu"`      // that a program at an End sees
	Overhead int `json:"overhead"` // bytes that encapsulation adds to every IP packet on the underlay
	Outer    int `json:"outer"`    // MTU of the underlay; 0 when the path never leaves the host
	// Shared are the bytes of Overhead that packets have in common when the network
	// puts several into one packet of the underlay; 0 when it does not.
	Shared int `json:"shared,omitempty"`
	// Tag is the bytes that a VLAN adds to every frame on the underlay: overhead
	// that its MTU does not count.
	Tag int `json:"tag,omitempty"`
}

// An Expect is one thing that must hold: a State, a Proof, or both about the same
// device.
type Expect struct {
	State
	Proof
}

// A State is what the target checks before and after every trial.
type State struct {
	In      string          `json:"in"` // host or pod
	Dev     string          `json:"dev,omitempty"`
	MTU     int             `json:"mtu,omitempty"`     // Dev has this MTU, bytes
	Offload map[string]bool `json:"offload,omitempty"` // Dev has these features
	Output  *Output         `json:"output,omitempty"`  // a command that runs in In prints this
}

// States returns everything in p that a target checks.
func (p Plan) States() []State {
	var all []State
	for _, e := range p.Expect {
		if e.MTU != 0 || len(e.Offload) > 0 || e.Output != nil {
			all = append(all, e.State)
		}
	}
	return all
}

// A Proof is what a trial proves from the counters that it reads around its
// client, at the place and device that its Expect names.
type Proof struct {
	// MustCarry: Dev moved at least the bytes that the probe delivered. It applies
	// only when In is the node or the host of one of the trial's ends and, with
	// Across, only when the ends are on different hosts.
	MustCarry bool `json:"carries,omitempty"`
	Across    bool `json:"across,omitempty"`
	// Near and Far are labels that limit MustCarry to trials whose end in or on In
	// has the label Near and whose other end has the label Far. With Side, either
	// end can have the label Near. An empty label is no limit.
	Near string `json:"near,omitempty"`
	Far  string `json:"far,omitempty"`
	// Side lists the hosts on one side of Dev, which can lie between the ends:
	// MustCarry applies when one end is on these hosts and the other is not.
	Side []string `json:"side,omitempty"`
	// Joined: a packet of Dev can hold several of the probe's packets, so that
	// MustCarry compares bytes only.
	Joined bool `json:"joined,omitempty"`
	// NoFragments: no packet was fragmented in In, unless the probe sends more
	// than the path's MTU.
	NoFragments bool `json:"noFragments,omitempty"`
}

// Concerns reports whether traffic between ends a and b must show up where e looks.
func (e Expect) Concerns(a, b End) bool {
	switch {
	case len(e.Side) > 0:
		return slices.Contains(e.Side, a.Host) != slices.Contains(e.Side, b.Host) && (e.near(a) || e.near(b))
	case e.Across && a.Host == b.Host:
		return false
	}
	return e.at(a, b) || e.at(b, a)
}

func (e Expect) near(end End) bool { return e.Near == "" || e.Near == end.Label }

func (e Expect) at(near, far End) bool {
	return (e.In == near.Node || e.In == near.Host) && e.near(near) && (e.Far == "" || e.Far == far.Label)
}
