package section

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// hopSection has a part for each probe and value, with rows by network and number of segments.
func hopSection(s source) []doc.Section {
	var titles doc.Groups[string, analysis.Chain]
	for _, c := range s.p.Chains {
		titles.Add(s.hopTitle(c), c)
	}
	if titles.Keys == nil {
		return nil
	}
	x := doc.Section{ID: "hops", Title: say("Over several hops")}
	for _, title := range titles.Keys {
		g := titles.Of[title]
		slices.SortStableFunc(g, func(a, b analysis.Chain) int {
			return slices.Index(s.p.Networks, a.Network) - slices.Index(s.p.Networks, b.Network)
		})
		id := strings.Join([]string{"hops", g[0].Probe, string(g[0].Metric), prose.Levels(g[0].Levels)}, " ")
		x.Parts = append(x.Parts, doc.Section{ID: id, Title: title, Figures: []doc.Figure{s.hopChart(g, id)},
			Tables: []doc.Table{doc.Tabulate(id+" table", hopColumns(g)...)}, Notes: hopNotes(g)})
	}
	return []doc.Section{x}
}

// overHops sums up the longest paths of every network that has several hops.
func (s source) overHops() (out []string) {
	for _, n := range s.p.Networks {
		if text := s.hopClause(n); text != "" {
			out = append(out, say("%s: %s", n, text))
		}
	}
	return out
}

// hopClause sums up a network's longest paths, without chains measured under several conditions.
func (s source) hopClause(network string) string {
	var parts []string
	hops := 0
	for _, c := range s.p.Chains {
		last := c.Spans[len(c.Spans)-1]
		if c.Network != network || c.Metric == record.RTTPath || len(c.Levels) > 0 || last.Ratio.N == 0 || hops > 0 && hops != last.Segments {
			continue
		}
		hops = last.Segments
		of := say("that of 1 hop")
		if c.Adds {
			of = say("the sum of its segments")
		}
		part := say("%s (no interval)", fmt.Sprintf("%s %s× %s", s.Short(c.Probe), prose.Centered(last.Ratio, prose.Digits(last.Ratio)), of))
		if last.Ratio.Bounded() {
			part = fmt.Sprintf("%s %s", s.Short(c.Probe), say("%s of %s", percents(last.Ratio, false), of))
		}
		if last.Same {
			part = say("%s no difference shown ~ from %s", s.Short(c.Probe), of)
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return ""
	}
	return say("Over %d hops: %s.", hops, prose.List(parts))
}

func (s source) hopTitle(c analysis.Chain) string {
	title := s.Under(c.Probe, c.Levels)
	title += say(", from %s over several hops: %s", strings.Fields(c.Spans[0].Hosts)[0], hopMetric(c))
	if c.Adds {
		title += say(" against the sum of its segments")
	}
	return title
}

func hopMetric(c analysis.Chain) string {
	name := MetricName(c.Metric)
	if c.Mean {
		return say("mean %s", name)
	}
	return name
}

func hopColumns(g []analysis.Chain) []doc.Filled {
	var spans []analysis.Span
	var networks []string // of the spans
	for _, c := range g {
		spans = append(spans, c.Spans...)
		networks = append(networks, slices.Repeat([]string{c.Network}, len(c.Spans))...)
	}
	whole := func(head, kind string, keep int, get func(analysis.Span) int) doc.Filled {
		return doc.Layout(doc.Column{Head: word(head), Kind: kind, Keep: keep}, spans, func(s analysis.Span) doc.Cell {
			return doc.Cell{Text: fmt.Sprint(get(s)), Value: doc.Number(float64(get(s)))}
		})
	}
	var both []stat.Interval // in one unit, to compare them
	for _, s := range spans {
		both = append(both, s.Value)
	}
	for _, s := range spans {
		both = append(both, s.Parts)
	}
	value := doc.Numbers("measured", g[0].Unit, 9, both, doc.Center)
	value.Kind = "value"
	sum := value
	value.Cells, sum.Cells = value.Cells[:len(spans)], value.Cells[len(spans):]
	sum.Head, sum.Kind = say("sum"), ""
	if !g[0].Adds {
		sum.Head = say("1 hop")
	}
	out := []doc.Filled{doc.Names("network", networks, func(n string) string { return n }),
		whole("hops", "", 9, func(s analysis.Span) int { return s.Segments }), value, sum}
	out = append(out, doc.Ratios(spans, say("÷ %s", sum.Head), func(s analysis.Span) (stat.Interval, bool) { return s.Ratio, s.Same })...)
	return append(out, whole("blocks", "blocks", 8, func(s analysis.Span) int { return s.Value.N }))
}

func hopNotes(g []analysis.Chain) []string {
	out := []string{say("÷ 1 hop divides by the value over the first segment alone, in the same block.")}
	if c := g[0]; c.Adds {
		sum := say("The values are not means over requests. Medians of segments add up only roughly, so the sum is an approximation.")
		if c.Mean {
			sum = say("The values are means over requests, which add up exactly; medians would not.")
		}
		ends := say("pods, programs and wake-ups")
		if c.Metric == record.RTTPath {
			ends = say("pods")
		}
		out = []string{prose.Sentences(say("The sum adds the segments, each measured alone, in the same block."), sum),
			say("A segment alone has two ends, with their %s; an intermediate host only forwards. A ratio below 1 means that forwarding costs less than two ends. "+
				"Where segments are long, their length dominates both, and the ratio is near 1.", ends)}
	}
	var notes said
	for _, c := range g {
		for _, s := range c.Spans {
			all := doc.Warnings(s.Ratio)
			if s.Busy != nil {
				all = append([]string{string(finding.Busy(*s.Busy).Say())}, all...)
			}
			notes.add(say("%s over %s", c.Network, prose.Count(s.Segments, "hop")), all...)
		}
	}
	return append(out, notes.lines(nil)...)
}

// hopChart draws the values by the number of segments, next to their sums.
func (s source) hopChart(g []analysis.Chain, id string) doc.Figure {
	top := 0.0
	for _, c := range g {
		for _, s := range c.Spans {
			top = max(top, s.Value.Center, s.Parts.Center)
		}
	}
	factor, label := unit.Scale(top, g[0].Unit)
	curve := func(c analysis.Chain, name string, of func(analysis.Span) stat.Interval) chart.Curve {
		k := chart.Curve{Name: name, Color: s.color(c.Network)}
		for _, s := range c.Spans {
			if v := of(s); v.N > 0 {
				k.Points = append(k.Points, curvePoint(float64(s.Segments), v, factor))
			}
		}
		return k
	}
	var curves []chart.Curve
	for _, c := range g {
		curves = append(curves, curve(c, c.Network, func(s analysis.Span) stat.Interval { return s.Value }))
		if c.Adds {
			sums := curve(c, say("%s, sum", c.Network), func(s analysis.Span) stat.Interval {
				if s.Segments == 1 {
					return s.Value
				}
				return s.Parts
			})
			sums.Dashed = true
			curves = append(curves, sums)
		}
	}
	title, alt := hopMetric(g[0]), say("%s.", s.hopTitle(g[0]))
	return doc.Figure{ID: id + " chart", Caption: prose.Capital(say("%s by hops", title)),
		Chart: chart.Sweep{Curves: curves, X: say("hops"), Y: prose.Comma(title, label), Alt: alt}}
}
