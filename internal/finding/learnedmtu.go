package finding

import (
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

var learnedMTU = Rule{
	ID:    "learned-mtu",
	Title: "A smaller path MTU was learned",
	Doc: "The kernel remembers for each destination the MTU that a router on the way reported (ip_rt_update_pmtu, net/ipv4/route.c), for 10 minutes unless net.ipv4.route.mtu_expires says otherwise. " +
		"One smaller than the plan's makes TCP's segments smaller and larger datagrams fragment, even after its cause is gone. An absolute rule: the plan states the MTU. " +
		"It must hold in more than half of the blocks, of at least three.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		plannedMTU, overhead := float64(record.PathMTU.Of(r.Observed)), float64(record.PathOverhead.Of(r.Observed))
		var at, to string
		var learned int
		share, ok := analysis.Mostly(r.Evidence(), func(o analysis.Observed) (smaller bool) {
			if o.Settings == nil {
				return false
			}
			for _, node := range slices.Sorted(maps.Keys(o.Settings.Places)) {
				expect := plannedMTU // of the ends; hosts see outer packets
				if node != o.Evidence.Sender.Node && node != o.Evidence.Receiver.Node {
					expect += overhead
				}
				for _, far := range slices.Sorted(maps.Keys(o.Settings.Places[node].PathMTU)) {
					if v := o.Settings.Places[node].PathMTU[far]; float64(v) < expect {
						at, to, learned, smaller = node, far, v, true
					}
				}
			}
			return smaller
		})
		if !ok {
			return nil
		}
		f := Finding{Severity: Warning, Place: at, Number: &Number{lang.T("trials with a smaller path MTU"), "1", share},
			Text:   lang.T("%s learned a path MTU of %d to %s: smaller than the plan's %.0f", at, learned, to, plannedMTU),
			Remedy: lang.T("find the device with the small MTU, then forget the MTU that was learned: ip route flush cache")}
		if hop, mtu, need, ok := tooSmall(last(r)); ok {
			f.Place = hop.In + " " + hop.Dev
			f.Text += lang.T("; the MTU of %s is %d, the path needs %.0f there", f.Place, mtu, need)
			f.Test = lessCPU(r, 0.98, raise(last(r))...)
		}
		return []Finding{f}
	}),
}
