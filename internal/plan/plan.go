// Package plan is the language between network drivers, which decide, and package lab, which acts.
// A Plan is data: it can be printed, compared with a golden file, read as ip(8) commands, and sent
// to another machine.
//
// It must not hold anything that depends on the running kernel.
package plan

import (
	"net/netip"
	"slices"
	"time"
)

// A Plan builds one network and describes the result.
type Plan struct {
	Steps []Step
	// Ends are where programs run. The network exists to connect the ends with the first label;
	// ends with one label are in topology order.
	Ends   []End
	Path   Path            // between ends on different hosts, or on the only host
	Paths  map[string]Path // exceptions to Path, by FROM-TO, two labels
	Line   []string        // the hosts in order, if each reaches only its neighbors; otherwise nil
	Expect []Expect        // what must hold before and after every trial
	// Added holds the steps that a study adds to the network (also): what they set is not of its design.
	Added []Step `json:"-"`
}

// A Step changes one place. Exactly one of the pointers is set.
type Step struct {
	In       string    `json:"in"` // host or pod
	Link     *Link     `json:"link,omitempty"`
	Set      *Set      `json:"set,omitempty"`
	Addr     *Addr     `json:"addr,omitempty"`
	Route    *Route    `json:"route,omitempty"`
	Rule     *Rule     `json:"rule,omitempty"`
	Proxy    *Proxy    `json:"proxy,omitempty"`
	FDB      *FDB      `json:"fdb,omitempty"`
	Sysctl   *Sysctl   `json:"sysctl,omitempty"`
	Offload  *Offload  `json:"offload,omitempty"`
	Rate     *Rate     `json:"rate,omitempty"`
	Drop     *Drop     `json:"drop,omitempty"`
	Delay    *Delay    `json:"delay,omitempty"`
	Move     *Move     `json:"move,omitempty"`
	File     *File     `json:"file,omitempty"`
	Exec     *Exec     `json:"exec,omitempty"`
	Adopt    *Adopt    `json:"adopt,omitempty"`
	Service  *Service  `json:"service,omitempty"`
	Await    *Await    `json:"await,omitempty"`
	Daemon   *Daemon   `json:"daemon,omitempty"`
	Command  *Command  `json:"command,omitempty"`
	Endpoint *Endpoint `json:"endpoint,omitempty"`
	Policy   *Policy   `json:"policy,omitempty"`
	Announce *Announce `json:"announce,omitempty"`
	Flush    *Flush    `json:"flush,omitempty"`
	Reload   *Reload   `json:"reload,omitempty"`
	Restore  *Restore  `json:"restore,omitempty"`
	Guest    *Guest    `json:"guest,omitempty"`
	Inside   *Inside   `json:"inside,omitempty"`
	// Forwards change nothing: they say how packets pass the devices, as a Trace needs to know.
	Forwards []Forwarding `json:"-" yaml:"-"`
}

// A Link is a new device, which comes up at once. Unset properties have the kernel's defaults: a
// vxlan device learns and sends a UDP checksum, which a geneve device does over IPv6 only; a bridge
// forwards without waiting (no spanning tree); a macvlan is in bridge mode; an ipip device sends to
// the router of the route that points to it.
type Link struct {
	Name   string     `json:"name"`
	Kind   string     `json:"kind"`                           // bridge, dummy, geneve, ipip, ipvlan, macvlan, netkit, tap, veth, vlan, vxlan, wireguard
	MTU    int        `json:"mtu,omitempty"`                  // of both ends of a veth or netkit
	Master string     `json:"master,omitempty"`               // the bridge that gets it as a port
	Peer   string     `json:"peer,omitempty"`                 // veth, netkit: name of the other end
	PeerIn string     `json:"peerIn,omitempty" yaml:"peerIn"` // veth, netkit: place of the other end
	Parent string     `json:"parent,omitempty"`               // macvlan, ipvlan, vlan: the device below
	To     string     `json:"to,omitempty"`                   // macvlan, ipvlan: the pod that receives it
	Mode   string     `json:"mode,omitempty"`                 // ipvlan, netkit: l2 or l3
	Queues int        `json:"queues,omitempty"`               // tap: how many programs or threads can open it at once; 0 means 1
	Tag    int        `json:"tag,omitempty"`                  // vlan: identifier
	VNI    int        `json:"vni,omitempty"`                  // vxlan, geneve: network identifier
	Port   int        `json:"port,omitempty"`                 // vxlan, geneve: UDP destination port; wireguard: listening port
	Local  netip.Addr `json:"local,omitzero"`                 // vxlan, ipip: source address
	Remote netip.Addr `json:"remote,omitzero"`                // geneve: the other end
	Peers  []Peer     `json:"peers,omitempty"`                // wireguard: the other ends
}

