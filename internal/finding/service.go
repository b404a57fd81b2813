package finding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/unit"
)

const (
	// perPacket is the least CPU time per packet of a program that carries packets, s.
	perPacket = 0.3e-6
	// working is the least share of a CPU that such a program uses: daemons use some when nothing happens.
	working = 0.02
)

var serviceInPath = Rule{
	ID:    "service-in-path",
	Title: "A program carries the packets",
	Doc: "A service of the network used 0.3 µs of CPU time or more per packet, and 2 % of a CPU: packets pass it in user space. A daemon that only manages a network uses less at any packet rate; a relay takes 3 µs. " +
		"More than half of the blocks, of at least three, must show it.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) (out []Finding) {
		all := r.Evidence()
		for _, name := range services(all[len(all)-1]) {
			cores := func(o analysis.Observed) float64 { v, _ := o.Get(name); return v.Value }
			each, costly := analysis.Exceeds(all, perPacket, func(o analysis.Observed) (float64, float64) { return cores(o), packetRate(o) })
			share, works := analysis.Exceeds(all, working, func(o analysis.Observed) (float64, float64) { return cores(o), 1 })
			if !costly || !works {
				continue
			}
			short := name[strings.LastIndexByte(name, '.')+1:]
			f := Finding{Severity: Note, Number: &Number{short + "'s CPU time per packet", "s/packet", each},
				Text:     fmt.Sprintf("%s carries the packets in user space: %s of CPU time per packet", short, unit.Format(each.Center, "s")),
				Evidence: []string{fmt.Sprintf("%s: %s of a CPU, median of %d blocks", name, percent(share), share.N)}}
			if node, ok := strings.CutPrefix(name, "thread."); ok {
				f.Place, _, _ = strings.Cut(node, ".")
			}
			out = append(out, f)
		}
		return out
	}),
}

// notServices are the values cpu.NAME that are not the CPU time of a service (package trial).
var notServices = []string{"user", "system", "softirq", "irq", "steal", "guest", "busy", "used", "accounted", "frequency", "weir", "own", "wait", "per", "idle-baseline"}

// services names the values of a trial that hold the CPU time of services.
func services(o analysis.Observed) (names []string) {
	relays := false
	for _, v := range o.Values {
		name, ok := strings.CutPrefix(v.Name, "cpu.")
		first, _, _ := strings.Cut(name, ".")
		switch {
		case strings.Contains(v.Name, "/") || v.Unit != "core":
		case ok && !slices.Contains(notServices, first):
			names = append(names, v.Name)
			relays = relays || strings.HasPrefix(name, "weir-relay")
		}
	}
	if relays {
		return names
	}
	for _, v := range o.Values {
		if strings.HasPrefix(v.Name, "thread.") && strings.Contains(v.Name, ".weir-relay") {
			names = append(names, v.Name)
		}
	}
	return names
}

// packetRate returns the packets per second that a trial's data took.
func packetRate(o analysis.Observed) float64 {
	if v, ok := o.Get("packet.rate"); ok {
		return v.Value
	}
	if v, ok := o.Get("transactions"); ok {
		return 2 * v.Value
	}
	if o.Evidence.Seconds <= 0 {
		return 0
	}
	return entered(o.Evidence) / o.Evidence.Seconds
}
