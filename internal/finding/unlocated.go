package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// unknownPart is the share of a loss that counters must leave open to be reported.
const unknownPart = 0.5

var unlocated = Rule{
	ID:    "loss-not-located",
	Title: "Packets are lost, and no counter says where",
	Doc: "More than 0.2 % of the packets or requests, the whole interval, and at least half of those lost, are lost at no step of the path that counters show: other traffic shares the devices, packets were cut or joined, or nothing counts them. " +
		"The loss that a study puts between hosts is left out.",
	lossy: func(_ *analysis.Table, r *analysis.Row, lost losses) []Finding {
		if _, search := r.Get(record.Capacity); search { // which goes on until the loss is what the study allows
			return nil
		}
		if record.PathLoss.In(r.Observed) || r.Lost.N == 0 || !clearly(r.Lost, missingLoss) {
			return nil
		}
		share, ok := analysis.ShareExceeds(r.Evidence(), missingLoss, func(o analysis.Observed) (part, whole float64) {
			v, known := o.Get(record.Loss)
			if !known || inFragments(o.Evidence) {
				return 0, 0
			}
			whole = entered(o.Evidence)
			if n, asks := o.Get(record.Requests); asks { // a lookup of two packets is lost with one of them
				whole = min(whole, n.Value)
			}
			part = v.Value*whole - lost.loose[o.Trial]
			for _, g := range lost.gaps[o.Trial] {
				part -= g.lost
			}
			return max(0, part), whole
		})
		if !ok || !clearly(share, missingLoss) || share.Center < unknownPart*r.Lost.Center {
			return nil
		}
		return []Finding{{Severity: Warning, Number: &Number{Name: lang.T("lost"), Unit: "1", Value: share},
			Text:       lang.T("%s of what was sent was lost, and no counter that weir reads says where", prose.PercentWithin(share)),
			Remedy:     lang.T("look for it with weir trace, which follows single packets"),
			Untestable: lang.T("no cause is known that a run could remove")}}
	},
}
