package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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
	Speed  int            `json:"speed,omitempty"`  // Mbit/s, of devices that have one; 0 unknown
	Master string         `json:"master,omitempty"` // bridge, bond or VRF that the device belongs to
	Lower  string         `json:"lower,omitempty"`  // device of this namespace below it, as of a VLAN
	Peer   int            `json:"peer,omitempty"`   // index of a veth's other end, in whichever namespace that is
	Addrs  []netip.Prefix `json:"addrs,omitempty"`
}

// Network identifies the network namespace of this process, as in "net:[4026531840]"; "" without /proc.
func Network() string {
	id, _ := os.Readlink("/proc/self/ns/net")
	return id
}

// Links lists the network devices of this process's network namespace in the order of their indices.
// It needs no privilege.
func Links() ([]Link, error) {
	links, err := dumped(unix.RTM_GETLINK)
	if err != nil {
		return nil, fmt.Errorf("list network devices: %w", err)
	}
	addrs, err := dumped(unix.RTM_GETADDR)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	all := linksOf(links, addrs)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("ask for drivers: %w", err)
	}
	defer unix.Close(fd)
	for i, l := range all {
		if info, err := unix.IoctlGetEthtoolDrvinfo(fd, l.Name); err == nil { // the loopback device has no driver
			all[i].Driver = unix.ByteSliceToString(info.Driver[:])
		}
		if l.Kind == "" || l.Kind == "bond" || l.Kind == "team" { // others state an invented speed
			all[i].Speed = speed(l)
		}
	}
	return all, nil
}

// inSys reports whether /sys describes a link. It can belong to another network namespace, which can
// have devices of this name.
func inSys(l Link) bool {
	index, err := os.ReadFile("/sys/class/net/" + l.Name + "/ifindex")
	return err == nil && strings.TrimSpace(string(index)) == strconv.Itoa(l.Index)
}

// speed is 0 if it is unknown.
func speed(l Link) int {
	if !inSys(l) {
		return 0
	}
	b, _ := os.ReadFile("/sys/class/net/" + l.Name + "/speed") // it fails for devices without one
	mbits, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return max(mbits, 0) // -1 is unknown
}

// dumped returns the kernel's answers to a request for all objects of a kind (rtnetlink(7)).
func dumped(request int) ([]syscall.NetlinkMessage, error) {
	b, err := syscall.NetlinkRIB(request, unix.AF_UNSPEC)
	if err != nil {
		return nil, err
	}
	return syscall.ParseNetlinkMessage(b)
}

func linksOf(links, addrs []syscall.NetlinkMessage) []Link {
	var all []Link
	names, masters, lowers := map[int]string{}, map[int]int{}, map[int]int{}
	for _, m := range links {
		if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
			continue
		}
		l := Link{Index: int(int32(word(m.Data[4:]))), Up: word(m.Data[8:])&unix.IFF_UP != 0}
		lower, elsewhere := 0, false
		for kind, v := range attributes(m.Data[unix.SizeofIfInfomsg:]) {
			switch kind {
			case unix.IFLA_IFNAME:
				l.Name = unix.ByteSliceToString(v)
			case unix.IFLA_MTU:
				l.MTU = int(word(v))
			case unix.IFLA_LINK:
				lower = int(word(v))
			case unix.IFLA_LINK_NETNSID:
				elsewhere = true
			case unix.IFLA_MASTER:
				masters[l.Index] = int(word(v))
			case unix.IFLA_LINKINFO:
				for kind, v := range attributes(v) {
					if kind == unix.IFLA_INFO_KIND {
						l.Kind = unix.ByteSliceToString(v)
					}
				}
			}
		}
		switch {
		case l.Kind == "veth":
			l.Peer = lower
		case lower != l.Index && !elsewhere:
			lowers[l.Index] = lower
		}
		names[l.Index] = l.Name
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Link) int { return a.Index - b.Index })
	for i, l := range all {
		all[i].Master, all[i].Lower = names[masters[l.Index]], names[lowers[l.Index]]
		for _, m := range addrs {
			if p := addressOf(m, l.Index); p.IsValid() {
				all[i].Addrs = append(all[i].Addrs, p)
			}
		}
	}
	return all
}

