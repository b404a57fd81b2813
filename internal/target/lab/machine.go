package lab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"os/exec"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/local"
)

// A Machine changes devices of a machine that weir has found, and restores them. The zero Machine opens what it needs
// at its first step.
type Machine struct {
	place *place
	was   []*deviceState // of devices that events have changed, in that order
}

// A deviceState is what a device was before an event.
type deviceState struct {
	dev   string
	links []local.Link // the device, and those upon it, each after the one below it
	kept  []*request   // set their addresses, and then the routes over them, again
	back  []*request   // remove what the event's steps have added
	drops []plan.Drop
	// limited: it has a Rate instead of the kernel's own queue.
	limited bool
}

// Step applies a step of an event that changes one device, or restores it.
func (m *Machine) Step(ctx context.Context, s plan.Step) error {
	dev := s.Device()
	switch {
	case s.Restore != nil:
		return m.restore(s.Restore.Dev)
	case dev == "":
		return errors.New("weir changes only devices of this machine (set, addr, rate, drop, and route with dev)")
	}
	if err := m.open(); err != nil {
		return err
	}
	r, back, err := m.requests(s)
	if err != nil {
		return explain(&s, err)
	}
	i := slices.IndexFunc(m.was, func(w *deviceState) bool { return w.dev == dev })
	if i < 0 {
		w, err := m.remember(dev)
		if err != nil {
			return fmt.Errorf("read what %s is: %w", dev, err)
		}
		m.was, i = append(m.was, w), len(m.was)
	}
	w := m.was[i]
	switch {
	case s.Drop != nil:
		err := m.drop(ctx, *s.Drop)
		if !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, exec.ErrNotFound) { // else nothing has changed: nft works in one transaction
			w.drops = append(w.drops, *s.Drop)
		}
		return explain(&s, err)
	case s.Rate != nil && !w.limited:
		if err := m.queue(dev); err != nil {
			return explain(&s, err)
		}
		w.limited = true
	}
	if s.Route != nil { // it can take the place of another, also of one over another device
		old, err := m.routes(func(b []byte) bool { return leadsTo(b, s.Route.Dst) && b[5] != unix.RTPROT_RA }) // routers announce theirs again
		if err != nil {
			return err
		}
		w.kept = append(w.kept, old...)
	}
	if _, err = execute(r); errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w; log in as root there, or let a command of yours do it (command)", err)
	}
	if err == nil && back != nil {
		w.back = append(w.back, back)
	}
	return explain(&s, err)
}

// requests translates a step. back removes what the step adds; nil if it adds nothing.
func (m *Machine) requests(s plan.Step) (r, back *request, err error) {
	switch {
	case s.Drop != nil:
		_, err = m.place.index(s.Drop.Dev)
		return nil, nil, err
	case s.Rate != nil:
		return m.limit(*s.Rate)
	case s.Set != nil:
		r, err = m.place.set(s.Set)
		return r, nil, err
	case s.Addr != nil:
		r, err = m.place.addr(s.Addr)
		if gone := *s.Addr; err == nil && !gone.Gone {
			gone.Gone = true
			if back, err = m.place.addr(&gone); err == nil {
				back.fine = unix.EADDRNOTAVAIL
			}
		}
		return r, back, err
	}
	r, err = m.place.route(s.Route)
	if gone := *s.Route; err == nil && !gone.Gone {
		gone.Gone = true
		if back, err = m.place.route(&gone); err == nil {
			back.fine = unix.ESRCH
		}
	}
	return r, back, err
}

// Close restores every device.
func (m *Machine) Close() error {
	var errs []error
	for _, w := range slices.Backward(m.was) {
		errs = append(errs, m.restore(w.dev))
	}
	if m.place != nil {
		errs = append(errs, m.place.nl.close(), m.place.ns.Close())
		m.place = nil
	}
	return errors.Join(errs...)
}

// open makes a place of this process's network namespace, or forgets the numbers of its devices. It changes nothing.
func (m *Machine) open() error {
	if m.place != nil {
		clear(m.place.known)
		return nil
	}
	ns, err := netns.Current()
	if err != nil {
		return err
	}
	nl, err := openSocket(unix.NETLINK_ROUTE)
	if err != nil {
		return errors.Join(err, ns.Close())
	}
	m.place = &place{name: "this machine", ns: ns, nl: nl, known: map[string]int32{}}
	return nil
}

// remember reads the state of a device. When a device goes down or gets a smaller MTU, those on top of it change, too
// (vlan_device_event, net/8021q/vlan.c; macvlan_device_event, drivers/net/macvlan.c), and the kernel then removes IPv6
// addresses and routes.
func (m *Machine) remember(dev string) (*deviceState, error) {
	all, err := local.Links()
	if err != nil {
		return nil, err
	}
	w, index := &deviceState{dev: dev}, map[int]bool{}
	for n := -1; n != len(w.links); {
		n = len(w.links)
		for _, l := range all {
			upon := slices.ContainsFunc(w.links, func(below local.Link) bool { return l.Lower == below.Name })
			if !index[l.Index] && (l.Name == dev || upon) {
				w.links, index[l.Index] = append(w.links, l), true
			}
		}
	}
	addrs, err := dump(unix.RTM_GETADDR, unix.RTM_NEWADDR, unix.SizeofIfAddrmsg)
	if err != nil {
		return nil, err
	}
	for _, b := range addrs {
		announced := b[0] == unix.AF_INET6 && b[2]&unix.IFA_F_PERMANENT == 0 // by a router, which does so again
		if index[int(native.Uint32(b[4:]))] && !announced {
			w.kept = append(w.kept, m.again(unix.RTM_NEWADDR, b))
		}
	}
	over := func(dev []byte) bool { return len(dev) >= 4 && index[int(native.Uint32(dev))] }
	routes, err := m.routes(func(b []byte) bool {
		attrs := b[unix.SizeofRtMsg:]
		own := b[5] == unix.RTPROT_BOOT || b[5] == unix.RTPROT_STATIC || b[5] == rtprotDHCP // a daemon restores its own
		is := over(attribute(attrs, unix.RTA_OIF))
		for hop := range hopsOf(attrs) {
			is = is || over(hop[4:])
		}
		return own && is
	})
	w.kept = append(w.kept, routes...)
	return w, err
}

