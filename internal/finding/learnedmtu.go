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
	Title: "The MTU toward the other end is smaller than planned",
	Doc: "The kernel remembers for each destination the MTU that a router on the way reported (ip_rt_update_pmtu, net/ipv4/route.c), for 10 minutes unless net.ipv4.route.mtu_expires says otherwise. " +
		"One smaller than the plan's makes TCP's segments smaller and larger datagrams fragment, even after its cause is gone. What it learned expires; an MTU without an end was stated on the route. An absolute rule: the plan states the MTU. " +
		"It must hold in more than half of the blocks, of at least three.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		inner, overhead := float64(record.PathMTU.Of(r.Observed)), float64(record.PathOverhead.Of(r.Observed))
		var at, to string
		var mtu int
		var least float64
		var stated bool
		share, ok := analysis.Mostly(r.Evidence(), func(o analysis.Observed) (smaller bool) {
			if o.Settings == nil {
				return false
			}
			for _, node := range slices.Sorted(maps.Keys(o.Settings.Places)) {
				expect := inner // of the ends; hosts see outer packets
				if node != o.Evidence.Sender.Node && node != o.Evidence.Receiver.Node {
					expect += overhead
				}
				place := o.Settings.Places[node]
				for _, all := range []map[string]int{place.PathMTU, place.RouteMTU} {
					for _, far := range slices.Sorted(maps.Keys(all)) {
						if v := all[far]; float64(v) < expect {
							at, to, mtu, least, smaller = node, far, v, expect, true
							_, learned := place.PathMTU[far]
							stated = !learned
						}
					}
				}
			}
			return smaller
		})
		if !ok {
			return nil
		}
		f := Finding{Severity: Warning, Place: at, Number: &Number{lang.T("trials with a smaller path MTU"), "1", share}}
		if stated {
			f.Text = lang.T("the route of %s to %s states an MTU of %d: smaller than the plan's %.0f", at, to, mtu, least)
			f.Remedy = lang.T("take the MTU from the route: ip route show, ip route replace")
			f.Untestable = lang.T("weir cannot know which route was meant")
			return []Finding{f}
		}
		f.Text = lang.T("%s learned a path MTU of %d to %s: smaller than the plan's %.0f", at, mtu, to, least)
		f.Remedy = lang.T("find the device with the small MTU, then forget the MTU that was learned: ip route flush cache")
		if hop, small, need, ok := tooSmall(last(r)); ok {
			f.Place = hop.In + " " + hop.Dev
			f.Text += lang.T("; the MTU of %s is %d, the path needs %.0f there", f.Place, small, need)
			f.Test = lessCPU(r, 0.98, raise(last(r))...)
		}
		return []Finding{f}
	}),
}
