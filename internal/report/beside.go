package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// A beside is several tools that measure the same, a row for each.
type beside struct {
	Title   string
	Columns []column
	Rows    [][]cell // the same, by row
	Notes   []string // where they agree
	Why     []string // they may differ
}

// sideBySide is empty where no two probes of the run measure the same.
func (r Run) sideBySide(p analysed) []beside {
	measures := map[string]string{}
	for probe, t := range r.Tools {
		measures[probe] = t.Measures
	}
	var out []beside
	for _, a := range p.Agreements(measures) {
		b := beside{Title: besideTitle(a), Columns: besideColumns(a, p)}
		b.Rows = byRow(b.Columns)
		b.Notes = agreement(a, p.Baseline)
		for _, t := range a.Tables {
			if why := r.Tools[t.Probe].Differs; why != "" {
				b.Why = append(b.Why, t.Probe+": "+why)
			}
		}
		out = append(out, b)
	}
	return out
}

func besideTitle(a analysis.Agreement) string {
	s := a.Measures + " by several tools"
	if a.Datagram != "" {
		s += ", datagrams of " + a.Datagram + " bytes"
	}
	if l := levelText(a.Levels); l != "" {
		s += ", " + l
	}
	return s + ": " + better(a.Unit)
}

// besideColumns has of every network the value, and the ratio unless it is the
// baseline.
func besideColumns(a analysis.Agreement, p analysed) []column {
	names := column{Head: "tool", Left: true, Class: "name", keep: 9}
	for _, t := range a.Tables {
		names.Cells = append(names.Cells, t.Probe)
	}
	out := []column{names}
	for _, n := range p.Networks {
		var rows []analysis.Row
		for _, t := range a.Tables {
			r, _ := t.Row(n) // a row without trials has no number
			rows = append(rows, r)
		}
		value := numbers(n, a.Unit, rows, func(r analysis.Row) (float64, bool) { return r.Value.Center, r.Value.N > 0 })
		value.Class, value.keep = "value", 9
		out = append(out, value, valueSpans(a.Unit, rows))
		if n != p.Baseline {
			out = append(out, ratios(rows, "÷ "+p.Baseline, func(r analysis.Row) (stat.Interval, bool) { return r.Ratio, r.Same })...)
		}
	}
	return filled(out)
}

// valueSpans is the column of the values' intervals, in the unit of the values.
func valueSpans(base string, rows []analysis.Row) column {
	top := 0.0
	var vs []float64
	for _, r := range rows {
		if r.Value.N > 0 {
			vs = append(vs, r.Value.Center)
			top = max(top, math.Abs(r.Value.Center))
		}
	}
	factor, _ := unit.Scale(top, base)
	for i := range vs {
		vs[i] *= factor
	}
	d := decimals(vs)
	c := column{Head: "interval", Class: "interval", keep: 5}
	for _, r := range rows {
		s := ""
		if i := r.Value; i.Bounded() {
			i.Lo, i.Hi = i.Lo*factor, i.Hi*factor
			s = bracket(i, d)
		}
		c.Cells = append(c.Cells, s)
	}
	return c
}

// agreement says of every network whether the tools' intervals meet.
func agreement(a analysis.Agreement, baseline string) []string {
	var out []string
	for _, c := range a.Ratios {
		out = append(out, camps(c, c.Network+" ÷ "+baseline, func(v float64) string { return fixed(v, 3) + "×" }))
	}
	for _, c := range a.Values {
		out = append(out, camps(c, c.Network, func(v float64) string { return unit.Format(v, a.Unit) }))
	}
	if out == nil {
		return []string{"too few blocks for intervals: nothing can be said about agreement"}
	}
	return out
}

func camps(c analysis.Clusters, what string, format func(float64) string) string {
	span := func(x analysis.Cluster) string {
		lo, hi := format(x.Lo), format(x.Hi)
		if lo == hi {
			return lo
		}
		return lo + " to " + hi
	}
	if len(c.Clusters) == 1 {
		return fmt.Sprintf("%s: the %d tools agree within their intervals, which all hold %s", what, len(c.Clusters[0].Probes), span(c.Clusters[0]))
	}
	var parts []string
	for _, x := range c.Clusters {
		parts = append(parts, fmt.Sprintf("%s (%s)", span(x), strings.Join(x.Probes, ", ")))
	}
	return fmt.Sprintf("%s: the tools do not agree: %s", what, strings.Join(parts, "; "))
}