// addressOf returns m's address if it is one of the device index.
func addressOf(m syscall.NetlinkMessage, index int) netip.Prefix {
	if m.Header.Type != unix.RTM_NEWADDR || len(m.Data) < unix.SizeofIfAddrmsg || int(word(m.Data[4:])) != index {
		return netip.Prefix{}
	}
	var local, address []byte // they differ at point-to-point devices; IPv6 has no local without a peer
	for kind, v := range attributes(m.Data[unix.SizeofIfAddrmsg:]) {
		switch kind {
		case unix.IFA_LOCAL:
			local = v
		case unix.IFA_ADDRESS:
			address = v
		}
	}
	if local == nil {
		local = address
	}
	a, _ := netip.AddrFromSlice(local) // an invalid address makes an invalid prefix
	return netip.PrefixFrom(a, int(m.Data[1]))
}

// attributes yields types and values of the attributes in b (netlink(7), rtnetlink(7)).
func attributes(b []byte) iter.Seq2[int, []byte] {
	return func(yield func(kind int, value []byte) bool) {
		for len(b) >= unix.SizeofRtAttr {
			n := int(binary.NativeEndian.Uint16(b))
			if n < unix.SizeofRtAttr || n > len(b) {
				return
			}
			kind := binary.NativeEndian.Uint16(b[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
			if !yield(int(kind), b[unix.SizeofRtAttr:n]) {
				return
			}
			b = b[min(len(b), (n+unix.RTA_ALIGNTO-1)&^(unix.RTA_ALIGNTO-1)):]
		}
	}
}

// word is the number in the first four bytes of b, or 0.
func word(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}

// Source returns the address and the device that the kernel chooses for packets to an address, as
// `ip route get` prints them. For one of this machine's own addresses the device is lo.
func Source(to netip.Addr) (from netip.Addr, dev string, err error) {
	to = to.Unmap()
	fail := func(err error) (netip.Addr, string, error) {
		return netip.Addr{}, "", fmt.Errorf("find the route to %v: %w", to, err)
	}
	index := 0
	err = route(to, func(kind int, v []byte) {
		switch kind {
		case unix.RTA_OIF:
			index = int(word(v))
		case unix.RTA_PREFSRC:
			from, _ = netip.AddrFromSlice(v) // checked below
		}
	})
	if err != nil {
		return fail(err)
	}
	if !from.IsValid() || index == 0 {
		return fail(errors.New("the kernel names no source address and device"))
	}
	i, err := net.InterfaceByIndex(index)
	if err != nil {
		return fail(err)
	}
	return from, i.Name, nil
}

// route calls each with the attributes of the route that the kernel chooses for packets to an address
// (RTM_GETROUTE, rtnetlink(7)).
func route(to netip.Addr, each func(kind int, value []byte)) error {
	n, err := openNetlink(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer n.close()
	family := byte(unix.AF_INET)
	if to.Is6() {
		family = unix.AF_INET6
	}
	addr := to.AsSlice()
	b := append([]byte{family, byte(to.BitLen())}, make([]byte, unix.SizeofRtMsg-2)...)
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofRtAttr+len(addr)))
	b = binary.NativeEndian.AppendUint16(b, unix.RTA_DST)
	return n.ask(unix.RTM_GETROUTE, 0, append(b, addr...), func(m syscall.NetlinkMessage) {
		if m.Header.Type != unix.RTM_NEWROUTE || len(m.Data) < unix.SizeofRtMsg {
			return
		}
		for kind, v := range attributes(m.Data[unix.SizeofRtMsg:]) {
			each(kind, v)
		}
	})
}
