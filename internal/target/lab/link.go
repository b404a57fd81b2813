package lab

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
)

// Constants missing from package unix.
const (
	infoPeer = 1 // VETH_INFO_PEER, include/uapi/linux/veth.h; IFLA_NETKIT_PEER_INFO, if_link.h

	// include/uapi/linux/if_tunnel.h
	iptunLocal    = 2
	iptunProto    = 9
	iptunPMTUDisc = 10

	// include/uapi/linux/if_link.h
	macvlanBridge = 4
	netkitMode    = 5 // IFLA_NETKIT_MODE

	loopback = 1 // ifindex of lo in every namespace (net/core/dev.c, LOOPBACK_IFINDEX)
)

// link returns the requests that create a device and set it up; nil for kinds that need more.
func (l *lab) link(p *place, k *plan.Link) ([]*request, error) {
	if k.Kind == "tap" || k.Kind == "wireguard" {
		return nil, nil
	}
	add, err := l.device(p, k)
	if err != nil {
		return nil, err
	}
	up, err := l.finish(p, k)
	return append([]*request{add}, up...), err
}

// assemble creates the kinds of devices that link cannot.
func (l *lab) assemble(p *place, k *plan.Link) error {
	err := error(nil)
	if k.Kind == "tap" {
		err = p.tap(k)
	} else {
		if err = run(one(l.device(p, k))); err == nil {
			err = l.wireguard(p, k)
		}
	}
	if err != nil {
		return err
	}
	return run(l.finish(p, k))
}

// finish returns the requests that set a new device's bridge, move it, and set it and its peer up.
func (l *lab) finish(p *place, k *plan.Link) ([]*request, error) {
	at := p
	if k.To != "" {
		at = l.places[k.To]
	}
	up, err := at.change(k.Name, unix.IFF_UP)
	if err != nil {
		return nil, err
	}
	if k.To != "" {
		up.str(unix.IFLA_IFNAME, k.Name)
	}
	if k.Kind == "tap" {
		up.some(unix.IFLA_MTU, k.MTU)
	}
	if err := p.master(up, k.Master); err != nil {
		return nil, err
	}
	if !k.Pair() {
		return []*request{up}, nil
	}
	peer, err := l.places[k.PeerIn].change(k.Peer, unix.IFF_UP)
	return []*request{up, peer}, err
}

// device returns the request that creates a device, with an ifindex that later requests can use.
func (l *lab) device(p *place, k *plan.Link) (*request, error) {
	name, at := k.Name, p
	if k.To != "" {
		// Before Linux 6.14 a name also had to be free in the request's namespace, where eth0 is
		// the parent (7ca486d08a30, rtnetlink: Lookup device in target netns). finish renames the
		// device.
		var err error
		if at, err = l.at(k.To); err != nil {
			return nil, err
		}
		name = k.To
	}
	r := p.request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.IfInfomsg{Index: l.number(at, k.Name)})
	r.str(unix.IFLA_IFNAME, name)
	r.some(unix.IFLA_MTU, k.MTU)
	if k.Parent != "" {
		parent, err := p.index(k.Parent)
		if err != nil {
			return nil, fmt.Errorf("parent %s: %w", k.Parent, err)
		}
		r.u32(unix.IFLA_LINK, uint32(parent))
	}
	if at != p {
		r.u32(unix.IFLA_NET_NS_FD, uint32(at.ns.FD()))
	}
	if !k.Pair() {
		return r, r.kind(k)
	}
	peer, err := l.at(k.PeerIn)
	if err != nil {
		return nil, err
	}
	mode, ok := netkitModes[k.Mode]
	if k.Kind == "netkit" && !ok {
		return nil, fmt.Errorf("mode %q is neither l2 nor l3", k.Mode)
	}
	r.nest(unix.IFLA_LINKINFO, func() {
		r.str(unix.IFLA_INFO_KIND, k.Kind)
		r.nest(unix.IFLA_INFO_DATA, func() {
			if k.Kind == "netkit" {
				r.u32(netkitMode, mode)
			}
			r.nest(infoPeer, func() {
				r.body(unix.IfInfomsg{Index: l.number(peer, k.Peer)})
				r.str(unix.IFLA_IFNAME, k.Peer)
				r.some(unix.IFLA_MTU, k.MTU)
				r.u32(unix.IFLA_NET_NS_FD, uint32(peer.ns.FD()))
			})
		})
	})
	return r, nil
}

// kind appends a device's kind and parameters, except for pairs.
func (r *request) kind(k *plan.Link) (err error) {
	r.nest(unix.IFLA_LINKINFO, func() {
		r.str(unix.IFLA_INFO_KIND, k.Kind)
		r.nest(unix.IFLA_INFO_DATA, func() {
			switch k.Kind {
			case "bridge", "dummy", "wireguard":
			case "vxlan":
				r.u32(unix.IFLA_VXLAN_ID, uint32(k.VNI))
				r.be16(unix.IFLA_VXLAN_PORT, uint16(k.Port))
				r.u8(unix.IFLA_VXLAN_LEARNING, 1)
				r.either(unix.IFLA_VXLAN_LOCAL, unix.IFLA_VXLAN_LOCAL6, k.Local)
			case "geneve":
				r.u32(unix.IFLA_GENEVE_ID, uint32(k.VNI))
				r.be16(unix.IFLA_GENEVE_PORT, uint16(k.Port))
				r.either(unix.IFLA_GENEVE_REMOTE, unix.IFLA_GENEVE_REMOTE6, k.Remote)
			case "ipip":
				r.addr(iptunLocal, k.Local)
				r.u8(iptunPMTUDisc, 1) // as ip(8) sets it
				r.u8(iptunProto, 0)    // any protocol (net/ipv4/ipip.c, ipip_tunnel_xmit)
			case "vlan":
				r.u16(unix.IFLA_VLAN_ID, uint16(k.Tag))
			case "macvlan":
				r.u32(unix.IFLA_MACVLAN_MODE, macvlanBridge)
			case "ipvlan":
				mode, ok := ipvlanModes[k.Mode]
				if !ok {
					err = fmt.Errorf("mode %q is neither l2 nor l3", k.Mode)
				}
				r.u16(unix.IFLA_IPVLAN_MODE, mode)
			default:
				err = fmt.Errorf("kind %q is not one of bridge, dummy, geneve, ipip, ipvlan, macvlan, netkit, tap, veth, vlan, vxlan, wireguard", k.Kind)
			}
		})
	})
	return err
}

