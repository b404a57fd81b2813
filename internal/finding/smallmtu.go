package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
)

var smallMTUDrop = Rule{
	ID:    atMTU,
	Title: "Packets do not fit a device",
	Doc: "Packets are lost at a device whose MTU is smaller than the plan needs there and than packets of the path, and neither a queue nor a CPU's backlog dropped them. " +
		"A link layer cannot cut packets and reports nothing to the sender: is_skb_forwardable (net/core/dev.c) drops them. More than 0.2 % of packets, as for drop-on-path." + majority,
	lossy: lost(atMTU, func(_ *analysis.Table, r *analysis.Row, l *loss) Finding {
		d, _ := deviceOf(settings(r), l.hop.In, l.hop.Dev)
		return Finding{
			Text: lang.T("%s drops packets that do not fit its MTU of %d: %s of %s (%s); the path needs %.0f there",
				l.place, d.MTU, prose.Thousands(l.lost), prose.Thousands(l.of), prose.PercentWithin(l.Share), l.need),
			Remedy: lang.T("set the same MTU at both ends of the link"),
			Test:   &Test{Fix: []plan.Step{{In: l.hop.In, Set: &plan.Set{Dev: l.hop.Dev, MTU: int(l.need)}}}},
		}
	}),
}
