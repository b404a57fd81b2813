package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// minCurve is the fewest levels that make a curve.
const minCurve = 3

// contrastFigures draws both values if the contrast has two levels, and the ratios. A numeric factor
// makes curves of either.
func (s source) contrastFigures(c comparison, id string, rows []contrasted) (out []Figure) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r contrasted) bool {
		return r.Ratio.N == 0 || r.Ratio.Center <= 0 || r.Ratio.Bounded() && r.Ratio.Lo <= 0
	})
	if rows == nil || len(rows) == 0 {
		return nil
	}
	alt := func(what string) string {
		var parts []string
		for _, r := range rows {
			parts = append(parts, c.name(r)+" "+factorOf(r))
		}
		return fmt.Sprintf("%s, %s, %s: %s.", what, s.title(rows[0].Probe), c.subject(), strings.Join(parts, "; "))
	}
	if f := s.pairedValues(c, rows, alt); f != nil {
		f.ID = id + " values"
		out = append(out, *f)
	}
	f := s.contrastRatios(c, rows, alt)
	f.ID = id + " ratios"
	return append(out, *f)
}

// quotient names the ratio on an axis: "response time, load ÷ idle (lower is better)".
func (c comparison) quotient(r contrasted) string {
	text := comma(metricName(r.Metric), c.ratio())
	if rel := c.relative(); rel != "" {
		text = comma(text, "÷ "+rel)
	} else {
		text += " (" + better(r.Unit) + ")"
	}
	return text
}

// contrastRatios draws the ratios along a numeric factor if there is one, and else as rows, in groups
// by network if both networks and levels vary.
func (s source) contrastRatios(c comparison, rows []contrasted, alt func(string) string) *Figure {
	out := &Figure{Caption: "Ratio"}
	one := c.divisor(rows)
	if k, x, name := c.numeric(rows); x != nil {
		curves := s.contrastCurves(c, rows, k, x, 1, func(r contrasted) stat.Interval { return r.Ratio })
		out.Caption += " by " + k
		out.Chart = chart.Sweep{Curves: curves, Reference: 1, X: name, Y: c.quotient(rows[0]), Alt: alt(out.Caption)}
		return out
	}
	row := func(r contrasted, name string) chart.Row {
		label := fixed(r.Ratio.Center, ratioDigits(r.Ratio)) + "×"
		if r.Same {
			label = "~ " + label
		}
		return chartRow(name, s.color(r.Network), r.Ratio, 1, label)
	}
	var networks groups[string, contrasted]
	for _, r := range rows {
		networks.add(r.Network, r)
	}
	if len(networks.keys) == 1 || len(networks.keys) == len(rows) {
		name := c.name
		if len(networks.keys) == 1 {
			name = c.level
		}
		var all []chart.Row
		for _, r := range rows {
			label := name(r)
			if label == "" || len(networks.keys) == 1 && c.within(r) != "" {
				label = strings.Trim(c.within(r)+", "+c.level(r), ", ")
			}
			if label == "" {
				label = r.Network
			}
			all = append(all, row(r, label))
		}
		out.Chart = chart.Ratios{Rows: all, Baseline: one, Axis: c.quotient(rows[0]), Alt: alt(out.Caption)}
		return out
	}
	var gs []chart.RowGroup
	for _, n := range networks.keys {
		g := chart.RowGroup{Name: n}
		for _, r := range networks.of[n] {
			g.Rows = append(g.Rows, row(r, strings.Trim(c.within(r)+", "+c.level(r), ", ")))
		}
		gs = append(gs, g)
	}
	out.Chart = chart.Grouped{Groups: gs, One: one, Axis: c.quotient(rows[0]), Alt: alt(out.Caption)}
	return out
}

// divisor names the line at 1.
func (c comparison) divisor(rows []contrasted) string {
	if r := c.relative(); r != "" {
		return r
	}
	if c.toVaries() {
		return "no difference"
	}
	return divided(rows[0].by.To, rows[0].by.To, false, true)
}

// within is where without the network.
func (c comparison) within(r contrasted) string {
	one := c
	one.many = false
	if r.by.To[analysis.Network] == "" {
		return one.where(r)
	}
	return strings.TrimPrefix(strings.TrimPrefix(one.where(r), r.Network), ", ")
}

