package finding

import (
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

// many is the number of packet-filter rules from which they are reported.
const many = 100

var manyRules = Rule{
	ID:    "many-rules",
	Title: "A node has many packet-filter rules",
	Doc: "Packet filters try the rules of a chain one by one for every packet, so the cost grows with their number. An absolute rule: 100 rules or more in a network namespace of the path, in more than half of the blocks, of at least three. " +
		"It does not say what they cost, which depends on the rules and the CPU: its test measures that.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		s := settings(r)
		if s == nil {
			return nil
		}
		at, most := "", 0
		for _, node := range slices.Sorted(maps.Keys(s.Places)) {
			if n := s.Places[node].Rules; n != nil && *n > most {
				at, most = node, *n
			}
		}
		rules, ok := analysis.Exceeds(r.Evidence(), many-0.5, func(o analysis.Observed) (n, trials float64) {
			if o.Settings == nil || o.Settings.Places[at].Rules == nil {
				return 0, 0
			}
			return float64(*o.Settings.Places[at].Rules), 1
		})
		if !ok {
			return nil
		}
		return []Finding{{Severity: Note, Place: at, Number: &Number{lang.T("packet-filter rules"), "1", rules},
			Text:   lang.T("%s has %s packet-filter rules: packets that pass it try those of their chains one by one", at, prose.Thousands(rules.Center)),
			Remedy: lang.T("use sets or maps instead of lists of rules"),
			Test:   lessCPU(r, 0.98, flush(s, at)...)}}
	}),
}
