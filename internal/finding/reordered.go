package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// overtaken is the least share of datagrams that others overtook to count.
const overtaken = 0.005

var reordered = Rule{
	ID:    "reordered",
	Title: "Datagrams overtake each other",
	Doc: "More than 0.5 % of the datagrams that arrived had a lower sequence number than one before them (RFC 4737, section 3): parts of the traffic take another way, or wait in another queue. Counters of devices do not see that, so no place is known. " +
		"A network that keeps to one path and one CPU reorders nothing." + majority + certainly,
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		share, ok := analysis.ShareExceeds(r.Evidence(), overtaken, func(o analysis.Observed) (part, whole float64) {
			v, known := o.Get(record.Reordered)
			if !known {
				return 0, 0
			}
			return v.Value, 1
		})
		if !ok || !clearly(share, overtaken) {
			return nil
		}
		return []Finding{{Severity: Note, Number: &Number{lang.T("datagrams that others overtook"), "1", share},
			Text:       lang.T("%s of the datagrams arrived after later ones, and no counter says where they were overtaken", prose.PercentWithin(share)),
			Remedy:     lang.T("look for a second way through the network, or for packets that several CPUs process"),
			Untestable: lang.T("no cause is known that a run could remove")}}
	}),
}
