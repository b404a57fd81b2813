package lab

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/evidence"
)

const (
	// watched are the multicast groups of rtnetlink that tell what an event changes (include/uapi/linux/rtnetlink.h).
	watched = unix.RTMGRP_LINK | unix.RTMGRP_NEIGH | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_IFADDR | unix.RTMGRP_IPV6_ROUTE
	// lookFor is how long the watch waits for a message before it looks whether it is over, ms.
	lookFor = 20
	// mostChanges bounds what one watch keeps: a routing daemon can change thousands.
	mostChanges = 1000
)

// changes begins to watch what the kernel changes in all places outside guests: devices, neighbors, addresses, routes and rules.
// The function it returns ends the watch and returns the changes in time order.
func (l *lab) changes(ctx context.Context) (stop func() ([]evidence.Change, error), err error) {
	var ears []*ear
	var polled []unix.PollFd
	closeAll := func() {
		for _, f := range polled {
			unix.Close(int(f.Fd))
		}
	}
	for _, p := range l.places {
		if p.guest != nil {
			continue
		}
		for _, listen := range []func(*place) (*ear, error){listenIn, listenToRules} {
			e, err := listen(p)
			if err != nil {
				closeAll()
				return nil, err
			}
			ears, polled = append(ears, e), append(polled, unix.PollFd{Fd: int32(e.fd), Events: unix.POLLIN})
		}
	}
	var all []evidence.Change
	var failed error
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		defer closeAll()
		failed = caught.Error(func() error {
			for wait := lookFor; ctx.Err() == nil && len(all) < mostChanges; {
				select {
				case <-over:
					wait = 0 // what has come until now is still heard
				default:
				}
				n, err := unix.Poll(polled, wait)
				switch {
				case err != nil && !errors.Is(err, unix.EINTR):
					return err
				case n <= 0 && wait == 0 && err == nil:
					return nil
				case n <= 0:
					continue
				}
				at := clock()
				for i, f := range polled {
					if f.Revents != 0 {
						all = append(all, ears[i].heard(at)...)
					}
				}
			}
			return nil
		})
	})
	return func() ([]evidence.Change, error) {
		close(over)
		done.Wait()
		return all, failed
	}, nil
}

// An ear hears of changes in one place.
type ear struct {
	fd    int
	place string
	names map[int32]string // of devices
}

func listenIn(p *place) (*ear, error) {
	e := &ear{place: p.name, names: map[int32]string{}}
	var links []byte
	err := p.ns.Do(func() (err error) {
		if e.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE); err == nil {
			links, err = syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
		}
		return err
	})
	if err == nil {
		e.read(links, 0)
		err = unix.Bind(e.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: watched})
	}
	if err != nil && e.fd > 0 {
		unix.Close(e.fd)
	}
	return e, err
}

// newRules is the type of the message that ends a transaction of nf_tables (nf_tables_gen_notify, net/netfilter/nf_tables_api.c).
const newRules = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWGEN

// nfgenmsg is the size of what precedes the attributes of a message of nfnetlink (struct nfgenmsg, include/uapi/linux/netfilter/nfnetlink.h).
const nfgenmsg = 4

// listenToRules hears of transactions of nf_tables, and of nothing else: a filter keeps the rules themselves, which can be many
// thousands, out of the socket's buffer.
func listenToRules(p *place) (*ear, error) {
	e := &ear{place: p.name}
	kind := make([]byte, 2)
	native.PutUint16(kind, newRules)
	only := []unix.SockFilter{ // a program of classic BPF reads numbers as the network sends them
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 4}, // nlmsg_type
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(kind[0])<<8 | uint32(kind[1])},
		{Code: unix.BPF_RET | unix.BPF_K, K: bufferSize},
		{Code: unix.BPF_RET | unix.BPF_K},
	}
	err := p.ns.Do(func() (err error) {
		e.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_NETFILTER)
		return err
	})
	if err == nil {
		err = cmp.Or(unix.SetsockoptSockFprog(e.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(only)), Filter: &only[0]}),
			unix.Bind(e.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (unix.NFNLGRP_NFTABLES - 1)}))
	}
	if err != nil && e.fd > 0 {
		unix.Close(e.fd)
	}
	return e, err
}

// heard reads all messages that wait, which came by the time at.
func (e *ear) heard(at int64) (all []evidence.Change) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := unix.Read(e.fd, buf[:])
		if err != nil { // nothing is left, or some were lost (ENOBUFS): those that came are true
			return all
		}
		all = append(all, e.read(buf[:n], at)...)
	}
}

