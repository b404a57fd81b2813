package network_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Every step, end and expectation refers to an existing place, and to a device made earlier.
func TestPlansAreSound(t *testing.T) {
	whole(t, func(name string, p plan.Plan, tp topo.Topology) {
		made, moved := map[string]bool{}, map[string]bool{}
		places := network.Places(tp)
		for _, in := range places {
			made[in+" lo"] = true
		}
		need := func(what any, in, dev string) {
			if !slices.Contains(places, in) || !made[in+" "+dev] {
				t.Errorf("%s: %v: no device %q in %q", name, what, dev, in)
			}
		}
		makes := func(s plan.Step, devs []string) {
			for _, dev := range devs {
				in := s.In
				if there, d, ok := strings.Cut(dev, "/"); ok {
					in, dev = there, d
				}
				if made[in+" "+dev] || !slices.Contains(places, in) || len(dev) > 15 {
					t.Errorf("%s: %v: cannot make %q in %q", name, s, dev, in)
				}
				made[in+" "+dev] = true
			}
		}
		for i, s := range p.Steps {
			if n := fields(s); n != 1 {
				t.Errorf("%s: %v sets %d fields, want 1", name, s, n)
			}
			switch {
			case s.Link != nil:
				l := s.Link
				at := [][2]string{{s.In, l.Name}}
				if l.Master != "" {
					need(s, s.In, l.Master)
				}
				if l.Parent != "" {
					need(s, s.In, l.Parent)
				}
				if l.To != "" {
					at = [][2]string{{l.To, l.Name}}
				}
				if l.Peer != "" {
					at = append(at, [2]string{l.PeerIn, l.Peer})
				}
				for _, d := range at {
					in, dev := d[0], d[1]
					if made[in+" "+dev] || !slices.Contains(places, in) || len(dev) > 15 {
						t.Errorf("%s: %v: cannot make %q in %q", name, s, dev, in)
					}
					made[in+" "+dev] = true
				}
			case s.Addr != nil:
				need(s, s.In, s.Addr.Dev)
			case s.Proxy != nil:
				need(s, s.In, s.Proxy.Dev)
			case s.FDB != nil:
				need(s, s.In, s.FDB.Dev)
			case s.Route != nil && s.Route.Dev != "":
				need(s, s.In, s.Route.Dev)
			case s.Offload != nil:
				need(s, s.In, s.Offload.Dev)
			case s.Rate != nil:
				need(s, s.In, s.Rate.Dev)
			case s.Delay != nil:
				need(s, s.In, s.Delay.Dev)
			case s.Set != nil:
				need(s, s.In, s.Set.Dev)
			case s.Exec != nil:
				makes(s, s.Exec.Makes)
			case s.Service != nil:
				makes(s, s.Service.Makes)
			case s.Adopt != nil:
				// Adopting would discard anything made in the pod before.
				if slices.ContainsFunc(p.Steps[:i], func(b plan.Step) bool { return b.In == s.Adopt.Pod && b.Sysctl == nil }) {
					t.Errorf("%s: %v: the pod is in use already", name, s)
				}
				makes(plan.Step{In: s.Adopt.Pod}, s.Adopt.Makes)
			case s.Guest != nil:
				makes(s, s.Guest.Makes)
				need(s, s.Guest.Host, "lo")
			case s.Move != nil:
				need(s, s.In, s.Move.Dev)
				delete(made, s.In+" "+s.Move.Dev)
				moved[s.In+" "+s.Move.Dev] = true
				if to := s.Move.To + " " + s.Move.As; made[to] || !slices.Contains(places, s.Move.To) {
					t.Errorf("%s: %v: cannot move to %q", name, s, to)
				} else {
					made[to] = true
				}
			}
		}
		for _, s := range p.Steps {
			for _, f := range s.Forwards {
				for _, dev := range f.Devs {
					in, name, other := strings.Cut(dev, "/")
					if !other {
						in, name = s.In, dev
					}
					if name != "" && !moved[in+" "+name] && !strings.HasPrefix(name, "tun-") { // Open vSwitch's tunnels are no devices
						need(s, in, name)
					}
				}
			}
		}
		for _, e := range p.Ends {
			need(e, e.Node, e.Dev)
			if !slices.Contains(places, e.Host) {
				t.Errorf("%s: %v: no host %q", name, e, e.Host)
			}
		}
		for _, e := range p.Expect {
			if e.Dev == "" {
				need(e, e.In, "lo")
			} else {
				need(e, e.In, e.Dev)
			}
		}
	})
}

// fields counts the pointers that a step sets.
func fields(s plan.Step) int {
	n := 0
	for _, set := range []bool{s.Link != nil, s.Set != nil, s.Addr != nil, s.Route != nil, s.Rule != nil, s.Proxy != nil, s.FDB != nil, s.Sysctl != nil, s.Offload != nil, s.Rate != nil, s.Delay != nil,
		s.Move != nil, s.File != nil, s.Exec != nil, s.Service != nil, s.Await != nil, s.Adopt != nil, s.Guest != nil, s.Inside != nil} {
		if set {
			n++
		}
	}
	return n
}
