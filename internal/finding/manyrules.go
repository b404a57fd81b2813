package finding

import (
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

const (
	// many is the number of packet-filter rules from which they are reported.
	many = 100
	// oneRule is the least CPU time that a packet filter takes for a rule, s: a call, a load and a comparison of nft_do_chain
	// (net/netfilter/nf_tables_core.c), where a rule of a planted list took 13 ns. A smaller increase has another cause.
	oneRule = 1e-9
)

// packetsPer returns the least number of packets that a unit of the work of a CPU cost makes.
func packetsPer(r *analysis.Row) float64 {
	if r.Own.Name == record.CPUOwnPerBit {
		const largest = 8 * 65536 // bit that the filter sees as one packet
		return 1.0 / largest
	}
	return 1
}

var manyRules = Rule{
	ID:    "many-rules",
	Title: "Packet-filter rules cost CPU time",
	Doc: "Packet filters try the rules of a chain one by one. What that costs depends on the rules: many are in chains that the packets never meet, or behind one that accepts them, and those of NAT are tried by the first packet of a connection only, so they do not count. So the rule needs the run's own contrast: a baseline with the same devices, no other setting that differs and at least 100 such rules fewer in a network namespace of the path, " +
		"and a CPU time, or a time of the path, whose interval, with the rules ÷ without in the same block, lies above 1 and which has grown by a nanosecond a rule at least. The rules must be there in more than half of the blocks, of at least three.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		own, base := settings(r), settingsOf(r.BaseEvidence())
		cost, path := r.OwnAlone(), r.Path
		costs, slows := cost.Bounded() && cost.Lo > 1, path.Bounded() && path.Lo > 1
		if own == nil || base == nil || !sameDevices(r) || !sameBut(own, base, func(n *evidence.Node) { n.Rules, n.PacketRules, n.Unlike = nil, nil, nil }) || !costs && !slows {
			return nil
		}
		at, extra := "", 0
		for _, node := range slices.Sorted(maps.Keys(own.Places)) {
			n, was := own.Places[node].PacketRules, base.Places[node].PacketRules
			if n != nil && was != nil && *n-*was > extra {
				at, extra = node, *n-*was
			}
		}
		rules, ok := analysis.Exceeds(r.Evidence(), many-0.5, func(o analysis.Observed) (n, trials float64) {
			if o.Settings == nil || o.Settings.Places[at].PacketRules == nil {
				return 0, 0
			}
			return float64(*o.Settings.Places[at].PacketRules), 1
		})
		least := oneRule * float64(extra)
		took, _ := r.Get(record.RTTPath)
		costs = costs && r.Own.Value.Center*(1-1/cost.Lo) >= least*packetsPer(r)
		slows = slows && took.Median*(1-1/path.Lo) >= least
		if !ok || extra < many || !costs && !slows {
			return nil
		}
		f := Finding{Severity: Note, Place: at, contrast: true, Remedy: lang.T("use sets or maps instead of lists of rules"), Test: lessCPU(r, 0.98, flush(own, at)...)}
		if costs {
			f.Number = &Number{lang.T("CPU time, with the rules ÷ without"), "1", cost}
			f.Text = lang.T("%s has %s packet-filter rules, and with them packets take %s the CPU time %s%s", at, prose.Thousands(rules.Center), prose.Ratio(cost), perWork(r), prose.RatioInterval(cost))
		} else {
			f.Number = &Number{lang.T("time of the path, with the rules ÷ without"), "1", path}
			f.Text = lang.T("%s has %s packet-filter rules, and with them the path takes %s the time%s", at, prose.Thousands(rules.Center), prose.Ratio(path), prose.RatioInterval(path))
		}
		return []Finding{f}
	}),
}

// sameDevices reports whether the last trials of a row and of its baseline passed the same devices.
func sameDevices(r *analysis.Row) bool {
	own, base := r.Evidence(), r.BaseEvidence()
	if len(own) == 0 || len(base) == 0 {
		return false
	}
	return slices.EqualFunc(own[len(own)-1].Evidence.Path, base[len(base)-1].Evidence.Path, func(x, y evidence.Hop) bool { return x.In == y.In && x.Dev == y.Dev })
}
