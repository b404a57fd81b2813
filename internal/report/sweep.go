package report

import (
	"html/template"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/stat"
)

// sweeps draws the curves of one probe along its numeric factor.
func (p painter) sweeps(s analysis.Sweep) ([]figure, error) {
	base, metric, ratio := "", "", false
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			ratio = ratio || r.Ratio.N > 0
		}
		if t.Metric != "" {
			base, metric = t.Unit, metricName(t.Metric)
		}
	}
	one := ""
	if s.Factor == clients {
		one = " of one client"
	}
	out, err := p.sweep(s, metric+one+" by "+s.Factor, metric, base, func(r analysis.Row) stat.Interval { return r.Value })
	if out == nil || err != nil {
		return nil, err
	}
	if ratio {
		svg, err := chart.Sweep(p.curvesOf(s, func(r analysis.Row) stat.Interval { return r.Ratio }, 1), 1, axisOf(s),
			metric+" ÷ "+p.p.Baseline, probeTitle(s.Probe)+", ratio to "+p.p.Baseline+" by "+s.Factor+where(s)+".")
		if err != nil {
			return out, err
		}
		out = append(out, figure{"Ratio to " + p.p.Baseline + " by " + s.Factor + where(s), template.HTML(svg)})
	}
	more, err := p.clientSweeps(s)
	return append(out, more...), err
}

// sweep draws one value, in the unit base, along the factor. Without any it draws nothing.
func (p painter) sweep(s analysis.Sweep, title, axis, base string, get func(analysis.Row) stat.Interval) ([]figure, error) {
	top := 0.0
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			top = max(top, get(r).Center)
		}
	}
	factor, label := scale(top, base)
	curves := p.curvesOf(s, get, factor)
	if curves == nil {
		return nil, nil
	}
	title += where(s)
	svg, err := chart.Sweep(curves, 0, axisOf(s), axis+label, probeTitle(s.Probe)+", "+title+".")
	if err != nil {
		return nil, err
	}
	return []figure{{strings.ToUpper(title[:1]) + title[1:], template.HTML(svg)}}, nil
}

// where names the other factors' levels, for the end of a title.
func where(s analysis.Sweep) string {
	if l := levelText(s.Levels); l != "" {
		return ", " + l
	}
	return ""
}

// axisOf names the axis of the levels.
func axisOf(s analysis.Sweep) string {
	for _, t := range s.Tables {
		if strings.HasSuffix(t.Levels[s.Factor], "%") {
			return s.Factor + ", %"
		}
	}
	return s.Factor
}

func (p painter) curvesOf(s analysis.Sweep, get func(analysis.Row) stat.Interval, factor float64) []chart.Curve {
	var out []chart.Curve
	for _, n := range p.p.Networks {
		c := chart.Curve{Name: n, Color: p.color(n)}
		for i, t := range s.Tables {
			for _, r := range t.Rows {
				if v := get(r); r.Network == n && v.N > 0 {
					c.Points = append(c.Points, chart.CurvePoint{
						X: s.X[i], Y: v.Center * factor, Lo: v.Lo * factor, Hi: v.Hi * factor, Bounded: v.Bounded()})
				}
			}
		}
		if c.Points != nil {
			out = append(out, c)
		}
	}
	return out
}