// rtprotDHCP is RTPROT_DHCP (include/uapi/linux/rtnetlink.h).
const rtprotDHCP = 16

// routes returns what sets the routes that keep selects again, of both families: those that another one needs come
// first.
func (m *Machine) routes(keep func(b []byte) bool) (direct []*request, err error) {
	all, err := dump(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, unix.SizeofRtMsg)
	if err != nil {
		return nil, err
	}
	var through []*request
	for _, b := range all {
		attrs := b[unix.SizeofRtMsg:]
		if b[0] != unix.AF_INET && b[0] != unix.AF_INET6 || b[4] == unix.RT_TABLE_LOCAL || native.Uint32(b[8:])&unix.RTM_F_CLONED != 0 || !keep(b) {
			continue
		}
		if attribute(attrs, rtaNHID) != nil {
			return nil, errors.New("it has routes with next hops of their own (ip nexthop), which weir cannot set again: let a command of yours do it (command)")
		}
		native.PutUint32(b[8:], native.Uint32(b[8:])&unix.RTNH_F_ONLINK) // the other flags tell of its state
		for hop := range hopsOf(attrs) {
			hop[2] &= unix.RTNH_F_ONLINK
		}
		if attribute(attrs, unix.RTA_GATEWAY) == nil && attribute(attrs, unix.RTA_MULTIPATH) == nil {
			direct = append(direct, m.again(unix.RTM_NEWROUTE, b))
		} else {
			through = append(through, m.again(unix.RTM_NEWROUTE, b))
		}
	}
	return append(direct, through...), nil
}

// rtaNHID is RTA_NH_ID (include/uapi/linux/rtnetlink.h).
const rtaNHID = 30

// leadsTo reports whether a route is one to dst.
func leadsTo(b []byte, dst netip.Prefix) bool {
	to, _ := netip.AddrFromSlice(attribute(b[unix.SizeofRtMsg:], unix.RTA_DST))
	return int(b[1]) == dst.Bits() && (to == dst.Masked().Addr() || !to.IsValid() && dst.Bits() == 0 && b[0] == family(dst.Addr()))
}

// hopsOf yields the next hops of a route that has several (struct rtnexthop, include/uapi/linux/rtnetlink.h).
func hopsOf(attrs []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for b := attribute(attrs, unix.RTA_MULTIPATH); len(b) >= unix.SizeofRtNexthop && yield(b[:unix.SizeofRtNexthop]); {
			b = b[min(len(b), max(unix.SizeofRtNexthop, (int(native.Uint16(b))+3)&^3)):]
		}
	}
}

// again returns the request that makes again what the kernel has described, unless it exists.
func (m *Machine) again(kind uint16, b []byte) *request {
	r := m.place.request(kind, unix.NLM_F_CREATE|unix.NLM_F_EXCL, b)
	r.fine = unix.EEXIST
	return r
}

// dump returns all objects of a kind in this process's network namespace, each of least bytes or more.
func dump(request int, kind uint16, least int) (all [][]byte, err error) {
	b, err := syscall.NetlinkRIB(request, unix.AF_UNSPEC)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseNetlinkMessage(b)
	for _, m := range messages {
		if m.Header.Type == kind && len(m.Data) >= least {
			all = append(all, m.Data)
		}
	}
	return all, err
}

// restore makes a device, and those upon it, what they were; one that nothing has changed stays as it is.
func (m *Machine) restore(dev string) error {
	i := slices.IndexFunc(m.was, func(w *deviceState) bool { return w.dev == dev })
	if i < 0 {
		return nil
	}
	w := m.was[i]
	m.was = slices.Delete(m.was, i, i+1)
	var all []*request
	for _, l := range w.links {
		msg := unix.IfInfomsg{Index: int32(l.Index), Change: unix.IFF_UP}
		if l.Up {
			msg.Flags = unix.IFF_UP
		}
		r := m.place.request(unix.RTM_SETLINK, 0, msg)
		r.u32(unix.IFLA_MTU, uint32(l.MTU))
		all = append(all, r)
	}
	slices.Reverse(w.back)
	var errs []error
	for _, r := range slices.Concat(all, w.back, w.kept) { // one that fails must not prevent the others
		_, err := execute(r)
		errs = append(errs, err)
	}
	for _, d := range w.drops {
		d.Gone = true
		errs = append(errs, m.drop(context.Background(), d)) // also when the event was canceled
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("make %s what it was: %w", dev, err)
	}
	return nil
}
