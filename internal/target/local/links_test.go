package local

import (
	"encoding/binary"
	"net/netip"
	"reflect"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attribute builds one attribute (rtnetlink(7)), padded.
func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	return append(b, make([]byte, -len(b)&3)...)
}

func number(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

func linkMessage(index, flags uint32, attrs ...[]byte) syscall.NetlinkMessage {
	data := slices.Concat(make([]byte, 4), number(index), number(flags), number(0), slices.Concat(attrs...))
	return syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: unix.RTM_NEWLINK}, Data: data}
}

func addrMessage(index uint32, bits byte, attrs ...[]byte) syscall.NetlinkMessage {
	data := slices.Concat([]byte{0, bits, 0, 0}, number(index), slices.Concat(attrs...))
	return syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: unix.RTM_NEWADDR}, Data: data}
}

func TestLinksOf(t *testing.T) {
	name := func(s string) []byte { return attribute(unix.IFLA_IFNAME, append([]byte(s), 0)) }
	kind := func(s string) []byte {
		return attribute(unix.IFLA_LINKINFO|unix.NLA_F_NESTED, attribute(unix.IFLA_INFO_KIND, append([]byte(s), 0)))
	}
	got := linksOf([]syscall.NetlinkMessage{
		linkMessage(7, unix.IFF_UP, name("eth0"), attribute(unix.IFLA_MTU, number(1450)), kind("veth"), attribute(unix.IFLA_LINK, number(12)), attribute(unix.IFLA_LINK_NETNSID, number(0))),
		linkMessage(2, 0, name("vlan7"), attribute(unix.IFLA_MTU, number(1500)), kind("vlan"), attribute(unix.IFLA_LINK, number(3)), attribute(unix.IFLA_MASTER, number(4))),
		linkMessage(3, unix.IFF_UP, name("ens1"), attribute(unix.IFLA_MTU, number(9000))),
		linkMessage(4, unix.IFF_UP, name("br0"), attribute(unix.IFLA_MTU, number(1500)), kind("bridge")),
		linkMessage(5, unix.IFF_UP, name("mac0"), kind("macvlan"), attribute(unix.IFLA_LINK, number(3)), attribute(unix.IFLA_LINK_NETNSID, number(1))),
		{Header: syscall.NlMsghdr{Type: unix.NLMSG_DONE}},
		{Header: syscall.NlMsghdr{Type: unix.RTM_NEWLINK}, Data: []byte{1, 2}},
		linkMessage(8, 0, name("odd"), []byte{200, 0, 1, 0, 'x'}), // longer than the message
	}, []syscall.NetlinkMessage{
		addrMessage(3, 24, attribute(unix.IFA_ADDRESS, []byte{10, 0, 0, 1}), attribute(unix.IFA_LOCAL, []byte{10, 0, 0, 2})),
		addrMessage(3, 64, attribute(unix.IFA_ADDRESS, netip.MustParseAddr("fd00::2").AsSlice())),
		addrMessage(7, 24, attribute(unix.IFA_ADDRESS, []byte{10})),
	})
	want := []Link{
		{Index: 2, Name: "vlan7", Kind: "vlan", MTU: 1500, Master: "br0", Lower: "ens1"},
		{Index: 3, Name: "ens1", MTU: 9000, Up: true, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24"), netip.MustParsePrefix("fd00::2/64")}},
		{Index: 4, Name: "br0", Kind: "bridge", MTU: 1500, Up: true},
		{Index: 5, Name: "mac0", Kind: "macvlan", Up: true}, // its lower device is elsewhere
		{Index: 7, Name: "eth0", Kind: "veth", MTU: 1450, Up: true, Peer: 12},
		{Index: 8, Name: "odd"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// This machine has at least the loopback device; its route to itself uses it.
func TestLinksHere(t *testing.T) {
	links, err := Links()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(links, func(l Link) bool { return l.Name == "lo" })
	if i < 0 || links[i].MTU == 0 || links[i].Index == 0 {
		t.Fatalf("links %+v: want the loopback device", links)
	}
	if !links[i].Up {
		t.Skip("the loopback device is down")
	}
	to := netip.MustParseAddr("127.0.0.1")
	if from, dev, err := Source(to); err != nil || from != to || dev != "lo" {
		t.Errorf("packets to %v come from %v on %q, %v", to, from, dev, err)
	}
}
