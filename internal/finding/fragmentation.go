package finding

import (
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

const (
	// fragmented is the least number of fragments per packet with which devices no longer count datagrams.
	fragmented = 0.01
	// cutUp is the least number that counts: a packet that does not fit becomes two or more, and other programs of a node can send
	// large packets of their own.
	cutUp = 0.5
)

var fragmentation = Rule{
	ID:    "fragmentation",
	Title: "IP fragments packets on the path",
	Doc: "A network namespace made more than one fragment per two packets (FragCreates) although the study's datagrams fit the path's planned MTU: some device's MTU is smaller. " +
		"Each fragment passes the rest of the path by itself, and one lost fragment loses the packet. Datagrams larger than the planned MTU are fragmented at the sender by design, " +
		"and so can be those of a background load: such cells are left out, and those whose datagrams have an unknown size." + majority,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		all, headers := r.Evidence(), 20.0+8 // IPv4, UDP
		if overIPv6(last(r).Evidence) {
			headers = 40 + 8
		}
		most := float64(record.PathMTU.Of(r.Observed)) - headers
		if fits := r.Wire.Datagram > 0 && r.Wire.Datagram <= most; loaded(t) || last(r).Evidence.Protocol != "tcp" && !fits {
			return nil
		}
		nodes := slices.Sorted(maps.Keys(all[0].Evidence.Nodes))
		i := frequent(all, func(o analysis.Observed) int {
			best, most := -1, 0.0
			for i, node := range nodes {
				if n := both(o.Evidence.Nodes[node], "ip", "FragCreates"); n > most {
					best, most = i, n
				}
			}
			return best
		})
		if i < 0 {
			return nil
		}
		node, made := nodes[i], 0.0
		each, ok := analysis.Exceeds(all, cutUp, func(o analysis.Observed) (fragments, packets float64) {
			fragments = both(o.Evidence.Nodes[node], "ip", "FragCreates")
			made += fragments
			return fragments, entered(o.Evidence)
		})
		if !ok || made < leastLost {
			return nil
		}
		f := Finding{Severity: Warning, Place: node, Number: &Number{lang.T("fragments per packet"), "1", each},
			Text:   lang.T("%s fragments packets: %s fragments per packet that the sender's device counts", node, prose.Short(each.Center)),
			Remedy: lang.T("raise the MTU of the device, or lower that of the senders")}
		if hop, mtu, need, ok := tooSmall(last(r)); ok {
			f.Place = hop.In + " " + hop.Dev
			f.Text += lang.T("; the MTU of %s is %d, the path needs %.0f there", f.Place, mtu, need)
			f.Test = lessCPU(r, 0.95, raise(last(r))...)
		}
		return []Finding{f}
	}),
}

// raise returns the steps that give all devices of a trial's path the MTU that the plan needs.
func raise(o analysis.Observed) (fix []plan.Step) {
	for i, h := range o.Evidence.Path {
		d, known := deviceOf(o.Settings, h.In, h.Dev)
		if need, _ := planned(o, i); known && float64(d.MTU) < need {
			fix = append(fix, plan.Step{In: h.In, Set: &plan.Set{Dev: h.Dev, MTU: int(need)}})
		}
	}
	return fix
}
