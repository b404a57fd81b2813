package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/unit"
)

// matrices draws what goes from each name to each other, one figure per network.
func (p painter) matrices(m analysis.Matrix) ([]figure, error) {
	var out []figure
	for _, n := range p.p.Networks {
		f, err := p.matrix(m, n)
		if err != nil {
			return out, err
		}
		if f.SVG != "" {
			out = append(out, f)
		}
	}
	return out, nil
}

func (p painter) matrix(m analysis.Matrix, network string) (figure, error) {
	values := map[[2]string]float64{}
	base, metric := "", ""
	for at, t := range m.Tables {
		for _, r := range t.Rows {
			if r.Network == network && r.Value.N > 0 {
				base, metric = t.Unit, t.Metric
				values[at] = r.Value.Center
			}
		}
	}
	caption := "by direction, " + network
	if l := levelText(m.Levels); l != "" {
		caption += ", " + l
	}
	return heat(m.From, m.To, values, analysis.Table{Probe: m.Probe, Metric: metric, Unit: base}, caption)
}

// hosts draws what goes from each host to each other, one figure per network; none
// when the study does not measure all pairs of hosts.
func (p painter) hosts(t analysis.Table) ([]figure, error) {
	var out []figure
	for _, r := range t.Rows {
		names, medians := r.Hosts()
		caption := "by host of client and server, median over blocks, " + r.Network
		f, err := heat(names, names, medians, t, caption)
		if err != nil {
			return out, err
		}
		if f.SVG != "" {
			out = append(out, f)
		}
	}
	return out, nil
}

// heat draws the values of a table's metric by from and to; nothing when there are
// none.
func heat(from, to []string, values map[[2]string]float64, t analysis.Table, caption string) (figure, error) {
	if len(values) == 0 {
		return figure{}, nil
	}
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	factor, label := scale(top, t.Unit)
	var scaled []float64
	for _, v := range values {
		scaled = append(scaled, v*factor)
	}
	d := decimals(scaled)
	cells := make([][]chart.Cell, len(from))
	var alt []string
	for i, f := range from {
		cells[i] = make([]chart.Cell, len(to))
		for n, g := range to {
			if v, ok := values[[2]string{f, g}]; ok {
				cells[i][n] = chart.Cell{Value: v * factor, Label: fixed(v*factor, d)}
				alt = append(alt, fmt.Sprintf("%s to %s %s", f, g, unit.Format(v, t.Unit)))
			}
		}
	}
	metric := metricName(t.Metric)
	caption = strings.ToUpper(metric[:1]) + metric[1:] + " " + caption
	svg, err := chart.Heat(from, to, cells, metric+label, probeTitle(t.Probe)+", "+caption+": "+strings.Join(alt, "; ")+".")
	return figure{caption, template.HTML(svg)}, err
}
