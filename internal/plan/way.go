package plan

import (
	"net/netip"
	"slices"
	"strings"
)

// A Hop is a device that packets pass, and how they come to it.
type Hop struct {
	In, Dev string
	By      string // "" over a wire, inside a bridge, or in the same device; or "route", "vxlan", or the daemon that does it
}

// A way leads from one device to another, in both directions.
type way struct {
	a, b device
	by   string
}

// The ways of a plan by how much it says about them. A route is taken only where
// no bridge leads on, and what a daemon does only where the plan says nothing.
const (
	wired = iota
	routed
	guessed
	levels
)

// Way returns the devices that packets pass from one end to the other, as far as
// the steps say: veths, bridges, tunnels, and routers. What a daemon puts together
// by itself is one hop with its name. It is nil when nothing leads there.
func (p Plan) Way(from, to End) []Hop {
	var known []way
	for _, ways := range p.ways() {
		known = append(known, ways...)
		if hops := shortest(known, device{from.Node, from.Dev}, device{to.Node, to.Dev}); hops != nil {
			return hops
		}
	}
	return nil
}

// ways returns the ways by level.
func (p Plan) ways() (ws [levels][]way) {
	holder := map[string]map[netip.Addr]string{} // by place, the device of an address
	routers := map[string][]string{}             // by place, the devices that a router has
	chosen := map[string][]string{}              // by place, those that a table of their own leads to
	add := func(level int, a, b device, by string) { ws[level] = append(ws[level], way{a, b, by}) }
	under := func(in string) device { // the device of the place that was given an address first
		for _, s := range p.Steps {
			if s.In == in && s.Addr != nil {
				return device{in, s.Addr.Dev}
			}
		}
		return device{in, ""}
	}
	top := map[string]device{} // by place, what was made there last by a daemon
	below := func(in string) device {
		if at, ok := top[in]; ok {
			return at
		}
		return under(in)
	}
	pods := map[string][]device{} // by place, what daemons there made in pods
	var out []func()              // the ways of these out of the place, which lead through what is made there last
	makes := func(in, by string, devs ...string) {
		for _, dev := range devs {
			pod, name, ok := strings.Cut(dev, "/")
			if !ok {
				at := device{in, dev}
				add(guessed, at, below(in), by)
				top[in] = at
				continue
			}
			at := device{pod, name}
			for _, other := range pods[in] {
				add(guessed, at, other, by)
			}
			pods[in] = append(pods[in], at)
			out = append(out, func() { add(guessed, at, below(in), by) })
		}
	}
	for _, s := range p.Steps {
		switch {
		case s.Addr != nil && !s.Addr.Gone:
			if holder[s.In] == nil {
				holder[s.In] = map[netip.Addr]string{}
			}
			holder[s.In][s.Addr.Prefix.Addr()] = s.Addr.Dev
			routers[s.In] = append(routers[s.In], s.Addr.Dev)
		case s.Route != nil && s.Route.Dev != "":
			routers[s.In] = append(routers[s.In], s.Route.Dev)
			if s.Route.Table != 0 {
				chosen[s.In] = append(chosen[s.In], s.Route.Dev)
			}
		case s.Link != nil:
			l, at := s.Link, s.Link.devices(s.In)
			if len(at) == 2 {
				add(wired, at[0], at[1], "")
			}
			if l.Master != "" {
				add(wired, at[0], device{s.In, l.Master}, "")
			}
			if l.Parent != "" {
				add(wired, at[0], device{s.In, l.Parent}, "")
			}
			switch l.Kind {
			case "vxlan":
				add(wired, at[0], device{s.In, holder[s.In][l.Local]}, l.Kind)
			case "geneve": // from the address that a route finds
				add(wired, at[0], under(s.In), l.Kind)
			case "tap":
				add(guessed, at[0], under(s.In), "a program")
			}
		case s.Move != nil:
			add(wired, device{s.In, s.Move.Dev}, device{s.Move.To, s.Move.As}, "")
		case s.Adopt != nil:
			for _, dev := range s.Adopt.Makes {
				makes(s.In, s.Adopt.PID[0], s.Adopt.Pod+"/"+dev)
			}
		case s.Guest != nil:
			for _, dev := range s.Guest.Makes {
				add(guessed, device{s.In, dev}, under(s.Guest.Host), "QEMU")
			}
		case s.Exec != nil:
			ws[wired] = append(ws[wired], s.Exec.port(s.In, holder[s.In])...)
			by := s.Exec.Argv[0]
			if by == "weir" {
				by = s.Exec.Argv[1] // cni
			}
			makes(s.In, by, s.Exec.Makes...)
		case s.Service != nil:
			makes(s.In, s.Service.Name, s.Service.Makes...)
		}
	}
	for _, lead := range out {
		lead()
	}
	for _, s := range p.Steps {
		if s.Sysctl == nil || s.Sysctl.Value == "0" || !strings.HasSuffix(s.Sysctl.Key, "forward") && !strings.HasSuffix(s.Sysctl.Key, "forwarding") {
			continue
		}
		devs := slices.Compact(slices.Sorted(slices.Values(routers[s.In])))
		for i, a := range devs {
			for _, b := range devs[:i] {
				if c := chosen[s.In]; c == nil || slices.Contains(c, a) || slices.Contains(c, b) {
					add(routed, device{s.In, a}, device{s.In, b}, "route")
				}
			}
		}
	}
	return ws
}

// port reads what ovs-vsctl(8) is told: `add-port BRIDGE PORT`, and the type and
// local address of a tunnel.
func (e Exec) port(in string, holder map[netip.Addr]string) []way {
	i := slices.Index(e.Argv, "add-port")
	if i < 0 || i+2 >= len(e.Argv) {
		return nil
	}
	port := device{in, e.Argv[i+2]}
	ws := []way{{device{in, e.Argv[i+1]}, port, ""}}
	kind := ""
	for _, a := range e.Argv[i+3:] {
		if k, ok := strings.CutPrefix(a, "type="); ok {
			kind = k
		}
		if local, ok := strings.CutPrefix(a, "options:local_ip="); ok {
			if addr, err := netip.ParseAddr(strings.Trim(local, `"`)); err == nil {
				ws = append(ws, way{port, device{in, holder[addr]}, kind})
			}
		}
	}
	return ws
}

// shortest returns the way with the fewest devices, the first one of several.
func shortest(ws []way, from, to device) []Hop {
	came := map[device]Hop{from: {}} // where from, and how
	for next := []device{from}; len(next) > 0; next = next[1:] {
		at := next[0]
		if at == to {
			return walk(came, from, to)
		}
		for _, w := range ws {
			other := w.b
			if w.b == at {
				other = w.a
			} else if w.a != at {
				continue
			}
			if _, seen := came[other]; !seen && other.dev != "" {
				came[other] = Hop{at.in, at.dev, w.by}
				next = append(next, other)
			}
		}
	}
	return nil
}

// walk goes back from to.
func walk(came map[device]Hop, from, to device) []Hop {
	hops := []Hop{}
	for at := to; at != from; {
		prev := came[at]
		hops = append(hops, Hop{at.in, at.dev, prev.By})
		at = device{prev.In, prev.Dev}
	}
	hops = append(hops, Hop{In: from.in, Dev: from.dev})
	slices.Reverse(hops)
	return hops
}
