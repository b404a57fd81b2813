package lab

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/weir-bench/weir/internal/plan"
)

func (l *lab) link(p *place, k *plan.Link) error {
	dev, err := l.device(p, k)
	if err != nil {
		return err
	}
	clear(p.known)
	if k.Kind == "tap" {
		err = p.tap(dev, k.MTU)
	} else {
		err = p.nl.LinkAdd(dev)
	}
	if err != nil {
		return fmt.Errorf("add %s %s: %w", k.Kind, k.Name, unsupported(err, k.Kind))
	}
	if k.Kind == "wireguard" {
		if err := l.wireguard(p, k); err != nil {
			return err
		}
	}
	if k.To != "" {
		return l.born(dev.Attrs().Name, k)
	}
	if k.Master != "" {
		m, err := p.nl.LinkByName(k.Master)
		if err != nil {
			return fmt.Errorf("master %s of %s: %w", k.Master, k.Name, err)
		}
		if err := p.nl.LinkSetMaster(dev, m); err != nil {
			return fmt.Errorf("put %s in %s: %w", k.Name, k.Master, err)
		}
	}
	if err := p.up(k.Name); err != nil {
		return err
	}
	if k.Kind == "veth" {
		return l.places[k.PeerIn].up(k.Peer)
	}
	return nil
}

// born gives a device its name in the namespace that it was made in. Before Linux
// 6.14 a new name had to be free in the namespace of the request as well, where
// eth0 is the parent (7ca486d08a30, rtnetlink: Lookup device in target netns).
func (l *lab) born(name string, k *plan.Link) error {
	to, err := l.at(k.To)
	if err != nil {
		return err
	}
	dev, err := to.nl.LinkByName(name)
	if err == nil {
		err = to.nl.LinkSetName(dev, k.Name)
	}
	if err != nil {
		return fmt.Errorf("name %s in %s: %w", k.Name, k.To, err)
	}
	return to.up(k.Name)
}

// tap makes a TAP device, which is not made by netlink, and stays when who made
// it lets go of it.
func (p *place) tap(dev netlink.Link, mtu int) error {
	if err := opens("/dev/net/tun"); err != nil { // it says more than LinkAdd does
		return err
	}
	if err := p.ns.Do(func() error { return netlink.LinkAdd(dev) }); err != nil {
		return err
	}
	dev, err := p.nl.LinkByName(dev.Attrs().Name)
	if err == nil && mtu != 0 {
		err = p.nl.LinkSetMTU(dev, mtu)
	}
	return err
}

// device translates a Link into what the netlink package creates.
func (l *lab) device(p *place, k *plan.Link) (netlink.Link, error) {
	a := netlink.NewLinkAttrs()
	a.Name, a.MTU = k.Name, k.MTU
	switch k.Kind {
	case "bridge":
		return &netlink.Bridge{LinkAttrs: a}, nil
	case "vxlan":
		return &netlink.Vxlan{LinkAttrs: a, VxlanId: k.VNI, Port: k.Port, SrcAddr: k.Local.AsSlice(), Learning: true}, nil
	case "geneve":
		return &netlink.Geneve{LinkAttrs: a, ID: uint32(k.VNI), Dport: uint16(k.Port), Remote: k.Remote.AsSlice()}, nil
	case "ipip":
		return &netlink.Iptun{LinkAttrs: a, Local: k.Local.AsSlice(), PMtuDisc: 1}, nil // as ip(8) sets it
	case "tap":
		tap := &netlink.Tuntap{LinkAttrs: a, Mode: netlink.TUNTAP_MODE_TAP, Flags: netlink.TUNTAP_NO_PI}
		if k.Queues > 1 {
			tap.Flags |= netlink.TUNTAP_MULTI_QUEUE
		}
		return tap, nil
	case "vlan":
		parent, err := p.nl.LinkByName(k.Parent)
		if err != nil {
			return nil, fmt.Errorf("vlan %s: parent %s: %w", k.Name, k.Parent, err)
		}
		a.ParentIndex = parent.Attrs().Index
		return &netlink.Vlan{LinkAttrs: a, VlanId: k.Tag, VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}, nil
	case "wireguard":
		return &netlink.Wireguard{LinkAttrs: a}, nil
	case "veth":
		peer, err := l.at(k.PeerIn)
		if err != nil {
			return nil, fmt.Errorf("veth %s: %w", k.Name, err)
		}
		return &netlink.Veth{LinkAttrs: a, PeerName: k.Peer, PeerMTU: uint32(k.MTU), PeerNamespace: netlink.NsFd(peer.ns.FD())}, nil
	case "ipvlan", "macvlan":
		parent, err := p.nl.LinkByName(k.Parent)
		if err != nil {
			return nil, fmt.Errorf("%s %s: parent %s: %w", k.Kind, k.Name, k.Parent, err)
		}
		to, err := l.at(k.To)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", k.Kind, k.Name, err)
		}
		a.Name, a.ParentIndex, a.Namespace = k.To, parent.Attrs().Index, netlink.NsFd(to.ns.FD())
		if k.Kind == "macvlan" {
			return &netlink.Macvlan{LinkAttrs: a, Mode: netlink.MACVLAN_MODE_BRIDGE}, nil
		}
		mode, ok := ipvlanModes[k.Mode]
		if !ok {
			return nil, fmt.Errorf("ipvlan %s: mode %q is neither l2 nor l3", k.Name, k.Mode)
		}
		return &netlink.IPVlan{LinkAttrs: a, Mode: mode}, nil
	}
	return nil, fmt.Errorf("link %s: kind %q is not one of bridge, geneve, ipip, ipvlan, macvlan, tap, veth, vlan, vxlan, wireguard", k.Name, k.Kind)
}

var ipvlanModes = map[string]netlink.IPVlanMode{"l2": netlink.IPVLAN_MODE_L2, "l3": netlink.IPVLAN_MODE_L3}
