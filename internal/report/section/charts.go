package section

import (
	"math"
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

// color returns the color of a network, the same in all charts; 0 for the baseline.
func (s source) color(network string) int { return doc.Color(s.p.Networks, s.p.Baseline, network) }

func (s source) figures(t analysis.Table) (out []doc.Figure) {
	for _, f := range []func(analysis.Table) *doc.Figure{s.ratioChart, s.valueChart, s.splitChart, s.latencyChart, s.ladderChart, s.costChart} {
		x := f(t)
		if x == nil || s.cut.few && slices.Contains([]string{"ratio", "median", "cpu"}, x.ID) { // the overview and the table have them
			continue
		}
		x.ID = tableID(t) + " " + x.ID
		out = append(out, *x)
	}
	return append(out, s.hostCharts(t)...)
}

// ChartRow has a label, and a tooltip with the interval in as many digits.
func ChartRow(name string, color int, i stat.Interval, factor float64, label string) chart.Row {
	r := chart.Row{Name: name, Color: color, Label: label, Tip: name + ": " + label,
		Value: i.Center * factor, Lo: i.Lo * factor, Hi: i.Hi * factor, Bounded: i.Bounded()}
	switch _, decimals, _ := strings.Cut(strings.TrimRight(label, "×"), "."); {
	case r.Bounded:
		r.Tip += " " + prose.Bracket(stat.Interval{Lo: r.Lo, Hi: r.Hi}, len(decimals))
	case i.N > 0:
		r.Tip = say("%s (no interval)", r.Tip)
	}
	return r
}

func (s source) ratioChart(t analysis.Table) *doc.Figure {
	var rows []chart.Row
	var alt []string
	for _, r := range t.Rows {
		if r.Ratio.N == 0 {
			continue
		}
		label := prose.Ratio(r.Ratio)
		if r.Same {
			label = "~ " + label
		}
		rows = append(rows, ChartRow(r.Network, s.color(r.Network), r.Ratio, 1, label))
		alt = append(alt, r.Network+" "+label)
	}
	if rows == nil {
		return nil
	}
	title := say("%s ÷ %s (%s)", MetricName(t.Metric), s.p.Baseline, Better(t.Metric, t.Unit))
	caption := say("Ratio to %s", s.p.Baseline)
	return &doc.Figure{ID: "ratio", Caption: caption,
		Chart: chart.Ratios{Rows: rows, Baseline: s.p.Baseline, Axis: title, Alt: s.describe(caption, t, alt)}}
}

func (s source) describe(what string, t analysis.Table, rows []string) string {
	return say("%s, %s: %s.", what, s.Under(t.Probe, t.Levels), alternative(rows))
}

// mostDescribed values are told to those who do not see a chart; the tables have all.
const mostDescribed = 8

// alternative tells the values of a chart in words.
func alternative(values []string) string {
	if n := len(values) - mostDescribed; n > 1 {
		values = append(slices.Clone(values[:mostDescribed]), say("%d more in the tables", n))
	}
	return prose.Alternatives(values)
}

func (s source) valueChart(t analysis.Table) *doc.Figure {
	top := 0.0
	var centers []float64
	for _, r := range t.Rows {
		top = max(top, r.Value.Center, r.Value.Hi, r.Wire.Ceiling)
		centers = append(centers, r.Value.Center)
	}
	factor, label := unit.Scale(top, t.Unit)
	d := unit.Decimals(4, factor, centers...)
	var rows []chart.Row
	var alt []string
	for _, r := range t.Rows {
		if r.Value.N == 0 {
			continue
		}
		row := ChartRow(r.Network, s.color(r.Network), r.Value, factor, prose.Fixed(r.Value.Center*factor, d))
		row.Ceiling = r.Wire.Ceiling * factor
		row.Tip += " " + label
		if row.Ceiling > 0 {
			row.Tip += say(", header ceiling %s", prose.Fixed(row.Ceiling, d))
		}
		rows = append(rows, row)
		alt = append(alt, r.Network+" "+unit.Format(r.Value.Center, t.Unit))
	}
	if rows == nil {
		return nil
	}
	return &doc.Figure{ID: "median", Caption: say("Median over blocks"),
		Chart: chart.Values{Rows: rows, Axis: prose.Comma(MetricName(t.Metric), label), Alt: s.describe(say("Medians"), t, alt), Top: say("header ceiling")}}
}

// curvePoints is the number of points per factor of ten of rarity: p90, p99 and p99.9 are among them.
const curvePoints = 8

func (s source) latencyChart(t analysis.Table) *doc.Figure {
	var lines []chart.Curve
	var alt []string
	top := 0.0
	for _, r := range t.Rows {
		l := chart.Curve{Name: r.Network, Color: s.color(r.Network)}
		for i := 0; ; i++ {
			q := 1 - math.Pow(10, -float64(i)/curvePoints)
			v, ok := r.Percentile(q)
			if !ok || q > 0.999999 {
				break
			}
			l.Points = append(l.Points, chart.CurvePoint{X: q, Y: v})
			top = max(top, v)
		}
		if len(l.Points) > 0 {
			lines = append(lines, l)
			v, _ := r.Percentile(0.5)
			alt = append(alt, say("%s median %s", r.Network, unit.Format(v, "s")))
		}
	}
	if lines == nil {
		return nil
	}
	factor, label := unit.Scale(top, "s")
	if top < 0.01 { // readers compare microseconds
		factor, label = 1e6, "µs"
	}
	for i := range lines {
		for n := range lines[i].Points {
			lines[i].Points[n].Y *= factor
		}
	}
	return &doc.Figure{ID: "percentiles", Caption: say("Response time by percentile"),
		Chart: chart.Latency{Lines: lines, Axis: prose.Comma(say("response time"), label), X: say("share of all responses that were at least this fast"),
			Alt: s.describe(say("Response times by percentile"), t, alt)}}
}

func (s source) ladderChart(t analysis.Table) *doc.Figure {
	var groups []chart.Group
	var alt []string
	delivered, base := 0.0, ""
	for _, r := range t.Rows {
		g := chart.Group{Name: r.Network, Color: s.color(r.Network)}
		before := 0.0 // mean of the step above
		for _, q := range []record.Quantity{record.Offered, record.Sent, record.Received, record.Delivered} {
			if v, ok := r.Get(q); ok {
				step := chart.Step{Name: word(string(q)), Value: v.Median}
				if before > 0 {
					step.Lost = 1 - v.Mean/before
				}
				g.Steps = append(g.Steps, step)
				before, base = v.Mean, v.Unit
				if q == record.Delivered {
					delivered = max(delivered, v.Median)
				}
			}
		}
		if len(g.Steps) > 1 {
			groups = append(groups, g)
			loss, _ := r.Loss()
			alt = append(alt, say("%s lost %s", r.Network, prose.Percent(loss)))
		}
	}
	if groups == nil {
		return nil
	}
	factor, label := unit.Scale(delivered, base) // the table's unit
	for i := range groups {
		for n := range groups[i].Steps {
			groups[i].Steps[n].Value *= factor
		}
	}
	return &doc.Figure{ID: "loss", Caption: say("From offered to delivered"),
		Note:  say("Bars are medians over blocks. Red is the share of all packets that was lost since the step above."),
		Chart: chart.Ladder{Groups: groups, Axis: label, Alt: s.describe(say("From offered to delivered"), t, alt)}}
}

func (s source) costChart(t analysis.Table) *doc.Figure {
	var costs []analysis.Cost
	var networks, alt []string
	shown := map[record.Quantity]bool{} // modes with a visible part in any bar
	top := 0.0
	for _, r := range t.Rows {
		c, ok := r.Cost()
		if !ok || c.Modes == nil || costs != nil && c.Name != costs[0].Name {
			continue
		}
		costs, networks = append(costs, c), append(networks, r.Network)
		alt = append(alt, r.Network+" "+unit.Format(c.Total, c.Unit))
		top = max(top, c.Total)
		for _, m := range c.Modes {
			shown[m.Name] = shown[m.Name] || m.Share > 0
		}
	}
	if costs == nil {
		return nil
	}
	factor, label := unit.Scale(top, costs[0].Unit)
	bars := make([]chart.Bar, len(costs))
	for i, c := range costs {
		bars[i].Name, bars[i].Color = networks[i], s.color(networks[i])
		for _, m := range c.Modes {
			if shown[m.Name] {
				bars[i].Parts = append(bars[i].Parts, m.Share*c.Total*factor)
			}
		}
	}
	var modes []string
	for _, m := range analysis.ModeNames {
		if shown[m] {
			modes = append(modes, MetricName(m))
		}
	}
	caption := prose.Capital(MetricName(costs[0].Name))
	return &doc.Figure{ID: "cpu", Caption: caption, Note: prose.Alternatives(s.remarks(t, finding.CPUModes)),
		Chart: chart.Cost{Bars: bars, Names: modes, Axis: say("%s, both ends", label), Alt: s.describe(caption, t, alt)}}
}