func (e *ear) read(b []byte, at int64) (all []evidence.Change) {
	messages, _ := syscall.ParseNetlinkMessage(b)
	for _, m := range messages {
		if c, ok := e.changeOf(m.Header.Type, m.Data); ok {
			c.At, c.In = at, e.place
			all = append(all, c)
		}
	}
	return all
}

// changeOf reads a message of rtnetlink; false if it tells of nothing that changed.
func (e *ear) changeOf(kind uint16, b []byte) (c evidence.Change, ok bool) {
	address := func(attrs []byte, attr uint16) string {
		a, _ := netip.AddrFromSlice(attribute(attrs, attr))
		if !a.IsValid() {
			return ""
		}
		return a.String()
	}
	switch {
	case kind == newRules && len(b) >= nfgenmsg:
		c = evidence.Change{What: evidence.OfRules, To: string(trimZero(attribute(b[nfgenmsg:], unix.NFTA_GEN_PROC_NAME))), State: evidence.Set}
	case (kind == unix.RTM_NEWLINK || kind == unix.RTM_DELLINK) && len(b) >= unix.SizeofIfInfomsg:
		attrs := b[unix.SizeofIfInfomsg:]
		c = evidence.Change{What: evidence.OfDevice, Dev: string(trimZero(attribute(attrs, unix.IFLA_IFNAME))), State: evidence.Down}
		e.names[int32(native.Uint32(b[4:]))] = c.Dev
		switch flags := native.Uint32(b[8:]); {
		case kind == unix.RTM_DELLINK:
			c.State = evidence.Gone
		case flags&unix.IFF_UP != 0 && flags&unix.IFF_RUNNING != 0:
			c.State = evidence.Up
		case flags&unix.IFF_UP != 0:
			c.State = evidence.NoCarrier
		}
	case (kind == unix.RTM_NEWNEIGH || kind == unix.RTM_DELNEIGH) && len(b) >= unix.SizeofNdMsg:
		if b[0] == unix.AF_BRIDGE {
			return c, false // a bridge learns and forgets stations all the time
		}
		attrs := b[unix.SizeofNdMsg:]
		c = evidence.Change{What: evidence.OfNeighbor, Dev: e.names[int32(native.Uint32(b[4:]))], To: address(attrs, unix.NDA_DST)}
		c.State = neighborState(native.Uint16(b[8:]))
		if kind == unix.RTM_DELNEIGH {
			c.State = evidence.Gone
		}
	case (kind == unix.RTM_NEWROUTE || kind == unix.RTM_DELROUTE) && len(b) >= unix.SizeofRtMsg:
		attrs := b[unix.SizeofRtMsg:]
		if b[4] == unix.RT_TABLE_LOCAL {
			return c, false // follows from addresses
		}
		c = evidence.Change{What: evidence.OfRoute, To: "default", State: evidence.Set}
		if to := address(attrs, unix.RTA_DST); to != "" {
			c.To = netip.PrefixFrom(netip.MustParseAddr(to), int(b[1])).String()
		}
		if dev := attribute(attrs, unix.RTA_OIF); len(dev) == 4 {
			c.Dev = e.names[int32(native.Uint32(dev))]
		}
		if kind == unix.RTM_DELROUTE {
			c.State = evidence.Gone
		}
	case (kind == unix.RTM_NEWADDR || kind == unix.RTM_DELADDR) && len(b) >= unix.SizeofIfAddrmsg:
		c = evidence.Change{What: evidence.OfAddress, Dev: e.names[int32(native.Uint32(b[4:]))], To: address(b[unix.SizeofIfAddrmsg:], unix.IFA_ADDRESS), State: evidence.Set}
		if kind == unix.RTM_DELADDR {
			c.State = evidence.Gone
		}
	default:
		return c, false
	}
	return c, c.Dev != "" || c.To != ""
}

func trimZero(b []byte) []byte {
	if i := slices.Index(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// neighborState is what a state means for a packet (include/uapi/linux/neighbour.h).
func neighborState(s uint16) string {
	switch {
	case s&(unix.NUD_REACHABLE|unix.NUD_PERMANENT|unix.NUD_NOARP|unix.NUD_STALE|unix.NUD_DELAY|unix.NUD_PROBE) != 0:
		return evidence.Known // packets leave, even while the kernel checks it
	case s&unix.NUD_FAILED != 0:
		return evidence.Failed
	}
	return evidence.Unknown // packets wait for an answer
}
