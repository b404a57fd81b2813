package plan

import (
	"slices"
	"strings"
)

// A Forwarding says that packets pass between any two of some devices. A network driver states it with the step
// that makes it so. What follows from a Link, a Set, a Move or a Service's Forwards needs no statement.
type Forwarding struct {
	By   string   // as in Hop
	Devs []string // in the place of the step, or "h1p1/eth0" in another one; "" is none
}

// A Hop is a device that packets pass, and how they get there.
type Hop struct {
	In, Dev string
	By      string // "" over a wire, inside a bridge, or within one device; otherwise "route", "vxlan", or the responsible daemon
}

// Trace returns the devices that packets pass between two ends as far as the plan states them:
// veths, bridges, tunnels and routers. Anything that a daemon sets up is one hop with its name.
// Trace returns nil if nothing connects the ends.
func (p Plan) Trace(from, to End) []Hop { return p.Tracer().Trace(from, to) }

// A Tracer traces many pairs of ends of one plan. It holds the forwardings that every device is part of.
type Tracer map[device][]forwarding

// A forwarding is a Forwarding of devices anywhere.
type forwarding struct {
	by   string
	devs []device
}

// Tracer reads all steps.
func (p Plan) Tracer() *Tracer {
	t := Tracer{}
	for _, s := range p.Steps {
		for _, f := range s.wires() {
			t.add(s.In, f, false)
		}
		for _, f := range s.Forwards {
			t.add(s.In, f, false)
		}
		if s.Service != nil { // instead of the IP stack
			t.add(s.In, Forwarding{s.Service.Name, s.Service.Forwards}, true)
		}
	}
	return &t
}

// wires returns what follows from the kind of step.
func (s Step) wires() []Forwarding {
	switch l := s.Link; {
	case l != nil:
		at := l.devices(s.In)
		dev := at[0].in + "/" + at[0].dev
		return []Forwarding{{Devs: []string{dev, l.PeerIn + "/" + l.Peer}}, {Devs: []string{dev, l.Master}}, {Devs: []string{dev, l.Parent}}}
	case s.Set != nil:
		return []Forwarding{{Devs: []string{s.Set.Dev, s.Set.Master}}}
	case s.Move != nil:
		return []Forwarding{{Devs: []string{s.Move.Dev, s.Move.To + "/" + s.Move.As}}}
	}
	return nil
}

// add adds what a step in the place in states. A trace prefers what is first.
func (t Tracer) add(in string, f Forwarding, first bool) {
	at := forwarding{by: f.By}
	for _, dev := range f.Devs {
		d := device{in, dev}
		if there, name, other := strings.Cut(dev, "/"); other {
			d = device{there, name}
		}
		if d.dev != "" {
			at.devs = append(at.devs, d)
		}
	}
	for _, d := range at.devs {
		n := len(t[d])
		if first {
			n = 0
		}
		t[d] = slices.Insert(t[d], n, at)
	}
}

// Trace is Plan.Trace: the path with the fewest devices, or the first one of several.
func (t *Tracer) Trace(from, to End) []Hop {
	start, end := device{from.Node, from.Dev}, device{to.Node, to.Dev}
	reached := map[device]Hop{start: {}} // by device, the one before it and how packets get from there
	for next := []device{start}; len(next) > 0; next = next[1:] {
		at := next[0]
		if at == end {
			return walk(reached, start, end)
		}
		for _, f := range (*t)[at] {
			for _, d := range f.devs {
				if _, seen := reached[d]; !seen {
					reached[d] = Hop{at.in, at.dev, f.by}
					next = append(next, d)
				}
			}
		}
	}
	return nil
}

// walk follows reached back to start, and returns the hops in order.
func walk(reached map[device]Hop, start, end device) []Hop {
	hops := []Hop{}
	for at := end; at != start; {
		prev := reached[at]
		hops = append(hops, Hop{at.in, at.dev, prev.By})
		at = device{prev.In, prev.Dev}
	}
	hops = append(hops, Hop{In: start.in, Dev: start.dev})
	slices.Reverse(hops)
	return hops
}
