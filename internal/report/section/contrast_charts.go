package section

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// The fewest levels that make a line of values, and a curve of ratios, of which one is 1.
const minLine, minCurve = 2, 3

// contrastFigures draws both values if the contrast has two levels, and the ratios. A numeric factor
// makes curves of either.
func (s source) contrastFigures(c comparison, id string, rows []contrasted) (out []doc.Figure) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r contrasted) bool {
		return r.Ratio.N == 0
	})
	if len(rows) == 0 {
		return nil
	}
	alt := func(what string) string {
		var parts []string
		for _, r := range rows {
			parts = append(parts, c.name(r)+" "+factorOf(r))
		}
		return say("%s, %s, %s: %s.", what, s.Title(rows[0].Probe), c.subject(), prose.Alternatives(parts))
	}
	if f := s.pairedValues(c, rows, alt); f != nil {
		f.ID = id + " values"
		out = append(out, *f)
	}
	a := c.numeric(rows, minCurve)
	if a != nil {
		f := doc.Figure{ID: id + " curve", Caption: say("Ratio by %s", a.factor)}
		curves := s.contrastCurves(c, rows, a, 1, func(r contrasted) stat.Interval { return r.Ratio })
		if x, _, ok := coordinate(rows[0].by.To[a.factor]); ok { // divided by itself
			for i, k := range curves {
				n, _ := slices.BinarySearchFunc(k.Points, x, func(p chart.CurvePoint, x float64) int { return cmp.Compare(p.X, x) })
				curves[i].Points = slices.Insert(k.Points, n, chart.CurvePoint{X: x, Y: 1})
			}
		}
		f.Chart = chart.Sweep{Curves: curves, Reference: 1, X: a.axis, Y: c.quotient(rows[0]), Alt: alt(f.Caption)}
		out = append(out, f)
	}
	if a == nil || !a.all {
		f := s.contrastRatios(c, rows, alt)
		f.ID = id + " ratios"
		out = append(out, *f)
	}
	return out
}

// quotient names the ratio on an axis: "response time, load ÷ idle (lower is better)".
func (c comparison) quotient(r contrasted) string {
	text := prose.Comma(MetricName(r.Metric), c.ratio())
	if rel := c.relative(); rel != "" {
		text = prose.Comma(text, "÷ "+rel)
	} else {
		text = say("%s (%s)", text, Better(r.Metric, r.Unit))
	}
	return text
}

// contrastRatios draws a row per ratio, in groups by network if both networks and levels vary.
func (s source) contrastRatios(c comparison, rows []contrasted, alt func(string) string) *doc.Figure {
	out := &doc.Figure{Caption: say("Ratio")}
	row := func(r contrasted, name string) chart.Row {
		label := prose.Ratio(r.Ratio)
		if r.Same {
			label = "~ " + label
		}
		return ChartRow(name, s.color(r.Network), r.Ratio, 1, label)
	}
	var networks doc.Groups[string, contrasted]
	for _, r := range rows {
		networks.Add(r.Network, r)
	}
	if len(networks.Keys) == 1 || len(networks.Keys) == len(rows) {
		var all []chart.Row
		for _, r := range rows {
			name := r.Network // alone, or the only one
			if inside := c.inside(r); len(networks.Keys) == 1 && inside != "" {
				name = inside
			}
			all = append(all, row(r, name))
		}
		out.Chart = chart.Ratios{Rows: all, Baseline: c.divisor(rows), Axis: c.quotient(rows[0]), Alt: alt(out.Caption)}
		return out
	}
	var gs []chart.RowGroup
	for _, n := range networks.Keys {
		g := chart.RowGroup{Name: n}
		for _, r := range networks.Of[n] {
			g.Rows = append(g.Rows, row(r, c.inside(r)))
		}
		gs = append(gs, g)
	}
	out.Chart = chart.Grouped{Groups: gs, One: c.divisor(rows), Axis: c.quotient(rows[0]), Alt: alt(out.Caption)}
	return out
}

// divisor names the line at 1.
func (c comparison) divisor(rows []contrasted) string {
	if r := c.relative(); r != "" {
		return r
	}
	if c.toVaries() {
		return say("no difference")
	}
	return divided(rows[0].by.To, rows[0].by.To, false, true)
}

// inside names a row among those of its network.
func (c comparison) inside(r contrasted) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.name(r), r.Network), say(", "))
}

// An along is a numeric factor and the place of each row on its axis.
type along struct {
	factor, axis string
	x            []float64 // NaN: not on the axis
	kind         []string  // of the level, "udp-rate" in "udp-rate@50%"
	all          bool      // every row is on it
}

// numeric finds the factor along which the rows make a curve: the compared one if its levels are
// numbers, or else another one. It has at least this many levels.
func (c comparison) numeric(rows []contrasted, least int) *along {
	try := func(factor string, level func(contrasted) string) *along {
		a := along{factor: factor, axis: factor, all: true}
		seen := map[float64]bool{}
		for _, r := range rows {
			x, kind, ok := coordinate(level(r))
			if a.all = a.all && ok; ok {
				seen[x] = true
			}
			if strings.HasSuffix(level(r), "%") {
				a.axis = factor + ", %"
			}
			a.x, a.kind = append(a.x, x), append(a.kind, kind)
		}
		if _, _, ok := coordinate(rows[0].by.To[factor]); ok {
			seen[math.Inf(1)] = true // the divisor's place
		}
		if len(seen) < least {
			return nil
		}
		return &a
	}
	if c.toVaries() {
		return nil
	}
	for k := range rows[0].by.To {
		if a := try(k, func(r contrasted) string { return r.Of[k] }); len(rows[0].by.To) == 1 && a != nil {
			return a
		}
	}
	for _, k := range slices.Sorted(maps.Keys(c.varies)) {
		if a := try(k, func(r contrasted) string { return r.Levels[k] }); a != nil && a.all {
			return a
		}
	}
	return nil
}

