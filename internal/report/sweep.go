package report

import (
	"html/template"
	"strings"

	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/pivot"
	"github.com/weir-bench/weir/internal/stat"
)

// sweeps draws the curves of one probe along its numeric factor.
func (p painter) sweeps(s pivot.Sweep) ([]figure, error) {
	where := ""
	if l := levelText(s.Levels); l != "" {
		where = ", " + l
	}
	top, base, metric, ratio := 0.0, "", "", false
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			top = max(top, r.Value.Center)
			ratio = ratio || r.Ratio.N > 0
		}
		if t.Metric != "" {
			base, metric = t.Unit, metricName(t.Metric)
		}
	}
	factor, label := scale(top, base)
	values := p.curvesOf(s, func(r pivot.Row) stat.Interval { return r.Value }, factor)
	if values == nil {
		return nil, nil
	}
	title := metric + " by " + s.Factor
	along := s.Factor
	for _, t := range s.Tables {
		if strings.HasSuffix(t.Levels[s.Factor], "%") {
			along = s.Factor + ", %"
		}
	}
	svg, err := chart.Sweep(values, 0, along, metric+label, probeTitle(s.Probe)+", "+title+where+".")
	if err != nil {
		return nil, err
	}
	out := []figure{{strings.ToUpper(title[:1]) + title[1:] + where, template.HTML(svg)}}
	if !ratio {
		return out, nil
	}
	svg, err = chart.Sweep(p.curvesOf(s, func(r pivot.Row) stat.Interval { return r.Ratio }, 1), 1, along,
		metric+" ÷ "+p.p.Baseline, probeTitle(s.Probe)+", ratio to "+p.p.Baseline+" by "+s.Factor+where+".")
	return append(out, figure{"Ratio to " + p.p.Baseline + " by " + s.Factor + where, template.HTML(svg)}), err
}

func (p painter) curvesOf(s pivot.Sweep, get func(pivot.Row) stat.Interval, factor float64) []chart.Curve {
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
