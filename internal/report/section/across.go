package section

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// sweeps draws the curves of one probe along its numeric factor.
func (s source) sweeps(w analysis.Sweep) []doc.Figure {
	base, metric := "", ""
	for _, t := range w.Tables {
		if t.Metric != "" {
			base, metric = t.Unit, MetricName(t.Metric)
		}
	}
	one := ""
	if w.Factor == clients {
		one = say(" of one client")
	}
	value := s.sweep(w, "median", say("%s%s by %s", metric, one, w.Factor), metric, base, 0, func(r analysis.Row) stat.Interval { return r.Value })
	ratio := s.sweep(w, "ratio", say("ratio to %s by %s", s.p.Baseline, w.Factor), metric+" ÷ "+s.p.Baseline, "", 1,
		func(r analysis.Row) stat.Interval { return r.Ratio })
	return slices.Concat(value, ratio, s.clientSweeps(w))
}

// sweep draws one value, scaled from the unit base, along the factor; nothing if no row has it. A
// nonzero reference adds a line.
func (s source) sweep(w analysis.Sweep, id, title, name, base string, reference float64, get func(analysis.Row) stat.Interval) []doc.Figure {
	top := 0.0
	for _, t := range w.Tables {
		for _, r := range t.Rows {
			top = max(top, get(r).Center)
		}
	}
	factor, label := unit.Scale(top, base)
	curves := s.curves(w, get, factor)
	if curves == nil {
		return nil
	}
	title = prose.Comma(title, prose.Levels(w.Levels))
	return []doc.Figure{{ID: sweepID(w, id), Caption: prose.Capital(title), Chart: chart.Sweep{
		Curves: curves, Reference: reference, X: axisOf(w), Y: prose.Comma(name, label), Alt: say("%s, %s.", s.Title(w.Probe), title)}}}
}

func sweepID(w analysis.Sweep, value string) string {
	return strings.Join([]string{"probe", w.Probe, "by", w.Factor, value, prose.Levels(w.Levels)}, " ")
}

func axisOf(w analysis.Sweep) string {
	for _, t := range w.Tables {
		if strings.HasSuffix(t.Levels[w.Factor], "%") {
			return w.Factor + ", %"
		}
	}
	return w.Factor
}

func (s source) curves(w analysis.Sweep, get func(analysis.Row) stat.Interval, factor float64) []chart.Curve {
	var out []chart.Curve
	for _, n := range s.p.Networks {
		c := chart.Curve{Name: n, Color: s.color(n)}
		for i, t := range w.Tables {
			if r, ok := t.Row(n); ok && get(r).N > 0 {
				c.Points = append(c.Points, curvePoint(w.X[i], get(r), factor))
			}
		}
		if c.Points != nil {
			out = append(out, c)
		}
	}
	return out
}

func curvePoint(x float64, v stat.Interval, factor float64) chart.CurvePoint {
	return chart.CurvePoint{X: x, Y: v.Center * factor, Lo: v.Lo * factor, Hi: v.Hi * factor, Bounded: v.Bounded()}
}

// matrices draws the values from each name to each other, one figure per network. Where the study
// compares directions, each cell has its intervals and its ratio.
func (s source) matrices(m analysis.Matrix) (out []doc.Figure) {
	for _, n := range s.p.Networks {
		values := map[[2]string]stat.Interval{}
		base, metric := "", record.Quantity("")
		for at, t := range m.Tables {
			if r, ok := t.Row(n); ok && r.Value.N > 0 {
				base, metric = t.Unit, t.Metric
				values[at] = r.Value
			}
		}
		caption := prose.Comma(say("by direction, %s", n), prose.Levels(m.Levels))
		more := func(at [2]string, factor float64, digits int) (lines []string) {
			r, ok := m.Ratios[[3]string{at[0], at[1], n}]
			switch {
			case m.Contrast < 0:
				return nil
			case values[at].Bounded():
				lines = append(lines, doc.IntervalCell(values[at], factor, digits).Text)
			}
			if ok && r.Ratio.N > 0 {
				within := say("no interval")
				if r.Ratio.Bounded() {
					within = prose.RatioBrackets(r.Ratio)
				}
				lines = append(lines, strings.TrimSpace(doc.Mark(r.Same)+" "+prose.Ratio(r.Ratio)), within)
			}
			if at == m.Base {
				lines = append(lines, "= 1")
			}
			return lines
		}
		out = append(out, s.heat(m.From, m.To, values, more, analysis.Table{Probe: m.Probe, Metric: metric, Unit: base, Levels: m.Levels}, "by direction "+n, caption)...)
	}
	return out
}

// hostCharts draws a figure per network if the study measures all pairs of hosts.
func (s source) hostCharts(t analysis.Table) (out []doc.Figure) {
	for _, r := range t.Rows {
		hosts, medians := r.Hosts()
		if len(hosts) > manyMachines {
			continue // standingSection has a summary of each machine
		}
		names := make([]string, len(hosts))
		for i, h := range hosts {
			names[i] = s.p.MachineOf(h).Name
		}
		values := map[[2]string]stat.Interval{}
		for at, v := range medians {
			values[[2]string{s.p.MachineOf(at[0]).Name, s.p.MachineOf(at[1]).Name}] = stat.Interval{Center: v, N: 1}
		}
		out = append(out, s.heat(names, names, values, nil, t, "by host "+r.Network, say("by host of client and server, median over blocks, %s", r.Network))...)
	}
	return out
}

// heat draws values of a table's metric by from and to. more returns further lines of a cell.
func (s source) heat(from, to []string, values map[[2]string]stat.Interval, more func(at [2]string, factor float64, digits int) []string,
	t analysis.Table, id, caption string) []doc.Figure {
	if len(values) == 0 {
		return nil
	}
	var centers []float64
	for _, v := range values {
		centers = append(centers, v.Center)
	}
	factor, label, d := doc.InOneUnit(t.Unit, centers)
	cells := make([][]chart.Square, len(from))
	var alt []string
	for i, f := range from {
		cells[i] = make([]chart.Square, len(to))
		for n, g := range to {
			at := [2]string{f, g}
			if v, ok := values[at]; ok {
				lines := []string{prose.Fixed(v.Center*factor, d)}
				if more != nil {
					lines = append(lines, more(at, factor, d)...)
				}
				cells[i][n] = chart.Square{Value: v.Center * factor, Label: strings.Join(lines, "\n")}
				alt = append(alt, say("%s to %s %s", f, g, unit.Format(v.Center, t.Unit)))
			}
		}
	}
	metric := MetricName(t.Metric)
	caption = prose.Capital(say("%s %s", metric, caption))
	text := say("%s, %s: %s.", s.Title(t.Probe), caption, prose.Alternatives(alt))
	return []doc.Figure{{ID: tableID(t) + " " + id, Caption: caption,
		Chart: chart.Heat{From: say("from"), To: say("to"), Rows: from, Columns: to, Cells: cells, Axis: prose.Comma(metric, label), Alt: text}}}
}
