package section

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// agreements are the quantities that several tools measure.
func (s source) agreements() []analysis.Agreement {
	measures := map[string]string{}
	for probe, t := range s.Words {
		measures[probe] = t.Measures
	}
	return s.p.Agreements(measures)
}

// toolsAgree tells about which costs of a network the tools agree, if most probes measure what another one does, and what
// those say that do not.
func (s source) toolsAgree() (out []string) {
	all, tables := s.agreements(), 0
	var agree, not, how doc.Groups[string, string] // by network
	for _, a := range all {
		tables += len(a.Tables)
		for _, c := range a.Ratios {
			if len(c.Clusters) == 1 {
				agree.Add(c.Network, toolQuantity(a))
				continue
			}
			not.Add(c.Network, toolQuantity(a))
			how.Add(c.Network, say("%s.", prose.Capital(clusters(c, say("%s, %s ÷ %s", toolQuantity(a), c.Network, s.p.Baseline), timesText))))
		}
	}
	if 2*tables <= len(s.p.Tables) {
		return nil
	}
	for _, n := range s.p.Networks {
		yes, no := prose.And(agree.Of[n]), prose.And(not.Of[n])
		switch {
		case yes == "" && no == "":
		case no == "":
			out = append(out, say("The tools agree about what %s costs: %s.", s.Noun(n), yes))
		case yes == "":
			out = append(out, say("The tools disagree about what %s costs: %s.", s.Noun(n), no))
		default:
			out = append(out, say("The tools agree about what %s costs in %s, and disagree in %s.", s.Noun(n), yes, no))
		}
		out = append(out, how.Of[n]...)
	}
	return out
}

// toolQuantity is what several tools measure.
func toolQuantity(a analysis.Agreement) string {
	s := word(a.Measures)
	if a.Datagram != "" {
		s += say(", datagrams of %s bytes", a.Datagram)
	}
	return prose.Comma(s, prose.Levels(a.Levels))
}

func timesText(v float64) string { return prose.Fixed(v, 3) + "×" }

// toolSection compares tools that measure the same quantity.
func toolSection(s source) []doc.Section {
	x := doc.Section{ID: "tools", Title: say("Tools side by side"),
		About: say("These probes measure the same quantity with different programs. They agree where their intervals overlap.")}
	for _, a := range s.agreements() {
		id := "tools " + a.Measures + " " + a.Datagram + " " + prose.Levels(a.Levels)
		part := doc.Section{ID: id, Title: toolTitle(a), Tables: []doc.Table{doc.Tabulate(id+" table", toolColumns(a, s.p)...)}, Notes: agreement(a, s.p.Baseline)}
		var why []string
		for _, t := range a.Tables {
			if d := s.Words[t.Probe].Differs; d != "" {
				why = append(why, say("%s: %s", t.Probe, word(d)))
			}
		}
		if why != nil {
			part.Parts = []doc.Section{{ID: id + " why", Title: say("why they can differ"), Notes: why, Fold: true}}
		}
		x.Parts = append(x.Parts, part)
	}
	if x.Parts == nil {
		return nil
	}
	return []doc.Section{x}
}

func toolTitle(a analysis.Agreement) string {
	s := say("%s by several tools", word(a.Measures))
	if a.Datagram != "" {
		s += say(", datagrams of %s bytes", a.Datagram)
	}
	return say("%s: %s", prose.Comma(s, prose.Levels(a.Levels)), Better(a.Tables[0].Metric, a.Unit))
}

// toolColumns shows the value of every network, and its ratio unless it is the baseline.
func toolColumns(a analysis.Agreement, p *analysis.Run) []doc.Filled {
	out := []doc.Filled{doc.Names("tool", a.Tables, func(t analysis.Table) string { return t.Probe })}
	for _, n := range p.Networks {
		var rows []analysis.Row
		for _, t := range a.Tables {
			r, _ := t.Row(n) // a row without trials has no number
			rows = append(rows, r)
		}
		value := doc.Numbers(n, a.Unit, 9, rows, median)
		value.Head, value.Kind, value.Network = n, "value", n
		out = append(out, value, doc.Intervals(a.Unit, rows, func(r analysis.Row) stat.Interval { return r.Value }))
		if n != p.Baseline {
			out = append(out, doc.Ratios(rows, "÷ "+p.Baseline, ratioOf)...)
		}
	}
	return out
}

// agreement reports for every network whether the tools' intervals overlap.
func agreement(a analysis.Agreement, baseline string) []string {
	var out []string
	for _, c := range a.Ratios {
		out = append(out, clusters(c, c.Network+" ÷ "+baseline, timesText))
	}
	for _, c := range a.Values {
		out = append(out, clusters(c, c.Network, func(v float64) string { return unit.Format(v, a.Unit) }))
	}
	if out == nil {
		return []string{say("too few blocks for intervals: agreement cannot be judged")}
	}
	return out
}

func clusters(c analysis.Clusters, what string, format func(float64) string) string {
	span := func(x analysis.Cluster) string {
		lo, hi := format(x.Lo), format(x.Hi)
		if lo == hi {
			return lo
		}
		return say("%s to %s", lo, hi)
	}
	if len(c.Clusters) == 1 {
		return say("%s: the %d tools agree within their intervals, which all contain %s", what, len(c.Clusters[0].Probes), span(c.Clusters[0]))
	}
	var parts []string
	for _, x := range c.Clusters {
		parts = append(parts, say("%s (%s)", span(x), prose.List(x.Probes)))
	}
	return say("%s: the tools do not agree: %s", what, prose.Alternatives(parts))
}
