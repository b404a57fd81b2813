package condition

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A machine is what steps leave behind. A feature that no step has switched is on, except a veth's
// GRO.
type machine map[string]any

func (m machine) apply(steps []plan.Step) {
	mtu := func(in, dev string, n int) { m[in+" "+dev+" mtu"] = n }
	for _, s := range steps {
		switch {
		case s.Link != nil && s.Link.To != "":
			mtu(s.Link.To, s.Link.Name, s.Link.MTU)
		case s.Link != nil:
			mtu(s.In, s.Link.Name, s.Link.MTU)
			if s.Link.Peer != "" {
				mtu(s.Link.PeerIn, s.Link.Peer, s.Link.MTU)
			}
		case s.Set != nil:
			mtu(s.In, s.Set.Dev, s.Set.MTU)
		case s.Delay != nil:
			m[s.In+" "+s.Delay.Dev+" delay"] = *s.Delay
		case s.Rate != nil && s.Rate.Rate == 0:
			delete(m, s.In+" "+s.Rate.Dev+" rate")
		case s.Rate != nil:
			m[s.In+" "+s.Rate.Dev+" rate"] = *s.Rate
		case s.Offload != nil:
			for f, on := range s.Offload.Features {
				key, usual := s.In+" "+s.Offload.Dev+" "+f, f != "rx-gro" || s.Offload.Dev == "vx0"
				if on == usual {
					delete(m, key)
				} else {
					m[key] = on
				}
			}
		case s.Sysctl != nil:
			m[s.In+" "+s.Sysctl.Key] = *s.Sysctl
		default:
			m[s.String()] = true
		}
	}
}

// From every condition to every other: Do leaves what the changed plan builds, Undo the first
// state.
func TestDoAndUndo(t *testing.T) {
	conditions := []map[string]string{
		{},
		{"mtu": "2000"},
		{"link": "1gbit"},
		{"link": "1gbit", "mtu": "9000", "nic": "tso"},
		{"nic": "none"},
		{"offload": "off"},
		{"offload": "off", "nic": "tso", "link": "10mbit"},
		{"gro": "on"},
		{"gro": "off"},
		{"gro": "on", "offload": "off"},
		{"bridge-nf": "on"},
		{"bridge-nf": "off", "mtu": "2000"},
	}
	apart := []map[string]string{{"delay": "0", "jitter": "0"}, {"delay": "1ms", "jitter": "10us"}, {"delay": "1ms", "loss": "1%", "link": "1gbit"}}
	for _, d := range slices.Sorted(maps.Keys(drivers())) {
		for _, spec := range []topo.Spec{{Hosts: 1, Pods: 2}, {}, {Hosts: 3, Pods: 2, IPv6: true, PodsIPv6: true}, {Far: true}} {
			conditions := conditions
			if spec.Far {
				conditions = append(apart, conditions...)
			}
			for _, start := range conditions {
				base := topology(t, spec)
				for name, level := range start {
					var err error
					if base, err = Apply(name, level, base); err != nil {
						t.Fatal(err)
					}
				}
				from, err := network.Build(drivers()[d], base)
				if err != nil {
					continue // not a network for this topology
				}
				for _, levels := range conditions {
					tryChange(t, fmt.Sprintf("%s, %d hosts, from %v to %v", d, len(base.Hosts), start, levels), drivers()[d], base, from, levels)
				}
			}
		}
	}
}

func tryChange(t *testing.T, what string, d network.Driver, base topo.Topology, from plan.Plan, levels map[string]string) {
	t.Helper()
	c, err := Change(d, base, levels)
	if err != nil {
		if !strings.Contains(err.Error(), "cannot switch off") { // macvlan on one host
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	before, want, m := machine{}, machine{}, machine{}
	before.apply(from.Steps)
	want.apply(c.Plan.Steps)
	m.apply(from.Steps)
	m.apply(c.Do)
	if !reflect.DeepEqual(m, want) {
		t.Errorf("%s: Do leaves\n%v\nwant\n%v", what, m, want)
	}
	m.apply(c.Undo)
	if !reflect.DeepEqual(m, before) {
		t.Errorf("%s: Undo leaves\n%v\nwant\n%v", what, m, before)
	}
	if (len(c.Do) == 0) != reflect.DeepEqual(before, want) {
		t.Errorf("%s: %d steps", what, len(c.Do))
	}
}
