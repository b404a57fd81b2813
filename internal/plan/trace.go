package plan

import (
	"net/netip"
	"slices"
	"strings"
)

// A Hop is a device that packets pass, and how they get there.
type Hop struct {
	In, Dev string
	By      string // "" over a wire, inside a bridge, or within one device; otherwise "route", "vxlan", or the responsible daemon
}

// An edge connects two devices in both directions.
type edge struct {
	a, b device
	by   string
}

// Levels of edges, by how much the plan says about them. A trace takes a route only where no bridge
// connects the ends, and guesses at daemons only where the plan says nothing.
const (
	wired = iota
	routed
	guessed
	levels
)

// Trace returns the devices that packets pass between two ends as far as the steps show them:
// veths, bridges, tunnels and routers. Anything that a daemon sets up is one hop with its name.
// Trace returns nil if nothing connects the ends.
func (p Plan) Trace(from, to End) []Hop { return p.Tracer().Trace(from, to) }

// A Tracer traces many pairs of ends of one plan.
type Tracer [levels]map[device][]edge

// Tracer reads the steps.
func (p Plan) Tracer() *Tracer {
	var t Tracer
	for level, edges := range p.edges() {
		t[level] = map[device][]edge{}
		if level > 0 {
			for at, before := range t[level-1] {
				t[level][at] = slices.Clone(before)
			}
		}
		for _, e := range edges {
			t[level][e.a] = append(t[level][e.a], e)
			t[level][e.b] = append(t[level][e.b], e)
		}
	}
	return &t
}

// Trace is Plan.Trace.
func (t *Tracer) Trace(from, to End) []Hop {
	for _, known := range t {
		if hops := shortest(known, device{from.Node, from.Dev}, device{to.Node, to.Dev}); hops != nil {
			return hops
		}
	}
	return nil
}

func (p Plan) edges() (es [levels][]edge) {
	holder := map[string]map[netip.Addr]string{} // by place and address, the device that has the address
	routers := map[string][]string{}             // by place, the devices that a router has
	chosen := map[string][]string{}              // by place, the devices that a separate routing table uses
	add := func(level int, a, b device, by string) { es[level] = append(es[level], edge{a, b, by}) }
	under := func(in string) device { // the first device of the place that was given an address
		for _, s := range p.Steps {
			if s.In == in && s.Addr != nil {
				return device{in, s.Addr.Dev}
			}
		}
		return device{in, ""}
	}
	top := map[string]device{} // by place, the last device that a daemon made there
	below := func(in string) device {
		if at, ok := top[in]; ok {
			return at
		}
		return under(in)
	}
	pods := map[string][]device{} // by place, the devices that its daemons made in pods
	var out []func()              // add the edges from these devices to the place's last device, once that is known
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
			case "geneve": // sends from the address that the kernel's route lookup picks
				add(wired, at[0], under(s.In), l.Kind)
			case "tap":
				add(guessed, at[0], under(s.In), "a program")
			}
		case s.Set != nil && s.Set.Master != "":
			add(wired, device{s.In, s.Set.Dev}, device{s.In, s.Set.Master}, "")
		case s.Move != nil:
			add(wired, device{s.In, s.Move.Dev}, device{s.Move.To, s.Move.As}, "")
		case s.Adopt != nil:
			for _, dev := range s.Adopt.Makes {
				makes(s.In, s.Adopt.PID[0], s.Adopt.Pod+"/"+dev)
			}
		case s.Guest != nil:
			for _, dev := range s.Guest.Makes {
				if s.Guest.Tap != "" {
					add(wired, device{s.In, dev}, device{s.Guest.Host, s.Guest.Tap}, "QEMU")
					continue
				}
				add(guessed, device{s.In, dev}, under(s.Guest.Host), "QEMU")
			}
		case s.Exec != nil:
			es[wired] = append(es[wired], s.Exec.port(s.In, holder[s.In])...)
			by := s.Exec.Argv[0]
			if by == "weir" {
				by = s.Exec.Argv[1] // cni
			}
			makes(s.In, by, s.Exec.Makes...)
		case s.Service != nil:
			makes(s.In, s.Service.Name, s.Service.Makes...)
			for i, a := range s.Service.Forwards {
				for _, b := range s.Service.Forwards[:i] { // before the stack's own edges, which follow
					add(routed, device{s.In, a}, device{s.In, b}, s.Service.Name)
				}
			}
		}
	}
	for _, connect := range out {
		connect()
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
	return es
}

// port reads the arguments of ovs-vsctl(8): `add-port BRIDGE PORT`, and the type and local address
// of a tunnel.
func (e Exec) port(in string, holder map[netip.Addr]string) []edge {
	i := slices.Index(e.Argv, "add-port")
	if i < 0 || i+2 >= len(e.Argv) {
		return nil
	}
	port := device{in, e.Argv[i+2]}
	es := []edge{{device{in, e.Argv[i+1]}, port, ""}}
	kind := ""
	for _, a := range e.Argv[i+3:] {
		if k, ok := strings.CutPrefix(a, "type="); ok {
			kind = k
		}
		if local, ok := strings.CutPrefix(a, "options:local_ip="); ok {
			if addr, err := netip.ParseAddr(strings.Trim(local, `"`)); err == nil {
				es = append(es, edge{port, device{in, holder[addr]}, kind})
			}
		}
	}
	return es
}

// shortest returns the trace with the fewest devices, or the first one of several.
func shortest(es map[device][]edge, from, to device) []Hop {
	reached := map[device]Hop{from: {}} // by device, the one before it and how packets get from there
	for next := []device{from}; len(next) > 0; next = next[1:] {
		at := next[0]
		if at == to {
			return walk(reached, from, to)
		}
		for _, e := range es[at] {
			other := e.b
			if e.b == at {
				other = e.a
			}
			if _, seen := reached[other]; !seen && other.dev != "" {
				reached[other] = Hop{at.in, at.dev, e.by}
				next = append(next, other)
			}
		}
	}
	return nil
}

// walk follows reached back from to, and returns the hops in order.
func walk(reached map[device]Hop, from, to device) []Hop {
	hops := []Hop{}
	for at := to; at != from; {
		prev := reached[at]
		hops = append(hops, Hop{at.in, at.dev, prev.By})
		at = device{prev.In, prev.Dev}
	}
	hops = append(hops, Hop{In: from.in, Dev: from.dev})
	slices.Reverse(hops)
	return hops
}
