package finding

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
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
		// A setting of several devices is one fact, of the network namespaces of all.
		type change struct{ name, is, usual string }
		places, shares := map[change][]string{}, map[change]stat.Interval{}
		var changes []change
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
				c := change{setting, unlike[name][0], unlike[name][1]}
				if places[c] == nil {
					changes, shares[c] = append(changes, c), share
				}
				places[c] = append(places[c], place)
			}
		}
		for _, c := range changes {
			at := places[c]
			out = append(out, Finding{Severity: Warning, Place: at[0], Subject: lang.Text(c.name + " " + c.is), Number: &Number{lang.T("trials with it"), "1", shares[c]},
				Text:       lang.T("%s where the plan leaves %s: something else changed it", lang.T("%s: %s", strings.Join(at, ", "), setting(c.name, c.is)), setting(c.name, c.usual)),
				Remedy:     lang.T("find the program that changed it, and measure without it"),
				Untestable: lang.T("a network that weir builds anew is as the plan leaves it")})
		}
		return out
	}),
}

// setting says what a setting is in words.
func setting(name, value string) lang.Text {
	off := value == "" || value == "off" || value == "0"
	switch {
	case name == "rules" && off:
		return lang.T("no packet-filter rules")
	case name == "rules" && value == "1":
		return lang.T("1 packet-filter rule")
	case name == "rules":
		return lang.T("%s packet-filter rules", value)
	case name == "rps" && off:
		return lang.T("packet steering (RPS) off")
	case name == "rps":
		return lang.T("packet steering (RPS) to the CPUs of mask %s", value)
	case name == "xps" && off:
		return lang.T("transmit steering (XPS) off")
	case name == "xps":
		return lang.T("transmit steering (XPS) to the queues of mask %s", value)
	case name == "qdisc":
		return lang.T("queueing discipline %s", value)
	}
	return lang.T("%s %s", name, value)
}