// numeric finds the factor along which the rows make a curve: the compared one if its levels are
// numbers, or else another one. It returns the factor, each row's place, and the title of the axis.
func (c comparison) numeric(rows []contrasted) (factor string, x []float64, axis string) {
	try := func(k string, level func(contrasted) string) bool {
		x = nil
		seen := map[float64]bool{}
		percent := false
		for _, r := range rows {
			v, ok := analysis.Quantity(level(r))
			if !ok {
				return false
			}
			x, seen[v] = append(x, v), true
			percent = percent || strings.HasSuffix(level(r), "%")
		}
		factor, axis = k, k
		if percent {
			axis += ", %"
		}
		return len(seen) >= minCurve
	}
	if c.toVaries() {
		return "", nil, ""
	}
	for k := range rows[0].by.To {
		if len(rows[0].by.To) == 1 && try(k, func(r contrasted) string { return r.Of[k] }) {
			return factor, x, axis
		}
	}
	for k := range c.varies {
		if !strings.Contains(k, " ") && try(k, func(r contrasted) string { return r.Levels[k] }) {
			return factor, x, axis
		}
	}
	return "", nil, ""
}

// contrastCurves has a curve per network and per combination of the levels that are not along.
func (s source) contrastCurves(c comparison, rows []contrasted, along string, x []float64, factor float64, get func(contrasted) stat.Interval) (out []chart.Curve) {
	at := map[string]int{}
	rest := c.without(along)
	for i, r := range rows {
		name := rest.name(r)
		n, ok := at[name]
		if !ok {
			n = len(out)
			at[name] = n
			out = append(out, chart.Curve{Name: name, Color: s.color(r.Network)})
		}
		out[n].Points = append(out[n].Points, curvePoint(x[i], get(r), factor))
	}
	for i := range out {
		slices.SortFunc(out[i].Points, func(a, b chart.CurvePoint) int { return int(a.X - b.X) })
	}
	return out
}

// without is the comparison with one factor that does not name rows.
func (c comparison) without(factor string) comparison {
	varies := map[string]bool{}
	for k, v := range c.varies {
		varies[k] = v && k != factor && k != "of "+factor
	}
	c.varies = varies
	return c
}

// pairedValues draws numerators and denominators in one chart if all rows have the same two levels.
func (s source) pairedValues(c comparison, rows []contrasted, alt func(string) string) *Figure {
	if c.toVaries() || len(rows[0].by.Per) > 0 || rows[0].by.To[analysis.Network] != "" || slices.ContainsFunc(rows, func(r contrasted) bool { return c.level(r) != "" }) {
		return nil
	}
	of, to := divided(rows[0].Of, rows[0].by.To, false, true), divided(rows[0].by.To, rows[0].by.To, false, true)
	top := 0.0
	var all []float64
	for _, r := range rows {
		top = max(top, r.Value.Center, r.Base.Center)
		all = append(all, r.Value.Center, r.Base.Center)
	}
	factor, label := unit.Scale(top, rows[0].Unit)
	d := decimals(factor, all...)
	axis := comma(metricName(rows[0].Metric), label)
	out := &Figure{Caption: capital(comma(of+" and "+to, metricName(rows[0].Metric)))}
	value := func(r contrasted) stat.Interval { return r.Value }
	base := func(r contrasted) stat.Interval { return r.Base }
	if k, x, name := c.numeric(rows); x != nil {
		above := s.contrastCurves(c, rows, k, x, factor, value)
		below := s.contrastCurves(c, rows, k, x, factor, base)
		for i := range above {
			above[i].Name += " " + of
			below[i].Name += " " + to
			below[i].Dashed = true
		}
		out.Caption += " by " + k
		out.Chart = chart.Sweep{Curves: append(above, below...), X: name, Y: axis, Alt: alt(out.Caption)}
		return out
	}
	var gs []chart.RowGroup
	for _, r := range rows {
		row := func(name string, color int, i stat.Interval) chart.Row {
			return chartRow(name, color, i, factor, fixed(i.Center*factor, d))
		}
		gs = append(gs, chart.RowGroup{Name: c.name(r), Rows: []chart.Row{row(of, s.color(r.Network), r.Value), row(to, 0, r.Base)}})
	}
	out.Chart = chart.Grouped{Groups: gs, Axis: axis, Alt: alt(out.Caption)}
	return out
}
