package finding

import (
	"slices"

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
		"Only packets whose sender uses ECN count: the others' marks have no effect. They must be most of the packets, because the counters are of all programs there. " +
		"Where hardly a packet is without a mark, the counters cannot tell: then both ends must ask for ECN (net.ipv4.tcp_ecn), and the congestion window end below the 10 segments with which a connection begins. No counter says who marked them." + majority + certainly,
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		used, ce, all := 0.0, 0.0, 0.0
		share, ok := analysis.ShareExceeds(r.Evidence(), marked, func(o analysis.Observed) (part, whole float64) {
			if o.Evidence.Protocol != "tcp" {
				return 0, 0
			}
			in := func(name string) float64 {
				c := o.Evidence.Nodes[o.Evidence.Receiver.Node]
				return c["netstat."+name] + c["ip6."+name]
			}
			met, capable := in("InCEPkts"), in("InECT0Pkts")+in("InECT1Pkts")
			used, ce, all = used+capable, ce+met, all+met+capable+in("InNoECTPkts")
			return met, met + capable
		})
		if !ok || used < all/2 && (ce < all/2 || !reduced(r)) || !clearly(share, marked) {
			return nil
		}
		return []Finding{{Severity: Warning, Number: &Number{lang.T("packets marked as having met congestion"), "1", share},
			Text:       lang.T("%s of the packets reached %s marked as having met congestion (ECN), and TCP sends less for a mark, as for a loss", prose.PercentWithin(share), last(r).Evidence.Receiver.Node),
			Remedy:     lang.T("look for a queue that is full and marks (tc -s qdisc, ecn_mark), and for a rule that sets ECN (nft list ruleset)"),
			Untestable: lang.T("weir cannot know who marked them")}}
	}),
}

// reduced reports whether TCP uses ECN and its congestion window ended smaller than it began: the ends of a row both ask for ECN, as 1, 3
// and 4 do (tcp_ecn in Documentation/networking/ip-sysctl.rst).
func reduced(r *analysis.Row) bool {
	s, e := settings(r), last(r).Evidence
	if s == nil {
		return false
	}
	asks := func(node string) bool {
		return slices.Contains([]string{"1", "3", "4"}, s.Places[node].Sysctl["net.ipv4.tcp_ecn"])
	}
	window := congestion(r.Evidence())
	return asks(e.Sender.Node) && asks(e.Receiver.Node) && window > 0 && window < initialWindow
}
