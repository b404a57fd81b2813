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
		"Netfilter's input hook lies between the two (ip_local_deliver, net/ipv4/ip_input.c) and counts nothing." + majority,
	lossy: lost(atInput, func(_ *analysis.Table, r *analysis.Row, l *loss) Finding {
		f := Finding{
			Text:   lang.T("%s of %s packets (%s) reached IP in %s and were not delivered: a filter there, not the path", prose.Thousands(l.lost), prose.Thousands(l.of), prose.PercentWithin(l.Share), l.place),
			Remedy: lang.T("look at the input hook's filters there: nft list ruleset"),
		}
		if fix := flush(settings(r), l.place); fix != nil {
			f.Test = &Test{Fix: fix}
		}
		return f
	}),
}
