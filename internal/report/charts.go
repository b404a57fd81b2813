package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A figure is a chart with its caption.
type figure struct {
	Caption string
	SVG     template.HTML
}

// A painter draws the charts of a run; the same network has the same colour in all.
type painter struct {
	p analysed
}

func (p painter) color(network string) int {
	if network == p.p.Baseline {
		return 0
	}
	i := slices.Index(p.p.Networks, network)
	if slices.Contains(p.p.Networks, p.p.Baseline) {
		return i // the baseline is the first
	}
	return i + 1
}

// figures draws every chart that the table has numbers for. A chart that
// cannot be drawn is a note: it must not cost the reader the report.
func (p painter) figures(t analysis.Table) (out []figure, notes []string) {
	for _, f := range []func(analysis.Table) (string, []byte, error){p.ratios, p.values, p.split, p.latency, p.ladder, p.cost} {
		caption, svg, err := f(t)
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s is not drawn: %v", caption, err))
		} else if svg != nil {
			out = append(out, figure{caption, template.HTML(svg)}) // package chart escapes its texts
		}
	}
	hosts, err := p.hosts(t)
	if err != nil {
		notes = append(notes, fmt.Sprintf("the matrix of hosts is not drawn: %v", err))
	}
	return append(out, hosts...), notes
}

func (p painter) ratios(t analysis.Table) (string, []byte, error) {
	var rows []chart.Row
	var alt []string
	d := 2
	for _, r := range t.Rows {
		d = max(d, ratioDigits(r.Ratio))
	}
	for _, r := range t.Rows {
		if r.Ratio.N == 0 || r.Ratio.Center <= 0 || r.Ratio.Bounded() && r.Ratio.Lo <= 0 {
			continue
		}
		label := fixed(r.Ratio.Center, d) + "×"
		if r.Same {
			label = "~ " + label
		}
		rows = append(rows, chart.Row{
			Name: r.Network, Color: p.color(r.Network), Label: label,
			Value: r.Ratio.Center, Lo: r.Ratio.Lo, Hi: r.Ratio.Hi, Bounded: r.Ratio.Bounded(),
		})
		alt = append(alt, r.Network+" "+label)
	}
	if rows == nil {
		return "", nil, nil
	}
	title := fmt.Sprintf("%s ÷ %s (%s)", metricName(t.Metric), p.p.Baseline, better(t.Unit))
	svg, err := chart.Ratios(rows, p.p.Baseline, title, describe("Ratio to "+p.p.Baseline, t, alt))
	return "Ratio to " + p.p.Baseline, svg, err
}

func describe(what string, t analysis.Table, rows []string) string {
	return fmt.Sprintf("%s, %s: %s.", what, tableTitle(t), strings.Join(rows, "; "))
}

// scale returns the unit for a chart that must hold top.
func scale(top float64, base string) (float64, string) {
	factor, label := unit.Scale(top, base)
	if label == "" {
		return factor, ""
	}
	return factor, ", " + label
}

func (p painter) values(t analysis.Table) (string, []byte, error) {
	top := 0.0
	for _, r := range t.Rows {
		top = max(top, r.Value.Center, r.Value.Hi, r.Wire.Ceiling)
	}
	factor, label := scale(top, t.Unit)
	var rows []chart.Row
	var alt []string
	var centers []float64
	for _, r := range t.Rows {
		centers = append(centers, r.Value.Center*factor)
	}
	d := decimals(centers)
	for _, r := range t.Rows {
		if r.Value.N == 0 {
			continue
		}
		row := chart.Row{
			Name: r.Network, Color: p.color(r.Network), Label: fixed(r.Value.Center*factor, d),
			Value: r.Value.Center * factor, Lo: r.Value.Lo * factor, Hi: r.Value.Hi * factor, Bounded: r.Value.Bounded(),
			Ceiling: r.Wire.Ceiling * factor,
		}
		for _, pt := range r.Points {
			if pt.Has {
				row.Trials = append(row.Trials, chart.Trial{Value: pt.Value * factor, OK: pt.Status == record.OK})
			}
		}
		rows = append(rows, row)
		alt = append(alt, r.Network+" "+unit.Format(r.Value.Center, t.Unit))
	}
	if rows == nil {
		return "", nil, nil
	}
	svg, err := chart.Values(rows, metricName(t.Metric)+label, describe("Medians", t, alt))
	return "Median over blocks", svg, err
}

