package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/stat"
)

// A chain is what a probe found over more and more segments of a line of hosts, a
// row for each network and number of segments.
type chain struct {
	Title   string
	Columns []column
	Rows    [][]cell // the same, by row
	Notes   []string
	Figures []figure
}

// chains groups the chains of one probe and value; networks are in their order.
func chains(p analysed) []chain {
	var groups [][]analysis.Chain
	for _, c := range p.Chains {
		at := slices.IndexFunc(groups, func(g []analysis.Chain) bool { return chainTitle(g[0]) == chainTitle(c) })
		if at < 0 {
			at, groups = len(groups), append(groups, nil)
		}
		groups[at] = append(groups[at], c)
	}
	var out []chain
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b analysis.Chain) int {
			return slices.Index(p.Networks, a.Network) - slices.Index(p.Networks, b.Network)
		})
		c := chain{Title: chainTitle(g[0]), Columns: chainColumns(g), Notes: chainNotes(g)}
		c.Rows = byRow(c.Columns)
		if f, err := (painter{p}).chain(g); err != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("it is not drawn: %v", err))
		} else {
			c.Figures = []figure{f}
		}
		out = append(out, c)
	}
	return out
}

// chainClause says of a network what its longest ways cost, "" when there are none. It
// leaves out chains of which there are several, under different conditions.
func chainClause(p analysed, network string) string {
	var parts []string
	hops := 0
	for _, c := range p.Chains {
		s := c.Spans[len(c.Spans)-1]
		if c.Network != network || c.Metric == "rtt.path" || len(c.Levels) > 0 || s.Ratio.N == 0 || hops > 0 && hops != s.Segments {
			continue
		}
		hops = s.Segments
		of := "that of 1 hop"
		if c.Adds {
			of = "the sum of its segments"
		}
		part := fmt.Sprintf("%s %s× %s", probeShort(c.Probe), fixed(s.Ratio.Center, ratioDigits(s.Ratio)), of)
		if s.Same {
			part = fmt.Sprintf("%s no difference shown ~ from %s", probeShort(c.Probe), of)
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("Over %d hops: %s.", hops, strings.Join(parts, ", "))
}

// divisor is what ratios are to, in words.
func divisor(p analysed) string {
	switch {
	case p.Chains == nil:
		return p.Baseline
	case len(p.Networks) < 2:
		return "what stands behind ÷"
	}
	return p.Baseline + ", or to what else stands behind ÷,"
}

func chainTitle(c analysis.Chain) string {
	s := probeTitle(c.Probe)
	if l := levelText(c.Levels); l != "" {
		s += ", " + l
	}
	s += fmt.Sprintf(", from %s over several hops: %s", strings.Fields(c.Spans[0].Hosts)[0], chainMetric(c))
	if c.Adds {
		s += " against the sum of its segments"
	}
	return s
}

func chainMetric(c analysis.Chain) string {
	name := map[string]string{"rtt": "response time", "rtt.path": "network path"}[c.Metric]
	if name == "" {
		name = metricName(c.Metric)
	}
	if c.Mean {
		return "mean " + name
	}
	return name
}

func chainColumns(g []analysis.Chain) []column {
	names, hops := column{Head: "network", Left: true, Class: "name", keep: 9}, column{Head: "hops", keep: 9}
	var values, parts []analysis.Row
	for _, c := range g {
		for _, s := range c.Spans {
			names.Cells, hops.Cells = append(names.Cells, c.Network), append(hops.Cells, fmt.Sprint(s.Segments))
			values = append(values, analysis.Row{Value: s.Value, Ratio: s.Ratio, Same: s.Same})
			parts = append(parts, analysis.Row{Value: s.Parts})
		}
	}
	// In one unit: a reader compares the two.
	value := numbers("measured", g[0].Unit, slices.Concat(values, parts), func(r analysis.Row) (float64, bool) { return r.Value.Center, r.Value.N > 0 })
	value.Class, value.keep = "value", 9
	sum := value
	value.Cells, sum.Cells = value.Cells[:len(values)], value.Cells[len(values):]
	sum.Head, sum.Class = "sum", ""
	if !g[0].Adds {
		sum.Head = "1 hop"
	}
	blocks := column{Head: "blocks", Class: "blocks", keep: 8}
	for _, r := range values {
		blocks.Cells = append(blocks.Cells, fmt.Sprint(r.Value.N))
	}
	out := append([]column{names, hops, value, sum}, ratios(values, "÷ "+sum.Head, func(r analysis.Row) (stat.Interval, bool) { return r.Ratio, r.Same })...)
	return filled(append(out, blocks))
}

// chainNotes says what was added up, and what a ratio means.
func chainNotes(g []analysis.Chain) []string {
	out := []string{"÷ 1 hop divides by what was found over the first segment alone, in the same block."}
	if c := g[0]; c.Adds {
		sum := "The values are no means over requests; medians of segments add up only roughly, so that the sum is an approximation."
		if c.Mean {
			sum = "The values are means over requests, which add up exactly; medians would not."
		}
		ends := "pods, programs and wake-ups"
		if c.Metric == "rtt.path" {
			ends = "pods"
		}
		out = []string{"The sum is that of the segments, each measured alone, in the same block. " + sum,
			"A segment alone has two ends, with their " + ends + ", and a host on the way only passes on: a ratio below 1 says that passing on costs less than two ends. " +
				"Where segments are long, their length is most of both, and the ratio is near 1."}
	}
	var notes said
	for _, c := range g {
		for _, s := range c.Spans {
			warnings := s.Ratio.Warnings
			if s.Refused != "" {
				warnings = []string{s.Refused} // and no ratio
			}
			notes.add(fmt.Sprintf("%s over %s", c.Network, count(s.Segments, "hop")), warnings...)
		}
	}
	return append(out, notes.lines(each)...)
}

// chain draws the values by the number of segments, and their sums beside them.
func (p painter) chain(g []analysis.Chain) (figure, error) {
	top := 0.0
	for _, c := range g {
		for _, s := range c.Spans {
			top = max(top, s.Value.Center, s.Parts.Center)
		}
	}
	factor, label := scale(top, g[0].Unit)
	curve := func(c analysis.Chain, name string, of func(analysis.Span) stat.Interval) chart.Curve {
		k := chart.Curve{Name: name, Color: p.color(c.Network)}
		for _, s := range c.Spans {
			if v := of(s); v.N > 0 {
				k.Points = append(k.Points, chart.CurvePoint{X: float64(s.Segments), Y: v.Center * factor,
					Lo: v.Lo * factor, Hi: v.Hi * factor, Bounded: v.Bounded()})
			}
		}
		return k
	}
	var curves []chart.Curve
	for _, c := range g {
		curves = append(curves, curve(c, c.Network, func(s analysis.Span) stat.Interval { return s.Value }))
		if c.Adds {
			sums := curve(c, c.Network+", sum", func(s analysis.Span) stat.Interval {
				if s.Segments == 1 {
					return s.Value
				}
				return s.Parts
			})
			sums.Dashed = true
			curves = append(curves, sums)
		}
	}
	title := chainMetric(g[0])
	svg, err := chart.Sweep(curves, 0, "hops", title+label, chainTitle(g[0])+".")
	return figure{strings.ToUpper(title[:1]) + title[1:] + " by hops", template.HTML(svg)}, err
}