// Pair reports whether the device is one of two, of which the other is in PeerIn.
func (l Link) Pair() bool { return l.Kind == "veth" || l.Kind == "netkit" }

// A Peer is the other end of a wireguard tunnel; its device has the same name. A plan holds no
// keys: they are made when it is applied.
type Peer struct {
	In       string         `json:"in"` // host
	Endpoint netip.AddrPort `json:"endpoint"`
	Allowed  []netip.Prefix `json:"allowed"` // the addresses behind it: sent to it, and accepted from it
}

// Set changes an existing device.
type Set struct {
	Dev  string `json:"dev"`
	MTU  int    `json:"mtu"`            // 0, only in an event, leaves it
	Up   bool   `json:"up,omitempty"`   // also bring it up
	Down bool   `json:"down,omitempty"` // in an event: bring it down; the kernel then removes the routes over it
	// Master is the bridge that gets Dev as a port; "" leaves it where it is.
	Master string `json:"master,omitempty"`
}

// An Addr is an address of a device, usable at once: IPv6 duplicate address detection is skipped,
// because it takes a second (RFC 4862, section 5.4), and even switching it off takes the kernel a
// moment.
type Addr struct {
	Dev    string       `json:"dev"`
	Prefix netip.Prefix `json:"prefix"`
	Gone   bool         `json:"gone,omitempty"` // remove it from the device instead
}

// A Route leads to Dst: through Via, out of Dev, or both if Via is only reachable on Dev (onlink).
type Route struct {
	Dst netip.Prefix `json:"dst"`
	Via netip.Addr   `json:"via,omitzero"`
	Dev string       `json:"dev,omitempty"`
	// Table is the routing table; 0 is the main one.
	Table int  `json:"table,omitempty"`
	Gone  bool `json:"gone,omitempty"` // in an event: remove it instead
}

// MainTable is the routing table of a Route with Table 0 (RT_TABLE_MAIN,
// include/uapi/linux/rtnetlink.h).
const MainTable = 254

// A Rule makes packets From or To these addresses use Table. The kernel tries rules from the lowest
// Priority up; its own are 0 for local addresses and 32766 for MainTable.
type Rule struct {
	From     netip.Prefix `json:"from,omitzero"`
	To       netip.Prefix `json:"to,omitzero"`
	Table    int          `json:"table"`
	Priority int          `json:"priority"`
	Gone     bool         `json:"gone,omitempty"` // in an event: remove it instead
}

// A Proxy makes a router answer requests for Addr that arrive on Dev, because it can reach Addr
// (proxy ARP, RFC 1027; for IPv6 RFC 4389).
type Proxy struct {
	Dev  string     `json:"dev"`
	Addr netip.Addr `json:"addr"`
}

// An FDB entry makes a VXLAN device send frames for unknown stations to Dst.
type FDB struct {
	Dev  string     `json:"dev"`
	Dst  netip.Addr `json:"dst"`
	Gone bool       `json:"gone,omitempty"` // in an event: remove it instead
}

// A Sysctl is a kernel setting of one network namespace.
type Sysctl struct {
	Key      string `json:"key"` // with dots, as sysctl(8) prints it
	Value    string `json:"value"`
	Optional bool   `json:"optional,omitempty"` // a kernel without Key stays as it is
}

// BridgeNF begins the keys that decide whether the bridges of a network namespace pass packets to
// netfilter, as if they were routed: iptables, ip6tables or arptables follows. The module
// br_netfilter adds the keys to every namespace, set to 1; since Linux 5.3 each namespace has its
// own (net/bridge/br_netfilter_hooks.c, brnf_init_net).
const BridgeNF = "net.bridge.bridge-nf-call-"

// DefaultRPS is the mask of CPUs that a network namespace's new devices give received packets to
// (net/core/sysctl_net_core.c, rps_default_mask_sysctl; Linux 6.3). Unlike a device's own mask in
// sysfs, which needs CAP_NET_ADMIN on the machine (net/core/net-sysfs.c, store_rps_map), root of a
// user namespace can set it. Existing devices keep theirs, so the step precedes those that make
// devices, and Diff cannot change it.
const DefaultRPS = "net.core.rps_default_mask"

// Mask writes a mask of CPUs in hexadecimal as the kernel reads it: with a comma after every 32 bits
// (lib/bitmap-str.c, bitmap_parse).
func Mask(hex string) string {
	for i := len(hex) - 8; i > 0; i -= 8 {
		hex = hex[:i] + "," + hex[i:]
	}
	return hex
}

// AllCPUs stands for the mask of all CPUs in the value of a Sysctl.
const AllCPUs = "{cpus}"