// curvePoints per factor of ten of rarity.
const curvePoints = 24

func (p painter) latency(t analysis.Table) (string, []byte, error) {
	var lines []chart.Line
	var alt []string
	top := 0.0
	for _, r := range t.Rows {
		l := chart.Line{Name: r.Network, Color: p.color(r.Network)}
		for i := 0; ; i++ {
			q := 1 - math.Pow(10, -float64(i)/curvePoints)
			v, ok := r.Percentile(q)
			if !ok || q > 0.999999 {
				break
			}
			l.Points = append(l.Points, chart.Quantile{P: q, Value: v})
			top = max(top, v)
		}
		if len(l.Points) > 0 {
			lines = append(lines, l)
			v, _ := r.Percentile(0.5)
			alt = append(alt, fmt.Sprintf("%s median %s", r.Network, unit.Format(v, "s")))
		}
	}
	if lines == nil {
		return "", nil, nil
	}
	factor, label := scale(top, "s")
	if top < 0.01 { // microseconds are what people compare
		factor, label = 1e6, ", µs"
	}
	for i := range lines {
		for n := range lines[i].Points {
			lines[i].Points[n].Value *= factor
		}
	}
	svg, err := chart.Latency(lines, "response time"+label, describe("Response times by percentile", t, alt))
	return "Response time by percentile", svg, err
}

var ladderSteps = []string{"offered", "sent", "received", "delivered"}

func (p painter) ladder(t analysis.Table) (string, []byte, error) {
	var groups []chart.Group
	var alt []string
	top, base := 0.0, ""
	for _, r := range t.Rows {
		g := chart.Group{Name: r.Network, Color: p.color(r.Network)}
		for _, name := range ladderSteps {
			if s, ok := r.Get(name); ok {
				g.Steps = append(g.Steps, chart.Step{Name: name, Value: s.Mean})
				top, base = max(top, s.Mean), s.Unit
			}
		}
		if len(g.Steps) > 1 {
			groups = append(groups, g)
			loss, _ := r.Loss()
			alt = append(alt, fmt.Sprintf("%s lost %s", r.Network, percent(loss)))
		}
	}
	if groups == nil {
		return "", nil, nil
	}
	factor, label := unit.Scale(top, base)
	for i := range groups {
		for n := range groups[i].Steps {
			groups[i].Steps[n].Value *= factor
		}
	}
	svg, err := chart.Ladder(groups, label+"; red is lost since the step above", describe("From offered to delivered", t, alt))
	return "From offered to delivered", svg, err
}

func (p painter) cost(t analysis.Table) (string, []byte, error) {
	costs := map[string]analysis.Cost{}
	name, base, top := "", "", 0.0
	for _, r := range t.Rows {
		if c, ok := r.Cost(); ok && c.Modes != nil && (name == "" || name == c.Name) {
			costs[r.Network], name, base = c, c.Name, c.Unit
			top = max(top, c.Total)
		}
	}
	if len(costs) == 0 {
		return "", nil, nil
	}
	factor, label := unit.Scale(top, base)
	modes := shownModes(costs)
	var bars []chart.Bar
	var alt []string
	for _, r := range t.Rows {
		c, ok := costs[r.Network]
		if !ok {
			continue
		}
		b := chart.Bar{Name: r.Network}
		for _, m := range c.Modes {
			if slices.Contains(modes, m.Name) {
				b.Parts = append(b.Parts, m.Share*c.Total*factor)
			}
		}
		bars = append(bars, b)
		alt = append(alt, r.Network+" "+unit.Format(c.Total, base))
	}
	caption := "CPU time " + strings.ReplaceAll(strings.TrimPrefix(name, "cpu."), ".", " ")
	svg, err := chart.Cost(bars, modes, label+", both ends", describe(caption, t, alt))
	return caption, svg, err
}

// shownModes are those that are a part of any bar.
func shownModes(costs map[string]analysis.Cost) []string {
	var out []string
	for i, name := range analysis.ModeNames {
		for _, c := range costs {
			if c.Modes[i].Share > 0 {
				out = append(out, name)
				break
			}
		}
	}
	return out
}
