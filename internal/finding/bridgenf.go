package finding

import (
	"maps"
	"reflect"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
)

var bridgeNF = Rule{
	ID:    "bridge-nf",
	Title: "Bridges pass packets to netfilter",
	Doc: "With net.bridge.bridge-nf-call-iptables, a bridge hands every packet to netfilter's hooks of IP (br_netfilter), rules or not. The rule needs the run's own contrast: the factor bridge-nf, or a baseline with the same devices, the setting off and no other setting that differs. " +
		"It reports the setting if the interval of the CPU time, on ÷ off in the same block, lies above 1.",
	Check: func(run *analysis.Run) (out []Finding) {
		var tables []analysis.Table
		if slices.ContainsFunc(run.Tables, func(t analysis.Table) bool { return t.Config["bridge-nf"] != "" }) {
			tables = run.Project(analysis.Projection{Row: "bridge-nf", Baseline: "off"})
		}
		for _, t := range tables {
			for i := range t.Rows {
				r := &t.Rows[i]
				if f, ok := netfilter(r); ok && r.Level == "on" {
					levels := maps.Clone(t.Levels)
					delete(levels, analysis.Network)
					levels["bridge-nf"] = r.Level
					f.Cells = []analysis.Cell{{Probe: t.Probe, Network: r.Network, Levels: levels}}
					f.Test.Levels = map[string]string{"bridge-nf": "off"}
					out = append(out, f)
				}
			}
		}
		for t, r := range run.Rows() {
			off := onlyHere(r)
			if f, ok := netfilter(r); ok && off != nil {
				f.Cells, f.Place, f.Test.Fix = []analysis.Cell{t.Cell(*r)}, off[0].In, off
				out = append(out, f)
			}
		}
		return out
	},
}

// netfilter returns the finding for a row whose baseline differs in the setting, if that has an effect.
func netfilter(r *analysis.Row) (Finding, bool) {
	cost := r.OwnAlone()
	if len(r.Evidence()) == 0 || !cost.Bounded() || cost.Lo <= 1 {
		return Finding{}, false
	}
	return Finding{Severity: Note, contrast: true, Number: &Number{lang.T("CPU time, on ÷ off"), "1", cost},
		Text:   lang.T("bridges pass packets to netfilter: that costs %s the CPU time %s%s", prose.Ratio(cost), perWork(r), prose.RatioInterval(cost)),
		Remedy: lang.T("without rules that need it, switch it off: sysctl net.bridge.bridge-nf-call-iptables=0"),
		Test:   &Test{Text: lang.T("Refuted if switching it off saves less than %s %% of the CPU time %s", prose.Short(100*(1-1/cost.Lo)), perWork(r)), Metric: r.Own.Name, Factor: 1 / cost.Lo}}, true
}

// onlyHere returns the steps that switch off what a row has on and its baseline off, if the devices of their
// paths are the same.
func onlyHere(r *analysis.Row) (off []plan.Step) {
	own, base := r.Evidence(), r.BaseEvidence()
	if !sameDevices(r) {
		return nil
	}
	a, b := own[len(own)-1], base[len(base)-1]
	if a.Settings == nil || b.Settings == nil || !sameBut(a.Settings, b.Settings, func(n *evidence.Node) { n.BridgeNF = nil }) {
		return nil
	}
	for _, node := range slices.Sorted(maps.Keys(a.Settings.Places)) {
		keys := a.Settings.Places[node].BridgeNF
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if keys[key] == "1" && b.Settings.Places[node].BridgeNF[key] == "0" {
				off = append(off, plan.Step{In: node, Sysctl: &plan.Sysctl{Key: key, Value: "0"}})
			}
		}
	}
	return off
}

// sameBut reports whether two settings are the same apart from some: what else differs can be why a network costs more.
func sameBut(a, b *evidence.Settings, without func(*evidence.Node)) bool {
	return maps.EqualFunc(a.Places, b.Places, func(x, y evidence.Node) bool {
		without(&x)
		without(&y)
		x.Tracked, y.Tracked = nil, nil
		return reflect.DeepEqual(x, y)
	})
}