// coordinate returns the place of a level on an axis: 1473, 50 of "50%", 50 of "udp-rate@50%".
func coordinate(level string) (x float64, kind string, ok bool) {
	if x, ok := analysis.Quantity(level); ok {
		return x, "", true
	}
	kind, share, ok := strings.Cut(level, "@")
	if x, number := analysis.Quantity(share); ok && number && strings.HasSuffix(share, "%") {
		return x, kind, true
	}
	return math.NaN(), "", false
}

// contrastCurves has a curve per network and per combination of the levels that are not along.
func (s source) contrastCurves(c comparison, rows []contrasted, a *along, factor float64, get func(contrasted) stat.Interval) (out []chart.Curve) {
	at := map[string]int{}
	rest := c.without(a.factor)
	for i, r := range rows {
		if math.IsNaN(a.x[i]) {
			continue
		}
		name := strings.TrimSpace(rest.name(r) + " " + a.kind[i])
		n, ok := at[name]
		if !ok {
			n = len(out)
			at[name] = n
			out = append(out, chart.Curve{Name: name, Color: s.color(r.Network), Dashed: a.kind[i] != "" && a.kind[i] != a.kind[slices.IndexFunc(a.kind, func(k string) bool { return k != "" })]})
		}
		out[n].Points = append(out[n].Points, curvePoint(a.x[i], get(r), factor))
	}
	for i := range out {
		slices.SortFunc(out[i].Points, func(a, b chart.CurvePoint) int { return cmp.Compare(a.X, b.X) })
	}
	return out
}

// fromBase has a line per network from the value at the divisor's level to that at the compared one.
func (s source) fromBase(c comparison, rows []contrasted, a *along, factor float64) (out []chart.Curve) {
	for i, r := range rows {
		base, _, ok := coordinate(r.by.To[a.factor])
		if !ok || math.IsNaN(a.x[i]) {
			continue
		}
		k := chart.Curve{Name: cmp.Or(c.without(a.factor).name(r), r.Network), Color: s.color(r.Network),
			Points: []chart.CurvePoint{curvePoint(base, r.Base, factor), curvePoint(a.x[i], r.Value, factor)}}
		slices.SortFunc(k.Points, func(a, b chart.CurvePoint) int { return cmp.Compare(a.X, b.X) })
		out = append(out, k)
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

// pairedValues draws numerators and denominators in one chart if each row has two levels of its own, or
// all have the same two.
func (s source) pairedValues(c comparison, rows []contrasted, alt func(string) string) *doc.Figure {
	places := map[string]bool{}
	for _, r := range rows {
		places[c.where(r)] = true
	}
	if len(places) < len(rows) || len(rows[0].by.Per) > 0 || rows[0].by.To[analysis.Network]+rows[0].by.To[analysis.Probe] != "" {
		return nil
	}
	top := 0.0
	var all []float64
	for _, r := range rows {
		top = max(top, r.Value.Center, r.Base.Center)
		all = append(all, r.Value.Center, r.Base.Center)
	}
	factor, label := unit.Scale(top, rows[0].Unit)
	d := unit.Decimals(4, factor, all...)
	axis := prose.Comma(MetricName(rows[0].Metric), label)
	of := func(r contrasted) string { return divided(r.Of, r.by.To, false, true) }
	to := func(r contrasted) string { return divided(r.by.To, r.by.To, false, true) }
	out := &doc.Figure{Caption: prose.Capital(say("%s on both sides", MetricName(rows[0].Metric)))}
	if c.level(rows[0]) == "" {
		out.Caption = prose.Capital(prose.Comma(say("%s and %s", of(rows[0]), to(rows[0])), MetricName(rows[0].Metric)))
	}
	if a := c.numeric(rows, minLine); a != nil && rows[0].by.To[a.factor] != "" {
		out.Caption = prose.Capital(say("%s by %s", MetricName(rows[0].Metric), a.factor))
		out.Chart = chart.Sweep{Curves: s.fromBase(c, rows, a, factor), X: a.axis, Y: axis, Alt: alt(out.Caption)}
		return out
	} else if a != nil {
		above := s.contrastCurves(c, rows, a, factor, func(r contrasted) stat.Interval { return r.Value })
		below := s.contrastCurves(c, rows, a, factor, func(r contrasted) stat.Interval { return r.Base })
		for i := range above {
			above[i].Name += " " + of(rows[0])
			below[i].Name += " " + to(rows[0])
			below[i].Dashed = true
		}
		out.Caption = say("%s by %s", out.Caption, a.factor)
		out.Chart = chart.Sweep{Curves: append(above, below...), X: a.axis, Y: axis, Alt: alt(out.Caption)}
		return out
	}
	row := func(name string, color int, i stat.Interval) chart.Row {
		return ChartRow(name, color, i, factor, prose.Fixed(i.Center*factor, d))
	}
	var gs []chart.RowGroup
	for _, r := range rows {
		gs = append(gs, chart.RowGroup{Name: cmp.Or(c.where(r), r.Network), Rows: []chart.Row{row(of(r), s.color(r.Network), r.Value), row(to(r), 0, r.Base)}})
	}
	out.Chart = chart.Grouped{Groups: gs, Axis: axis, Alt: alt(out.Caption)}
	return out
}
