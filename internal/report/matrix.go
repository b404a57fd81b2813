package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/unit"
)

// matrices draws the values from each name to each other, one figure per network.
func (s source) matrices(m analysis.Matrix) (out []Figure) {
	for _, n := range s.p.Networks {
		values := map[[2]string]float64{}
		base, metric := "", ""
		for at, t := range m.Tables {
			if r, ok := t.Row(n); ok && r.Value.N > 0 {
				base, metric = t.Unit, t.Metric
				values[at] = r.Value.Center
			}
		}
		caption := "by direction, " + n
		if l := levelText(m.Levels); l != "" {
			caption += ", " + l
		}
		out = append(out, s.heat(m.From, m.To, values, analysis.Table{Probe: m.Probe, Metric: metric, Unit: base, Levels: m.Levels}, "by direction "+n, caption)...)
	}
	return out
}

// hostCharts draws the values from each host to each other, one figure per network;
// none when the study does not measure all pairs of hosts.
func (s source) hostCharts(t analysis.Table) (out []Figure) {
	for _, r := range t.Rows {
		names, medians := r.Hosts()
		out = append(out, s.heat(names, names, medians, t, "by host "+r.Network, "by host of client and server, median over blocks, "+r.Network)...)
	}
	return out
}

// heat draws values of a table's metric by from and to; nothing when there are none.
func (s source) heat(from, to []string, values map[[2]string]float64, t analysis.Table, id, caption string) []Figure {
	if len(values) == 0 {
		return nil
	}
	factor, label, d := inOneUnit(t.Unit, slices.Collect(maps.Values(values)))
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
	caption = capital(metric + " " + caption)
	text := s.title(t.Probe) + ", " + caption + ": " + strings.Join(alt, "; ") + "."
	return []Figure{{ID: tableID(t) + " " + id, Caption: caption,
		Chart: chart.Heat{Rows: from, Columns: to, Cells: cells, Axis: axis(metric, label), Alt: text}}}
}
