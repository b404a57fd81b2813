package report

import (
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/stat"
)

// sweeps draws the curves of one probe along its numeric factor.
func (s source) sweeps(w analysis.Sweep) []Figure {
	base, metric, ratio := "", "", false
	for _, t := range w.Tables {
		for _, r := range t.Rows {
			ratio = ratio || r.Ratio.N > 0
		}
		if t.Metric != "" {
			base, metric = t.Unit, metricName(t.Metric)
		}
	}
	one := ""
	if w.Factor == clients {
		one = " of one client"
	}
	out := s.sweep(w, "median", metric+one+" by "+w.Factor, metric, base, func(r analysis.Row) stat.Interval { return r.Value })
	if out == nil {
		return nil
	}
	if ratio {
		curves := s.curves(w, func(r analysis.Row) stat.Interval { return r.Ratio }, 1)
		title := "ratio to " + s.p.Baseline + " by " + w.Factor + where(w)
		out = append(out, Figure{ID: sweepID(w, "ratio"), Caption: capital(title), Chart: chart.Sweep{
			Curves: curves, Reference: 1, X: axisOf(w), Y: metric + " ÷ " + s.p.Baseline, Alt: s.title(w.Probe) + ", " + title + "."}})
	}
	return append(out, s.clientSweeps(w)...)
}

// sweep draws one value, in the unit base, along the factor; nothing where no row has it.
func (s source) sweep(w analysis.Sweep, id, title, axis, base string, get func(analysis.Row) stat.Interval) []Figure {
	top := 0.0
	for _, t := range w.Tables {
		for _, r := range t.Rows {
			top = max(top, get(r).Center)
		}
	}
	factor, label := scale(top, base)
	curves := s.curves(w, get, factor)
	if curves == nil {
		return nil
	}
	title += where(w)
	return []Figure{{ID: sweepID(w, id), Caption: capital(title), Chart: chart.Sweep{
		Curves: curves, X: axisOf(w), Y: axis + label, Alt: s.title(w.Probe) + ", " + title + "."}}}
}

func sweepID(w analysis.Sweep, value string) string {
	return strings.Join([]string{"probe", w.Probe, "by", w.Factor, value, levelText(w.Levels)}, " ")
}

// where names the other factors' levels, for the end of a title.
func where(w analysis.Sweep) string {
	if l := levelText(w.Levels); l != "" {
		return ", " + l
	}
	return ""
}

// axisOf names the axis of the levels.
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
