package finding

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var unlikePlan = Rule{
	ID:    "unlike-plan",
	Title: "A setting is not as the plan leaves it",
	Doc: "A plan without programs leaves packet-filter rules, queueing disciplines, the largest packets and packet steering to the kernel, unless it states them; the rule reports one that something else changed. " +
		"An absolute rule: it must hold in more than half of the blocks, of at least three. Trials whose MTU, offloads, bridge-nf or masks differ from what the plan states do not count at all.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) (out []Finding) {
		s := settings(r)
		if s == nil {
			return nil
		}
		for _, node := range slices.Sorted(maps.Keys(s.Places)) {
			unlike := s.Places[node].Unlike
			for _, name := range slices.Sorted(maps.Keys(unlike)) {
				share, ok := analysis.Mostly(r.Evidence(), func(o analysis.Observed) bool {
					return o.Settings != nil && o.Settings.Places[node].Unlike[name] != [2]string{}
				})
				if !ok {
					continue
				}
				place, setting := node, name
				if dev, of, ok := strings.Cut(name, " "); ok {
					place, setting = node+" "+dev, of
				}
				out = append(out, Finding{Severity: Warning, Place: place, Number: &Number{lang.T("trials with it"), "1", share},
					Text:       lang.T("%s has %s %s where the plan leaves %s: something else changed it", place, setting, unlike[name][0], unlike[name][1]),
					Remedy:     lang.T("find the program that changed it, and measure without it"),
					Untestable: lang.T("a network that weir builds anew is as the plan leaves it")})
			}
		}
		return out
	}),
}
