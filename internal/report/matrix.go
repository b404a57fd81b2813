package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/pivot"
	"github.com/weir-bench/weir/internal/unit"
)

// matrices draws what goes from each name to each other, one figure per network.
func (p painter) matrices(m pivot.Matrix) ([]figure, error) {
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

func (p painter) matrix(m pivot.Matrix, network string) (figure, error) {
	cells := make([][]chart.Cell, len(m.From))
	var found []float64
	var alt []string
	base, metric := "", ""
	for i, from := range m.From {
		cells[i] = make([]chart.Cell, len(m.To))
		for n, to := range m.To {
			t := m.Tables[[2]string{from, to}]
			for _, r := range t.Rows {
				if r.Network == network && r.Value.N > 0 {
					base, metric = t.Unit, metricName(t.Metric)
					cells[i][n] = chart.Cell{Value: r.Value.Center, Label: "?"}
					found = append(found, r.Value.Center)
					alt = append(alt, fmt.Sprintf("%s to %s %s", from, to, unit.Format(r.Value.Center, t.Unit)))
				}
			}
		}
	}
	if found == nil {
		return figure{}, nil
	}
	top := 0.0
	for _, v := range found {
		top = max(top, v)
	}
	factor, label := scale(top, base)
	for i := range found {
		found[i] *= factor
	}
	d := decimals(found)
	for _, row := range cells {
		for n, x := range row {
			if x.Label != "" {
				row[n] = chart.Cell{Value: x.Value * factor, Label: fixed(x.Value*factor, d)}
			}
		}
	}
	caption := fmt.Sprintf("%s by direction, %s", strings.ToUpper(metric[:1])+metric[1:], network)
	if l := levelText(m.Levels); l != "" {
		caption += ", " + l
	}
	svg, err := chart.Heat(m.From, m.To, cells, metric+label, probeTitle(m.Probe)+", "+caption+": "+strings.Join(alt, "; ")+".")
	return figure{caption, template.HTML(svg)}, err
}
