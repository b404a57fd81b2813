package ssh

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

// A place is where a network of a machine is measured.
type place struct {
	dev  string
	addr netip.Prefix
	mtu  int // bytes
}

// suitable reports whether other machines can call a.
func suitable(a netip.Addr) bool { return a.IsGlobalUnicast() && a.Zone() == "" }

// on returns the place of an address of m; ok is false when no device of m has it.
func (m *machine) on(a netip.Addr) (p place, ok bool) {
	for _, l := range m.links {
		for _, prefix := range l.Addrs {
			if prefix.Addr() == a {
				return place{l.Name, prefix, l.MTU}, true
			}
		}
	}
	return place{}, false
}

// devices lists the addresses of m that can be measured, for messages.
func (m *machine) devices() string {
	var all []string
	for _, l := range m.links {
		for _, p := range l.Addrs {
			if suitable(p.Addr()) {
				all = append(all, l.Name+" "+p.String())
			}
		}
	}
	if all == nil {
		return "no device with an address that other machines can call"
	}
	return strings.Join(all, ", ")
}

// distinctAddresses returns an error if two names lead to one machine. Network namespaces of one kernel are
// different machines to a network, as containers with an SSH server are.
func distinct(ms []*machine) error {
	for i, b := range ms {
		for _, a := range ms[:i] {
			if a.identity == b.identity {
				return fmt.Errorf("%s and %s are one machine (boot ID and network namespace %s); name two different ones", a.dest, b.dest, a.identity)
			}
		}
	}
	return nil
}

// find returns the place of each machine in a network.
func find(ctx context.Context, ms []*machine, want topo.Find) (places []place, err error) {
	switch want.Kind {
	case topo.Hosts:
		places, err = hosts(ms, func(m *machine, to netip.Addr) (netip.Addr, error) {
			a, _, err := remote.Source(ctx, m.node, to)
			return a, err
		})
	case topo.Via:
		places, err = via(ms, want.Dev)
	default:
		return nil, fmt.Errorf("machines over SSH have no network %q; there are host and via", want.Kind)
	}
	if err != nil {
		return nil, err
	}
	return places, distinctAddresses(ms, places)
}

// distinctAddresses returns an error if two machines have the same address, as machines behind the same kind of
// address translation do.
func distinctAddresses(ms []*machine, places []place) error {
	for i, b := range places {
		for j, a := range places[:i] {
			if a.addr.Addr() == b.addr.Addr() {
				return fmt.Errorf("%s and %s both have the address %v, so it does not lead from one to the other; choose others with %s=ADDRESS,%s=ADDRESS. %s has %s. %s has %s",
					ms[j].name, ms[i].name, a.addr.Addr(), ms[j].dest, ms[i].dest, ms[j].name, ms[j].devices(), ms[i].name, ms[i].devices())
			}
		}
	}
	return nil
}

// hosts returns the places of the machines' own addresses, all of one family: the given ones, then
// those that ssh reaches, then those from which the machines call the others. source asks a machine
// for the last.
func hosts(ms []*machine, source func(m *machine, to netip.Addr) (netip.Addr, error)) ([]place, error) {
	places := make([]place, len(ms))
	var first netip.Addr // whose family all must have
	take := func(i int, p place) {
		places[i] = p
		if !first.IsValid() {
			first = p.addr.Addr()
		}
	}
	for i, m := range ms {
		if !m.given.IsValid() {
			continue
		}
		p, ok := m.on(m.given)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: no device has the address %v, which servers must listen on; a translated address cannot be measured. It has %s", m.name, m.given, m.devices())
		case first.IsValid() && first.Is4() != m.given.Is4():
			return nil, fmt.Errorf("%s is measured at %v, and another machine at %v: give all machines IPv4 addresses, or all IPv6 ones", m.name, m.given, first)
		}
		take(i, p)
	}
	for i, m := range ms {
		if p, ok := m.on(m.called); ok && suitable(m.called) && places[i].dev == "" && (!first.IsValid() || first.Is4() == m.called.Is4()) {
			take(i, p)
		}
	}
	for i, m := range ms {
		if places[i].dev != "" {
			continue
		}
		var why error
		if !first.IsValid() {
			why = errors.New("ssh reaches it by an address that other machines cannot call")
		} else if a, err := source(m, first); err != nil {
			why = err
		} else if p, ok := m.on(a); !ok || !suitable(a) {
			why = fmt.Errorf("it calls %v from %v, which other machines cannot call", first, a)
		} else {
			take(i, p)
			continue
		}
		return nil, fmt.Errorf("%s: no address to measure: %w; choose one with --ssh %s=ADDRESS. It has %s", m.name, why, m.dest, m.devices())
	}
	return places, nil
}

// via returns the places of the devices with one name: their IPv4 addresses if all have one,
// otherwise the IPv6 ones.
func via(ms []*machine, dev string) ([]place, error) {
	var has []string
	for _, is4 := range []bool{true, false} {
		var places []place
		for _, m := range ms {
			if p, ok := m.at(dev, is4); ok {
				places = append(places, p)
			}
		}
		if len(places) == len(ms) {
			return places, nil
		}
	}
	for _, m := range ms {
		has = append(has, m.name+" has "+m.devices())
	}
	return nil, fmt.Errorf("via: not every machine has a device %q with an address of the same family; choose another with dev. %s", dev, strings.Join(has, ". "))
}

// at returns the first suitable address of a device.
func (m *machine) at(dev string, is4 bool) (place, bool) {
	for _, l := range m.links {
		for _, p := range l.Addrs {
			if l.Name == dev && suitable(p.Addr()) && p.Addr().Is4() == is4 {
				return place{l.Name, p, l.MTU}, true
			}
		}
	}
	return place{}, false
}
