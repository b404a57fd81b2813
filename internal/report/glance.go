package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A glance is a matrix of ratios: networks by probes, or the levels of one probe by
// networks.
type glance struct {
	Heads []legend // a probe's has no color
	Rows  []glanceRow
}

type glanceRow struct {
	legend
	Cells []glanceCell
}

type glanceCell struct {
	Ratio, Interval string
	Same            bool
	Shade           template.CSS // a tint that grows with the distance from 1
}

// newGlance is empty when a probe has several tables or there is nothing to compare.
func newGlance(p analysed, paint painter) glance {
	var g glance
	seen := map[string]bool{}
	for _, t := range p.Tables {
		if seen[t.Probe] {
			return glance{}
		}
		seen[t.Probe] = true
		g.Heads = append(g.Heads, legend{Name: probeTitle(t.Probe)})
	}
	if p.Comparisons == 0 {
		return glance{}
	}
	for _, n := range p.Networks {
		if n == p.Baseline {
			continue
		}
		row := glanceRow{legend: paint.legend(n)}
		for _, t := range p.Tables {
			row.Cells = append(row.Cells, glanceOf(t, n))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// levelGlance shows the tables of one probe together. Of the baseline, which has no
// ratio, it shows the value.
func levelGlance(tables []analysis.Table, networks []string, paint painter) glance {
	var g glance
	for _, n := range networks {
		g.Heads = append(g.Heads, paint.legend(n))
	}
	for _, t := range tables {
		row := glanceRow{legend: legend{Name: levelText(t.Levels)}}
		for _, n := range networks {
			c := glanceOf(t, n)
			for _, r := range t.Rows {
				if r.Network == n && r.Baseline && r.Value.N > 0 {
					c.Ratio = unit.Format(r.Value.Center, t.Unit)
				}
			}
			row.Cells = append(row.Cells, c)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func glanceOf(t analysis.Table, network string) glanceCell {
	for _, r := range t.Rows {
		if r.Network == network && r.Refused != "" {
			return glanceCell{Ratio: "no verdict", Interval: "disturbed"}
		}
		if r.Network != network || r.Ratio.N == 0 {
			continue
		}
		d := ratioDigits(r.Ratio)
		c := glanceCell{Ratio: fixed(r.Ratio.Center, d) + "×"}
		if r.Ratio.Bounded() {
			c.Interval = bracket(r.Ratio, d)
			c.Same, c.Shade = r.Same, shade(r.Ratio, t.Unit)
		} else {
			c.Interval = "no interval"
		}
		return c
	}
	return glanceCell{Ratio: "–"}
}

// shade tints a cell by how far the ratio is from 1, and to which side.
func shade(i stat.Interval, u string) template.CSS {
	if i.Contains(1) || i.Center <= 0 {
		return "none"
	}
	color := "good"
	if (i.Center < 1) != record.LowerIsBetter(u) {
		color = "bad"
	}
	strength := min(34, 4+30*math.Abs(math.Log2(i.Center)))
	return template.CSS(fmt.Sprintf("color-mix(in srgb, var(--%s) %.0f%%, transparent)", color, strength))
}
