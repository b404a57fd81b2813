package plan

import (
	"maps"
	"net/netip"
	"slices"
)

// Names are what the steps of an event can name in one place.
type Names struct {
	Devices map[string][]netip.Addr // with their addresses; without those that only a daemon makes
	Daemons []string                // services of the plan, in starting order
}

// Names returns what the plan makes in a place.
func (p Plan) Names(place string) Names {
	n := Names{Devices: map[string][]netip.Addr{"lo": nil}}
	device := func(in, dev string, addrs ...netip.Addr) {
		if in != place || dev == "" {
			return
		}
		all := n.Devices[dev]
		for _, a := range addrs {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
		n.Devices[dev] = all // there, even without an address
	}
	for _, s := range p.Steps {
		switch l := s.Link; {
		case l != nil && l.To != "":
			device(l.To, l.Name)
		case l != nil:
			device(s.In, l.Name)
			device(l.PeerIn, l.Peer)
		case s.Set != nil:
			device(s.In, s.Set.Dev)
		case s.Addr != nil:
			device(s.In, s.Addr.Dev, s.Addr.Prefix.Addr())
		case s.Move != nil:
			device(s.Move.To, s.Move.As)
			if s.In == place {
				delete(n.Devices, s.Move.Dev)
			}
		case s.Service != nil && s.In == place:
			n.Daemons = append(n.Daemons, s.Service.Name)
		}
	}
	for _, e := range p.Expect {
		device(e.In, e.Dev)
	}
	for _, e := range p.Ends {
		device(e.Node, e.Dev, e.Addr)
	}
	return n
}

// DeviceNames returns the devices in the order of their names.
func (n Names) DeviceNames() []string { return slices.Sorted(maps.Keys(n.Devices)) }
