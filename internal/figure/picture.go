package figure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A Look is how a figure's values are drawn.
type Look struct {
	SD       bool // the mean and its standard deviation instead of the median and its interval
	Absolute bool // values in their unit instead of ratios
}

// Picture returns the drawing of a figure, whose strings are lang.Texts; an error if nothing was measured.
func (r Result) Picture(look Look) (chart.Sheet, error) {
	look.Absolute = look.Absolute || len(r.To) == 0 && r.Chart != Hops
	s := chart.Sheet{
		Title:    word(r.Caption),
		Subtitle: say("%s, section %s, of %s", lang.Capital(lang.Stored(r.Place)), word(r.Section), word(r.Source)),
		Measured: r.measured(look),
	}
	switch r.Chart {
	case Hops:
		s.Panes = r.hopPanels(look)
	case OverTime:
		s.Panes = r.overPanels()
	case Threads:
		s.Panes = r.threadPanels()
	default:
		s.Panes = r.panes(look)
	}
	if len(s.Panes) == 0 {
		return s, fmt.Errorf("figure %s has nothing to draw", r.ID)
	}
	if r.Chart == Curve && len(r.levels(r.Bars)) > 1 {
		s.Notes = append(s.Notes, say("Line and dashes: %s %s.", r.Bars, strings.Join(r.levels(r.Bars), ", ")))
	}
	if slices.ContainsFunc(r.Published, func(p Published) bool { return p.Seconds != nil || p.Thread != "" }) {
		s.Published = say("published")
	}
	if slices.ContainsFunc(r.Points, func(p Point) bool { _, marks, _ := p.shown(look); return len(marks) > 0 }) {
		s.Published = say("published")
		if slices.ContainsFunc(r.Published, func(p Published) bool { return p.Ratio.Value > 0 }) {
			s.Published = say("published ratio, on weir's own value of what divides")
		}
	}
	if slices.ContainsFunc(r.Points, func(p Point) bool { return p.Busy }) {
		s.Notes = append(s.Notes, say("Other programs used the machine meanwhile, so the intervals are wider."))
	}
	for _, m := range r.Unbounded(look) {
		s.Notes = append(s.Notes, string(m))
	}
	for _, m := range r.Missing {
		s.Notes = append(s.Notes, say("Not measured: %s", Lacking(m)))
	}
	if s.Published == "" && !strings.HasPrefix(r.Numbers, "not published") {
		s.Notes = append(s.Notes, say("Published: %s", word(r.Numbers)))
	}
	for _, text := range []string{r.Note, r.Cannot} {
		if text != "" {
			s.Notes = append(s.Notes, word(text))
		}
	}
	return s, nil
}

// panes has a chart for each panel.
func (r Result) panes(look Look) (out []chart.Pane) {
	for _, g := range r.panels() {
		p := chart.Pane{Title: r.panelTitle(g)}
		switch r.Chart {
		case Curve:
			p.Chart = r.curves(g, look)
		case Matrix:
			p.Chart = r.matrix(g, look)
		default:
			p.Chart = r.bars(g, look)
		}
		out = append(out, p)
	}
	return out
}

// measured names what is drawn of weir's values.
func (r Result) measured(look Look) string {
	switch {
	case r.Chart == OverTime:
		return say("weir, median over trials at each time")
	case r.Chart == Threads:
		return say("weir, the busiest threads of each network")
	case look.SD:
		return say("weir, mean ± standard deviation over blocks")
	case look.Absolute:
		return say("weir, median with its 95 % interval")
	case r.Chart == Matrix:
		return say("weir, median ratio with its interval (all ratios together 95 %)")
	}
	return say("weir, median with its interval (all ratios together 95 %)")
}

// SVG draws the figure as a file, in a language.
func (r Result) SVG(look Look, l *lang.Language) (string, error) {
	s, err := r.Picture(look)
	if err != nil {
		return "", err
	}
	return lang.In(l, s).SVG()
}

// panels returns the points that were measured, or could have been, by panel.
func (r Result) panels() (out [][]Point) {
	var order []string
	at := map[string][]Point{}
	for _, p := range r.Points {
		k := p.Levels[r.Panels]
		if at[k] == nil {
			order = append(order, k)
		}
		at[k] = append(at[k], p)
	}
	for _, k := range order {
		if slices.ContainsFunc(at[k], func(p Point) bool { return p.Value.N > 0 }) {
			out = append(out, at[k])
		}
	}
	return out
}

func (r Result) panelTitle(g []Point) string {
	level := g[0].Levels[r.Panels]
	switch {
	case r.Panels == "":
		return ""
	case r.Panels == analysis.Network || r.Panels == analysis.Probe:
		return level
	case r.Panels == valueFactor:
		return string(lang.Quantity(record.Quantity(level)))
	}
	return r.Panels + " " + level
}

