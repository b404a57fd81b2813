package finding

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
)

var unlikePeer = Rule{
	ID:    "unlike-peer",
	Title: "The two sides have different settings",
	Doc: "A path has the same devices on both sides, in mirrored order. A pair with one name whose MTU, offloads, largest packets, queueing discipline or packet steering differ is often a mistake. " +
		"By itself that has no effect that a run shows, so it is reported only next to a finding about the same cell at another place.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) (out []Finding) {
		s, path := settings(r), last(r).Evidence.Path
		for i := range len(path) / 2 {
			near, far := path[i], path[len(path)-1-i]
			a, known := deviceOf(s, near.In, near.Dev)
			b, too := deviceOf(s, far.In, far.Dev)
			if near.Dev != far.Dev || near.In == far.In || !known || !too {
				continue
			}
			said := func(name string) bool { // by unlike-plan, of one of them
				_, of := s.Places[near.In].Unlike[near.Dev+" "+name]
				_, other := s.Places[far.In].Unlike[far.Dev+" "+name]
				return of || other
			}
			if diff := differences(a, b, said); len(diff) > 0 {
				at := near
				if lesser(b, a) {
					at = far
				}
				out = append(out, Finding{Severity: Note, Place: at.In + " " + at.Dev,
					Text: lang.T("%s of %s and %s differ: %s", near.Dev, near.In, far.In, lang.Join(diff, lang.T(", ")))})
			}
		}
		return out
	}),
}

// differences lists the settings in which two devices differ, without those that are said elsewhere.
func differences(a, b evidence.Device, said func(name string) bool) (out []lang.Text) {
	add := func(name string, x, y any) {
		if !said(name) && fmt.Sprint(x) != fmt.Sprint(y) {
			out = append(out, lang.T("%s is %v and %v", name, x, y))
		}
	}
	add("mtu", a.MTU, b.MTU)
	add("gso_max_size", a.GSOMax, b.GSOMax)
	add("gso_max_segs", a.GSOSegs, b.GSOSegs)
	add("gro_max_size", a.GROMax, b.GROMax)
	add("qdisc", a.Qdisc, b.Qdisc)
	add("rps", steering(a.RPS), steering(b.RPS))
	for _, name := range slices.Sorted(maps.Keys(a.Features)) {
		if y, known := b.Features[name]; known && !sets(a, name) && !sets(b, name) {
			add(name, state(a.Features[name]), state(y))
		}
	}
	return out
}

// steering names the masks of a device's queues.
func steering(masks []string) string {
	if len(masks) == 0 {
		return "off"
	}
	return "mask " + strings.Join(masks, " ")
}

// sets reports whether the plan of the network sets a feature of a device.
func sets(d evidence.Device, feature string) bool {
	_, stated := d.Planned[feature]
	return stated
}

// lesser reports whether a can do less than b.
func lesser(a, b evidence.Device) bool {
	for name, on := range b.Features {
		if state, known := a.Features[name]; known && on && !state {
			return true
		}
	}
	return a.MTU < b.MTU || a.GSOMax < b.GSOMax
}

func state(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
