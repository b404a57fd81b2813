package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// twice is the least share of datagrams arriving more than once that counts.
const twice = 0.005

var duplicates = Rule{
	ID:    "duplicates",
	Title: "Datagrams arrive more than once",
	Doc: "The receiver got more than 0.5 % of the datagrams again, by their sequence numbers. IP allows it, but no part of a sound network does it. " +
		"The device is named at which the path's count of packets of the same size grows by as many, within a third, and at no other one by half as many, in more than half of the trials." + majority + certainly,
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		share, ok := analysis.Exceeds(r.Evidence(), twice, func(o analysis.Observed) (part, whole float64) {
			if v, known := o.Get(record.Duplicated); known {
				return v.Value, 1
			}
			return 0, 0
		})
		if !ok || !clearly(share, twice) {
			return nil
		}
		f := Finding{Severity: Warning, Number: &Number{lang.T("datagrams that arrived again"), "1", share},
			Text:       lang.T("the receiver got %s of the datagrams more than once", prose.PercentWithin(share)),
			Remedy:     lang.T("look for a rule that copies packets, or for a second way: nft list ruleset, tc filter show, bridge fdb show"),
			Untestable: lang.T("no cause is known that a run could remove")}
		hop := frequent(r.Evidence(), grows)
		if _, most := analysis.Mostly(r.Evidence(), func(o analysis.Observed) bool { return hop > 0 && grows(o) == hop }); most {
			a, b := last(r).Evidence.Path[hop-1], last(r).Evidence.Path[hop]
			f.Place = b.In + " " + b.Dev
			f.Text += lang.T(": they first appear between %s %s and %s %s", a.In, a.Dev, b.In, b.Dev)
		}
		return []Finding{f}
	}),
}

// grows returns the hop of a trial's path that passed more packets than the one before, by as many as arrived again, within a
// third; -1 if there is none, or another one that passed half of that more: packets of others can have joined there.
func grows(o analysis.Observed) int {
	v, _ := o.Get(record.Duplicated)
	hop, at := -1, -1
	for i := 1; i < len(o.Evidence.Path); i++ {
		a, b := o.Evidence.Path[i-1].Data, o.Evidence.Path[i].Data
		more := (b.Packets - a.Packets) / v.Value
		if a.Packets == 0 || !sameSize(a.Size(), b.Size()) || more < a.Packets/2 {
			continue
		}
		if at >= 0 {
			return -1
		}
		if at = i; more >= a.Packets*3/4 && more <= a.Packets*4/3 {
			hop = i
		}
	}
	return hop
}
