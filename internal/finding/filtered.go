package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

var filteredAtInput = Rule{
	ID:    atInput,
	Title: "Packets reach IP and are not delivered",
	Doc: "More than 0.2 % of packets that IP received in the receiver's network namespace (InReceives) and did not deliver (InDelivers), without fragments that await others and packets that were forwarded. " +
		"Netfilter's input hook lies between the two (ip_local_deliver, net/ipv4/ip_input.c) and counts nothing. What IP itself refuses before that hook is counted, and told apart: wrong headers (InHdrErrors), sources whose route leads to another device (IPReversePathFilter), and addresses that the node does not have (InAddrErrors, InNoRoutes)." + majority,
	lossy: lost(atInput, func(_ *analysis.Table, r *analysis.Row, l *loss) Finding {
		f := Finding{
			Text:   lang.T("%s of %s packets (%s) reached IP in %s and were not delivered: a filter there, not the path", prose.Thousands(l.lost), prose.Thousands(l.of), prose.PercentWithin(l.Share), l.place),
			Remedy: lang.T("look at the input hook's filters there: nft list ruleset"),
		}
		if l.verb != "" {
			f.Text = lang.T("%s of %s packets (%s) reached IP in %s %s, and were dropped there", prose.Thousands(l.lost), prose.Thousands(l.of), prose.PercentWithin(l.Share), l.place, l.verb)
			f.Remedy = lang.T("look for what changes the packets on the way, and at the routes and addresses there: nft list ruleset, ip route show, ip addr")
			f.Untestable = lang.T("weir cannot know who is wrong, the packets or the node")
			return f
		}
		if fix := flush(settings(r), l.place); fix != nil {
			f.Test = &Test{Fix: fix}
		}
		return f
	}),
}