// shown returns what is drawn of a point, with its marks; false if it has nothing.
func (p Point) shown(look Look) (row chart.Row, marks []float64, ok bool) {
	i, s := p.Value, p.Spread
	base := !look.Absolute && p.Base
	if !look.Absolute && !p.Base {
		i, s = p.Ratio, p.RatioSpread
	}
	row = chart.Row{Value: i.Center, Lo: i.Lo, Hi: i.Hi, Bounded: i.Bounded()}
	if look.SD {
		row = chart.Row{Value: s.Mean, Lo: max(0, s.Mean-s.SD), Hi: s.Mean + s.SD, Bounded: s.SD > 0}
	}
	if base {
		row = chart.Row{Value: 1}
	}
	for _, m := range p.Marks {
		v := m.Ratio
		if look.Absolute {
			v = m.Value
		}
		if v > 0 {
			marks = append(marks, v)
		}
	}
	if look.SD && !base && s == (Spread{}) && i.Center > 0 { // no mean
		return row, marks, false
	}
	return row, marks, p.Value.N > 0 && (look.Absolute || p.Base || p.Ratio.N > 0)
}

// scale returns the factor and title of an axis for these points.
func (r Result) scale(g []Point, look Look) (factor float64, axis string) {
	if !look.Absolute {
		return 1, r.ratioTitle(g)
	}
	top, u, metric := 0.0, "", record.Quantity("")
	for _, p := range g {
		if row, marks, ok := p.shown(look); ok {
			top = max(top, row.Value, slices.Max(append(marks, 0)))
			u, metric = p.Unit, p.Metric
		}
	}
	factor, label := unit.Scale(top, u)
	if u == "s" && top < 0.01 { // readers compare microseconds
		factor, label = 1e6, "µs"
	}
	if label == "" {
		return factor, r.axisName(metric)
	}
	return factor, say("%s, %s", r.axisName(metric), label)
}

// axisName names what a panel shows.
func (r Result) axisName(metric record.Quantity) string {
	if len(r.Values) > 1 && r.Panels != valueFactor {
		return say("value")
	}
	return string(lang.Quantity(metric))
}

func (r Result) ratioTitle(g []Point) string {
	metric := record.Quantity("")
	for _, p := range g {
		metric = cmp.Or(metric, p.Metric)
	}
	return say("%s ÷ %s", r.axisName(metric), r.ToName())
}

func (r Result) bars(g []Point, look Look) chart.Bars {
	factor, axis := r.scale(g, look)
	c := chart.Bars{Dots: r.Chart == Dots, Axis: axis, Alt: word(r.Caption)}
	if !look.Absolute {
		c.Reference = 1
	}
	d := r.digits(g, look, factor)
	for _, p := range g {
		name := p.Levels[r.Rows]
		if n := len(c.Groups); n == 0 || c.Groups[n-1].Name != name {
			c.Groups = append(c.Groups, chart.BarGroup{Name: name})
		}
		group := &c.Groups[len(c.Groups)-1]
		row, marks, ok := p.shown(look)
		b := chart.BarRow{Row: scaled(row, factor), Empty: !ok}
		for _, m := range marks {
			b.Published = append(b.Published, m*factor)
		}
		b.Name = p.Levels[r.Bars]
		b.Label = label(b.Row, d, !look.Absolute)
		b.Color = r.color(p)
		if !ok {
			b.Label = say("not measured") // a note has the reason
		}
		group.Bars = append(group.Bars, b)
	}
	if !slices.ContainsFunc(c.Groups, func(g chart.BarGroup) bool { return len(g.Bars) > 1 }) {
		for i := range c.Groups {
			c.Groups[i].Bars[0].Name = ""
			if r.Rows == analysis.Network {
				c.Groups[i].Bars[0].Color = r.networkColor(c.Groups[i].Name)
			}
		}
	}
	return c
}

// color is that of the level that distinguishes bars side by side.
func (r Result) color(p Point) int {
	if len(r.levels(r.Bars)) > 1 {
		return slices.Index(r.levels(r.Bars), p.Levels[r.Bars]) + 1
	}
	if r.Rows == analysis.Network {
		return r.networkColor(p.Levels[r.Rows])
	}
	return slices.Index(r.levels(r.Rows), p.Levels[r.Rows])
}

func (r Result) curves(g []Point, look Look) chart.Sweep {
	factor, axis := r.scale(g, look)
	c := chart.Sweep{X: word(axisX(r.X)), Y: axis, Alt: word(r.Caption)}
	if !look.Absolute {
		c.Reference = 1
	}
	for _, p := range g {
		name := p.Levels[r.Rows]
		dashed := false
		if bars := r.levels(r.Bars); len(bars) > 1 {
			name += ", " + p.Levels[r.Bars]
			dashed = p.Levels[r.Bars] != bars[0]
		}
		if n := len(c.Curves); n == 0 || c.Curves[n-1].Name != name {
			color := slices.Index(r.levels(r.Rows), p.Levels[r.Rows])
			c.Curves = append(c.Curves, chart.Curve{Name: name, Color: color, Dashed: dashed})
		}
		k := &c.Curves[len(c.Curves)-1]
		row, marks, ok := p.shown(look)
		x, isNumber := analysis.Quantity(p.Levels[r.X])
		if !ok || !isNumber {
			continue
		}
		row = scaled(row, factor)
		k.Points = append(k.Points, chart.CurvePoint{X: x, Y: row.Value, Lo: row.Lo, Hi: row.Hi, Bounded: row.Bounded})
		for _, m := range marks {
			k.Published = append(k.Published, chart.CurvePoint{X: x, Y: m * factor})
		}
	}
	c.Curves = slices.DeleteFunc(c.Curves, func(k chart.Curve) bool { return k.Points == nil })
	c.Even = r.crowded()
	return c
}
