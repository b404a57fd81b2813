package lab

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/plan"
)

// announce sends an ARP announcement: a request in which both addresses are the sender's (RFC 5227, section 3).
func (p *place) announce(a *plan.Announce) error {
	err := p.ns.Do(func() error {
		dev, err := net.InterfaceByName(a.Dev)
		if err != nil {
			return err
		}
		ip := a.Addr.AsSlice()
		arp := []byte{0, 1, 8, 0, 6, 4, 0, 1} // Ethernet, IPv4, their lengths, a request (RFC 826)
		arp = bytes.Join([][]byte{arp, dev.HardwareAddr, ip, make([]byte, 6), ip}, nil)
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		to := &unix.SockaddrLinklayer{Protocol: hostOrder(unix.ETH_P_ARP), Ifindex: dev.Index, Halen: 6}
		copy(to.Addr[:], net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		return unix.Sendto(fd, arp, 0, to)
	})
	if err != nil {
		return fmt.Errorf("announce %v on %s: %w", a.Addr, a.Dev, err)
	}
	return nil
}

// hostOrder returns a 16-bit number whose bytes in memory are in network order.
func hostOrder(v uint16) uint16 { return native.Uint16([]byte{byte(v >> 8), byte(v)}) }

// flush empties the table of tracked connections: a deletion that names none concerns all
// (net/netfilter/nf_conntrack_netlink.c, ctnetlink_del_conntrack).
func (p *place) flush() error {
	return p.ns.Do(func() error {
		s, err := openSocket(unix.NETLINK_NETFILTER)
		if err != nil {
			return err
		}
		defer s.close()
		const del = unix.NFNL_SUBSYS_CTNETLINK<<8 | ctDelete
		if _, _, err = s.do(newRequest(del, 0, [4]byte{unix.AF_UNSPEC})); err != nil {
			err = fmt.Errorf("flush the table of connections: %w", err)
		}
		return err
	})
}

// ctDelete is IPCTNL_MSG_CT_DELETE (include/uapi/linux/netfilter/nfnetlink_conntrack.h).
const ctDelete = 2

// reload reads the rules of a place and loads them again, in one transaction.
func (l *lab) reload(ctx context.Context, p *place, r *plan.Reload) error {
	const name = "reload.rules"
	read, before, load := []string{"nft", "list", "ruleset"}, "flush ruleset\n", []string{"nft", "-f"}
	if r.Rules == plan.IPTables {
		read, before, load = []string{"iptables-nft-save"}, "", []string{"iptables-nft-restore"}
	}
	if err := l.state(p); err != nil {
		return err
	}
	rules, err := l.output(ctx, p, nil, read)
	if err != nil {
		return err
	}
	if !strings.Contains(rules, "\n") {
		return fmt.Errorf("%s: %s has no rules to load again; name the place and the kind of rules that the network has (rules: nft or iptables)", strings.Join(read, " "), p.name)
	}
	if err := l.file(p, &plan.File{Name: name, Content: before + rules}); err != nil {
		return err
	}
	_, err = l.output(ctx, p, nil, append(load, hostns.Dir+"/"+name))
	return err
}
