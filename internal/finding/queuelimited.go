package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// heldBack is the least share of a queue's packets that it held back to count as a limit.
const heldBack = 0.02

var queueLimited = Rule{
	ID:    "queue-limited",
	Title: "A queueing discipline limits the rate",
	Doc: "A queueing discipline that holds packets back to keep a rate counts an overlimit each time. More than 2 % of its packets mean that it is the limit: one that traffic reaches only in bursts counts fewer. " +
		"A link's rate that the study sets is left to link-limited." + majority,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		if r.Wire.Link > 0 {
			return nil
		}
		all := r.Evidence()
		hop := frequent(all, func(o analysis.Observed) int {
			best, most := -1, heldBack
			for i, h := range o.Evidence.Path {
				if q := h.Queue; h.Out && q != nil && h.Data.Packets > 0 && q.Overlimits/h.Data.Packets > most {
					best, most = i, q.Overlimits/h.Data.Packets
				}
			}
			return best
		})
		var times, dropped, packets float64
		var in, dev, kind string
		share, ok := analysis.Exceeds(all, heldBack, func(o analysis.Observed) (over, of float64) {
			if hop < 0 || hop >= len(o.Evidence.Path) || o.Evidence.Path[hop].Queue == nil {
				return 0, 0
			}
			h := o.Evidence.Path[hop]
			in, dev, kind = h.In, h.Dev, h.Queue.Kind
			times, dropped, packets = times+h.Queue.Overlimits, dropped+h.Queue.Drops, packets+h.Data.Packets+h.Queue.Drops
			return h.Queue.Overlimits, h.Data.Packets
		})
		if !ok || times < leastLost {
			return nil
		}
		f := Finding{Severity: Warning, Place: in + " " + dev,
			Text:     lang.T("a queueing discipline (%s) on %s %s limits the rate: it held packets back %s times and dropped %s of %s", kind, in, dev, prose.Thousands(times), prose.Thousands(dropped), prose.Thousands(packets)),
			Evidence: []lang.Text{lang.T("%s times per packet in %d blocks", prose.Short(share.Center), share.N)},
			Remedy:   lang.T("remove its limit, or compare CPU time instead"),
			Number:   &Number{Name: lang.T("times held back per packet"), Unit: "1", Value: share},
		}
		if t.Metric == record.Throughput {
			f.Test = &Test{Text: lang.T("Refuted if removing it adds less than 2 % throughput"), Metric: t.Metric, Factor: 1.02,
				Fix: []plan.Step{{In: in, Rate: &plan.Rate{Dev: dev}}}}
		}
		return []Finding{f}
	}),
}