// Offload switches features of a device, by the kernel's names (net/ethtool/common.c,
// netdev_features_strings): only those whose kernel default is the opposite, so Diff can switch
// them back.
type Offload struct {
	Dev      string          `json:"dev"`
	Features map[string]bool `json:"features"`
}

// Rate limits what leaves Dev to Rate bit/s as a wire would: every packet costs its frame and
// WireOverhead bytes. 0 removes the limit. The methods return parameters of the kernel's tbf.
type Rate struct {
	Dev  string  `json:"dev"`
	Rate float64 `json:"rate"`
	MTU  int     `json:"mtu,omitempty"` // of Dev, bytes
	// Delayed: Dev has a Delay, an earlier step, before the limit.
	Delayed bool `json:"delayed,omitempty"`
}

// Delay delays and drops packets that leave Dev, a port of Bridge, as a long wire would: they stay in
// order. netem does that, or a program in a kernel without it (package distance). A Rate of Dev must
// say that it has a Delay.
type Delay struct {
	Dev   string        `json:"dev"`
	Delay time.Duration `json:"delay"` // ns
	// Jitter makes the delay of each packet uniform in Delay ± Jitter, ns.
	Jitter time.Duration `json:"jitter,omitempty"`
	Loss   float64       `json:"loss,omitempty"` // share of packets, 0 to 1
	Bridge string        `json:"bridge"`
}

// DelayLimit is how many packets can wait in a Delay: 16 ms at 2 million packets/s. netem's default
// of 1000 would act as a rate limit.
const DelayLimit = 1 << 15

// What Ethernet adds to an IP packet, in bytes (IEEE 802.3).
const (
	EthernetHeader = 14
	VLANTag        = 4  // IEEE 802.1Q, in the Ethernet header
	WireOverhead   = 24 // preamble and start 8, check sequence 4, gap 12
	WireMinimum    = 84 // of the shortest frame: 60 bytes, plus WireOverhead
)

// A Path describes how much of each packet is left for payload.
type Path struct {
	MTU      int `json:"mtu"`      // as a program at an End sees it
	Overhead int `json:"overhead"` // bytes that encapsulation adds to every IP packet on the underlay
	Outer    int `json:"outer"`    // MTU of the underlay; 0 if the path never leaves the host
	// Shared is how many bytes of Overhead packets share if the network puts several into one
	// packet of the underlay; otherwise 0.
	Shared int `json:"shared,omitempty"`
	// Tag is how many bytes a VLAN adds to every frame on the underlay, outside its MTU.
	Tag int `json:"tag,omitempty"`
	// Datapath is what forwards at the bridges of Open vSwitch: system (the kernel) or netdev (ovs-vswitchd);
	// empty without Open vSwitch.
	Datapath string `json:"-"`
	// Found: a target found the path, and Overhead and Outer are unknown.
	Found bool `json:"found,omitempty"`
	// TCPOnly: the network is about proxies, which other protocols bypass.
	TCPOnly bool `json:"tcpOnly,omitempty"`
	// Passes is the largest packet that passes if a step after those of the network lowered an MTU
	// below what MTU promises; otherwise 0.
	Passes int `json:"passes,omitempty"`
}

// Reach returns the size of packets that pass a working path, bytes.
func (p Path) Reach() int {
	if p.Passes > 0 {
		return min(p.Passes, p.MTU)
	}
	return p.MTU
}

// An Expect is one thing that must hold: a State, a Proof, or both about the same device.
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

// A Proof is what a trial proves from counters around its client, where its Expect points.
type Proof struct {
	// MustCarry: Dev moved at least the bytes that the probe delivered. It applies only if In is
	// the node or host of one of the trial's ends and, with Across, the ends are on different
	// hosts.
	MustCarry bool `json:"carries,omitempty"`
	Across    bool `json:"across,omitempty"`
	// Near and Far limit MustCarry to trials whose end in or on In has the label Near and whose
	// other end has the label Far; empty is no limit. With Side, either end can be labeled Near.
	Near string `json:"near,omitempty"`
	Far  string `json:"far,omitempty"`
	// Side lists the hosts on one side of Dev, which can lie between the ends: MustCarry applies
	// when one end is on these hosts and the other is not.
	Side []string `json:"side,omitempty"`
	// Joined: a packet of Dev can hold several of the probe's, so MustCarry compares bytes only.
	Joined bool `json:"joined,omitempty"`
	// Below: the traffic passes In below its IP stack, which forwards next to nothing of it.
	Below bool `json:"below,omitempty"`
	// NoFragments: no packet was fragmented in In, unless the probe sends more than the path's MTU.
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

// Constants of the token bucket of a Rate.
