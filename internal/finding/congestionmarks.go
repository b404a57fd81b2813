package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

// marked is the least share of packets with a mark of congestion that counts: TCP halves its window for one mark in a round trip.
const marked = 0.001

var congestionMarks = Rule{
	ID:    "congestion-marks",
	Title: "Packets are marked as having met congestion",
	Doc: "More than 0.1 % of TCP's packets reached the receiver's IP with the mark CE (InCEPkts in /proc/net/netstat; RFC 3168), which a queue or a filter on the way set: the sender sends less, as after a loss, although nothing was lost. " +
		"Only packets whose sender uses ECN count: the others' marks have no effect. They must be most of the packets, because the counters are of all programs there. No counter says who marked them." + majority + certainly,
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		used, all := 0.0, 0.0
		share, ok := analysis.ShareExceeds(r.Evidence(), marked, func(o analysis.Observed) (part, whole float64) {
			if o.Evidence.Protocol != "tcp" {
				return 0, 0
			}
			in := func(name string) float64 {
				c := o.Evidence.Nodes[o.Evidence.Receiver.Node]
				return c["netstat."+name] + c["ip6."+name]
			}
			ce, capable := in("InCEPkts"), in("InECT0Pkts")+in("InECT1Pkts")
			used, all = used+capable, all+ce+capable+in("InNoECTPkts")
			return ce, ce + capable
		})
		if !ok || used < all/2 || !clearly(share, marked) {
			return nil
		}
		return []Finding{{Severity: Warning, Number: &Number{lang.T("packets marked as having met congestion"), "1", share},
			Text:       lang.T("%s of the packets reached %s marked as having met congestion (ECN), and TCP sends less for a mark, as for a loss", prose.PercentWithin(share), last(r).Evidence.Receiver.Node),
			Remedy:     lang.T("look for a queue that is full and marks (tc -s qdisc, ecn_mark), and for a rule that sets ECN (nft list ruleset)"),
			Untestable: lang.T("weir cannot know who marked them")}}
	}),
}
