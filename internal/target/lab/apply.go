package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// apply runs the steps in order and names the one that fails.
func (l *lab) apply(ctx context.Context, steps []plan.Step) error {
	for i, s := range steps {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := l.step(ctx, s); err != nil {
			err = fmt.Errorf("step %d of %d, in %s: %w", i+1, len(steps), s.In, err)
			if !errors.Is(err, target.ErrService) { // it may be why a later step cannot be done
				err = errors.Join(err, l.ended())
			}
			return err
		}
	}
	return nil
}

func (l *lab) step(ctx context.Context, s plan.Step) error {
	p, err := l.at(s.In)
	if err != nil {
		return err
	}
	if p.guest != nil {
		return p.guest.Step(ctx, s)
	}
	switch {
	case s.Link != nil:
		return l.link(p, s.Link)
	case s.Set != nil:
		return p.set(s.Set)
	case s.Addr != nil:
		return p.addr(s.Addr)
	case s.Route != nil:
		return p.route(s.Route)
	case s.Rule != nil:
		return p.rule(s.Rule)
	case s.Proxy != nil:
		return p.proxy(s.Proxy)
	case s.FDB != nil:
		return p.fdb(s.FDB)
	case s.Sysctl != nil:
		return p.sysctl(s.Sysctl)
	case s.Offload != nil:
		if err := p.eth.Change(s.Offload.Dev, s.Offload.Features); err != nil {
			return fmt.Errorf("offload of %s: %w", s.Offload.Dev, err)
		}
		return nil
	case s.Rate != nil:
		return p.rate(s.Rate)
	case s.Delay != nil:
		return p.delay(s.Delay)
	case s.Move != nil:
		return l.move(p, s.Move)
	case s.File != nil:
		return l.file(p, s.File)
	case s.Exec != nil:
		return l.exec(ctx, p, s.Exec)
	case s.Adopt != nil:
		return l.adopt(ctx, p, s.Adopt)
	case s.Service != nil:
		return l.service(ctx, p, s.Service)
	case s.Await != nil:
		return l.await(ctx, p, s.Await)
	case s.Guest != nil:
		return l.enter(ctx, p, s.Guest)
	}
	return errors.New("the step is empty")
}

func (p *place) up(name string) error {
	dev, err := p.nl.LinkByName(name)
	if err != nil {
		return fmt.Errorf("set %s up: %w", name, err)
	}
	if err := p.nl.LinkSetUp(dev); err != nil {
		return fmt.Errorf("set %s up: %w", name, err)
	}
	return nil
}

func (p *place) set(s *plan.Set) error {
	dev, err := p.nl.LinkByName(s.Dev)
	if err == nil {
		err = p.nl.LinkSetMTU(dev, s.MTU)
	}
	if err != nil {
		return fmt.Errorf("set MTU of %s to %d: %w", s.Dev, s.MTU, err)
	}
	if s.Up {
		return p.up(s.Dev)
	}
	return nil
}

func (l *lab) move(p *place, m *plan.Move) error {
	to, err := l.at(m.To)
	if err != nil {
		return fmt.Errorf("move %s: %w", m.Dev, err)
	}
	dev, err := p.nl.LinkByName(m.Dev)
	if err == nil {
		err = p.nl.LinkSetNsFd(dev, to.ns.FD())
	}
	if err == nil {
		dev, err = to.nl.LinkByName(m.Dev)
	}
	if err == nil {
		err = to.nl.LinkSetName(dev, m.As)
	}
	if err != nil {
		return fmt.Errorf("move %s to %s as %s: %w", m.Dev, m.To, m.As, err)
	}
	if m.MTU != 0 {
		if err := to.set(&plan.Set{Dev: m.As, MTU: m.MTU}); err != nil {
			return err
		}
	}
	return to.up(m.As)
}

func (p *place) addr(a *plan.Addr) error {
	dev, err := p.nl.LinkByName(a.Dev)
	if err == nil {
		addr := &netlink.Addr{IPNet: ipnet(a.Prefix)}
		if a.Prefix.Addr().Is6() {
			addr.Flags = unix.IFA_F_NODAD // usable at once (net/ipv6/addrconf.c, ipv6_add_addr)
		}
		if a.Gone {
			err = p.nl.AddrDel(dev, addr)
		} else {
			err = p.nl.AddrAdd(dev, addr)
		}
	}
	if err != nil {
		return fmt.Errorf("address %v on %s: %w", a.Prefix, a.Dev, err)
	}
	return nil
}

func (p *place) route(r *plan.Route) error {
	route := &netlink.Route{Dst: ipnet(r.Dst), Table: r.Table}
	if r.Via.IsValid() {
		route.Gw = r.Via.AsSlice()
	} else {
		route.Scope = netlink.SCOPE_LINK
	}
	if r.Dev != "" {
		dev, err := p.nl.LinkByName(r.Dev)
		if err != nil {
			return fmt.Errorf("route to %v over %s: %w", r.Dst, r.Dev, err)
		}
		route.LinkIndex = dev.Attrs().Index
		if r.Via.IsValid() {
			route.Flags = int(netlink.FLAG_ONLINK)
		}
	}
	if err := p.nl.RouteReplace(route); err != nil {
		return fmt.Errorf("route to %v: %w", r.Dst, err)
	}
	return nil
}

func (p *place) fdb(f *plan.FDB) error {
	index, err := p.index(f.Dev)
	if err == nil {
		err = p.nl.NeighAppend(&netlink.Neigh{
			LinkIndex: index, Family: unix.AF_BRIDGE, Flags: netlink.NTF_SELF, State: netlink.NUD_PERMANENT,
			IP: f.Dst.AsSlice(), HardwareAddr: make(net.HardwareAddr, 6)})
	}
	if err != nil {
		return fmt.Errorf("forwarding entry for %v on %s: %w", f.Dst, f.Dev, err)
	}
	return nil
}

// index returns the number of a device, and remembers it: in a full mesh a device
// has as many entries as there are hosts.
func (p *place) index(dev string) (int, error) {
	if n, ok := p.known[dev]; ok {
		return n, nil
	}
	l, err := p.nl.LinkByName(dev)
	if err != nil {
		return 0, err
	}
	p.known[dev] = l.Attrs().Index
	return p.known[dev], nil
}

func (p *place) sysctl(s *plan.Sysctl) error {
	file := "/proc/sys/" + strings.ReplaceAll(s.Key, ".", "/")
	err := p.ns.Do(func() error { return os.WriteFile(file, []byte(s.Value), 0) })
	if errors.Is(err, os.ErrNotExist) && strings.HasPrefix(s.Key, "net.ipv6.conf.default.") {
		return nil // a kernel without IPv6 is as quiet as the plan wants it
	}
	if err != nil {
		return fmt.Errorf("sysctl %s=%s: %w", s.Key, s.Value, err)
	}
	return nil
}

func ipnet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
