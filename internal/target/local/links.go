package local

import (
	"net/netip"
)

// A Link is a network device.
type Link struct {
	Index int    `json:"index"`
	Name  string `json:"name"`
	// Kind is rtnetlink's (IFLA_INFO_KIND), such as "veth", "bridge", "vxlan" or "wireguard"; "" is a
	// physical or virtio device, or the loopback device.
	Kind   string         `json:"kind,omitempty"`
	MTU    int            `json:"mtu"` // bytes
	Up     bool           `json:"up"`
	Driver string         `json:"driver,omitempty"` // as ethtool -i names it
	Speed  int            `json:"speed,omitempty"`  // Mbit/s; 0 unknown
	Master string         `json:"master,omitempty"` // bridge, bond or VRF that the device belongs to
	Lower  string         `json:"lower,omitempty"`  // device of this namespace below it, as of a VLAN or VXLAN
	Peer   string         `json:"peer,omitempty"`   // other end of a veth pair in this namespace
	Addrs  []netip.Prefix `json:"addrs,omitempty"`
}

// Links lists the network devices of this process's network namespace in the order of their indices.
func Links() ([]Link, error) { panic("not yet") }

// Source returns the address and the device that the kernel chooses for packets to an address.
func Source(to netip.Addr) (from netip.Addr, dev string, err error) { panic("not yet") }