// include/uapi/linux/if_link.h
var (
	ipvlanModes = map[string]uint16{"l2": 0, "l3": 1}
	netkitModes = map[string]uint32{"l2": 0, "l3": 1}
)

// tap creates a persistent TAP device. Netlink cannot (drivers/net/tun.c, tun_validate).
func (p *place) tap(k *plan.Link) error {
	if err := opens("/dev/net/tun"); err != nil { // a better error than that of the open below
		return err
	}
	ifr, err := unix.NewIfreq(k.Name)
	if err != nil {
		return err
	}
	flags := uint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if k.Queues > 1 {
		flags |= unix.IFF_MULTI_QUEUE
	}
	ifr.SetUint16(flags)
	return p.ns.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
			return err
		}
		return unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1)
	})
}

// errNoDevice differs from ENODEV, which the kernel also returns for an unknown kind of device.
var errNoDevice = errors.New("no such device")

// firstNumber is above the device numbers that the kernel chooses, which start at 1.
const firstNumber = 1 << 10

// number gives a new device an ifindex unique in the lab, so that the device can move anywhere.
func (l *lab) number(at *place, dev string) int32 {
	l.devices++
	at.known[dev] = firstNumber + l.devices
	return at.known[dev]
}

func (l *lab) forget() {
	for _, p := range l.places {
		clear(p.known)
	}
}

// index returns the number of a device from the cache or the kernel.
func (p *place) index(dev string) (int32, error) {
	if n, ok := p.known[dev]; ok {
		return n, nil
	}
	n, _, err := p.lookup(dev)
	if err == nil {
		p.known[dev] = n
	}
	return n, err
}

// lookup returns the kernel's number of a device and its MTU, bytes.
func (p *place) lookup(dev string) (index int32, mtu int, err error) {
	r := p.request(unix.RTM_GETLINK, 0, unix.IfInfomsg{})
	r.str(unix.IFLA_IFNAME, dev)
	b, _, err := p.nl.do(r)
	switch {
	case errors.Is(err, unix.ENODEV):
		return 0, 0, errNoDevice
	case err != nil:
		return 0, 0, err
	case len(b) < unix.SizeofIfInfomsg:
		return 0, 0, fmt.Errorf("netlink: link of %d bytes, want at least %d", len(b), unix.SizeofIfInfomsg)
	}
	if m := attribute(b[unix.SizeofIfInfomsg:], unix.IFLA_MTU); len(m) == 4 {
		mtu = int(native.Uint32(m))
	}
	return int32(native.Uint32(b[4:])), mtu, nil
}

// change starts a request that changes a device and sets flags, IFF_UP or 0.
func (p *place) change(dev string, flags uint32) (*request, error) {
	index, err := p.index(dev)
	if err != nil {
		return nil, err
	}
	return p.request(unix.RTM_SETLINK, 0, unix.IfInfomsg{Index: index, Flags: flags, Change: flags}), nil
}

func (p *place) set(s *plan.Set) (*request, error) {
	index, err := p.index(s.Dev)
	if err != nil {
		return nil, err
	}
	msg := unix.IfInfomsg{Index: index}
	if s.Up || s.Down {
		msg.Change = unix.IFF_UP
	}
	if s.Up {
		msg.Flags = unix.IFF_UP
	}
	r := p.request(unix.RTM_SETLINK, 0, msg)
	if s.MTU != 0 {
		r.u32(unix.IFLA_MTU, uint32(s.MTU))
	}
	return r, p.master(r, s.Master)
}

// master makes a device of p the bridge of the one that r changes; "" means none.
func (p *place) master(r *request, dev string) error {
	if dev == "" {
		return nil
	}
	index, err := p.index(dev)
	if err != nil {
		return fmt.Errorf("master %s: %w", dev, err)
	}
	r.u32(unix.IFLA_MASTER, uint32(index))
	return nil
}

func (l *lab) move(p *place, m *plan.Move) error {
	to, err := l.at(m.To)
	if err != nil {
		return err
	}
	r, err := p.change(m.Dev, 0)
	if err == nil {
		r.u32(unix.IFLA_NET_NS_FD, uint32(to.ns.FD()))
		_, err = execute(r)
	}
	if err != nil {
		return err
	}
	delete(p.known, m.Dev)
	index, _, err := to.lookup(m.Dev) // the kernel keeps the number if it is free there
	if err != nil {
		return err
	}
	to.known[m.As] = index
	if r, err = to.change(m.As, unix.IFF_UP); err != nil {
		return err
	}
	r.str(unix.IFLA_IFNAME, m.As)
	r.some(unix.IFLA_MTU, m.MTU)
	_, err = execute(r)
	return err
}
