package several

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// beforeAfter fills a page with what networks cost on both sides, and the changes.
func (t combined) beforeAfter(d *doc.Document) {
	var sides [2][]*analysis.Run
	var conditions []map[string][]byte
	for n, l := range t.lanes {
		for _, i := range l.runs {
			sides[n], conditions = append(sides[n], t.runs[i].Analysis), append(conditions, t.facts[i])
		}
	}
	c := analysis.Compare(sides[0], sides[1], 0)
	compared := Comparison(c)
	compared.Sections[0].Figures = t.byProbe(t.sideChart)
	c.Differ = facts.Differ(conditions) // the page has a table of its own
	d.Analysis = c
	sure := say("all changes hold together with %s %% confidence", prose.Trim(100*c.Confidence))
	if !slices.ContainsFunc(c.Changes, func(x analysis.Change) bool { return x.Ratio.Bounded() }) {
		sure = say("one run a side cannot tell a change from the difference between runs")
	}
	d.Head = append(d.Head, doc.Fact{Key: say("how sure"), Value: sure})
	answer := t.changeAnswer(c)
	if len(t.runs) == 2 { // as a run and its repetition, which can show large changes alone
		answer.About = prose.Sentences(t.held(), answer.About)
	}
	d.Answer = told(answer)
	d.Sections = append([]doc.Section{answer}, compared.Sections...)
	d.Sections = append(d.Sections, t.differ(), t.perRun())
}

// changeAnswer has a sentence for each network: what became worse or better, and what shows no change.
func (t combined) changeAnswer(c analysis.Comparison) doc.Section {
	x := doc.Section{ID: "answer", Title: say("Answer"), Box: true, About: say("%s.", prose.Capital(t.why)), Notes: section.Datapath(t.runs[0])}
	kinds := []string{"WORSE", "better", "~", "cannot tell"}
	words := []string{say("worse: "), say("better: "), say("no change shown ~: "), say("cannot tell: ")}
	networks := doc.Groups[string, [2]string]{} // kinds and texts
	for _, one := range c.Changes {
		d := prose.Digits(one.A.Interval, one.B.Interval)
		text := fmt.Sprintf("%s %s× → %s×", prose.Comma(prose.Comma(t.words.Short(one.Probe), prose.Levels(one.Levels)), one.Compared), prose.Fixed(one.A.Center, d), prose.Fixed(one.B.Center, d))
		if r := one.Ratio; r.Bounded() {
			text += say(" (%s×%s)", prose.Centered(r.Interval, prose.Digits(r.Interval)), prose.RatioInterval(r.Interval))
		}
		kind := verdict(one)
		if kind == "" { // beyond the bound of 0, or not: a bounded change has a verdict
			kind = "~"
		}
		networks.Add(one.Network, [2]string{kind, text})
	}
	for _, n := range networks.Keys {
		var parts []string
		for i, kind := range kinds {
			var of []string
			for _, one := range networks.Of[n] {
				if one[0] == kind {
					of = append(of, one[1])
				}
			}
			if of != nil {
				parts = append(parts, words[i]+prose.List(of))
			}
		}
		x.Lines = append(x.Lines, doc.Line{Network: n, Text: say("%s.", prose.Alternatives(parts))})
	}
	return x
}

// sideBySide fills a page with a column for each machine.
func (t combined) sideBySide(d *doc.Document) {
	answer := doc.Section{ID: "answer", Title: say("Answer"), Box: true, About: prose.Sentences(t.held(), say("%s.", prose.Capital(t.why))),
		Notes: []string{say("Ratios of a network are in the order of the machines; the table has their intervals. They compare what networks cost relative to each machine's own baseline; " +
			"absolute values also compare the machines.")}}
	of := t.compared()
	var networks doc.Groups[string, analysis.PooledCell]
	for _, c := range of {
		if c.Ratio.N > 0 {
			networks.Add(c.Network, c)
		}
	}
	for _, n := range networks.Keys {
		answer.Lines = append(answer.Lines, doc.Line{Network: n, Text: t.sideClauses(networks.Of[n])})
	}
	ratioTable := []doc.Filled{t.cells(of)}
	valueTable := []doc.Filled{t.cells(t.p.Cells)}
	for _, l := range t.lanes {
		pair := doc.Ratios(of, l.name, func(c analysis.PooledCell) (stat.Interval, bool) { return t.p.RatioOver(c, l.runs), false })
		pair[0].Head, pair[0].Unit = l.name, l.about
		ratioTable = append(ratioTable, pair[:2]...)
		valueTable = append(valueTable, doc.Layout(doc.Column{Head: l.name, Unit: l.about, Keep: 8}, t.p.Cells, func(c analysis.PooledCell) doc.Cell {
			v := t.p.ValueOver(c, l.runs)
			if v.N == 0 {
				return doc.Cell{}
			}
			return doc.Cell{Text: unit.Format(v.Center, c.Unit), Value: doc.Number(v.Center)}
		}))
	}
	x := doc.Section{ID: "ratios", Title: say("What networks cost on each machine, %s", t.divisor()), Tables: []doc.Table{doc.Tabulate("sides", ratioTable...)},
		About: say("An interval of one run covers only this run; that of several covers their differences."), Figures: t.byProbe(t.sideChart)}
	for i, c := range of {
		x.Tables[0].Rows[i].Network = c.Network
	}
	values := doc.Section{ID: "values", Title: say("Absolute values"), Tables: []doc.Table{doc.Tabulate("side-values", valueTable...)}}
	for i, c := range t.p.Cells {
		values.Tables[0].Rows[i].Network = c.Network
	}
	d.Head = append(d.Head, doc.Fact{Key: say("how sure"), Value: say("the ratios of each machine hold together with %s %% confidence", prose.Trim(100*t.p.Confidence))})
	d.Answer = told(answer)
	d.Sections = []doc.Section{answer, x, values, t.differ(), t.perRun(), t.method()}
}

// sideClauses says, probe by probe, what a network costs on each machine.
func (t combined) sideClauses(cells []analysis.PooledCell) string {
	var probes doc.Groups[string, analysis.PooledCell]
	for _, c := range cells {
		probes.Add(prose.Comma(t.words.Short(c.Probe), c.Compared), c)
	}
	var parts []string
	for _, what := range probes.Keys {
		var on []string
		for _, l := range t.lanes {
			on = append(on, t.span(probes.Of[what], l))
		}
		parts = append(parts, say("%s %s", what, strings.Join(on, " / ")))
	}
	return say("%s (%s).", prose.List(parts), t.divisor())
}

// span returns the ratio of one cell in a lane, or the range of several.
func (t combined) span(cells []analysis.PooledCell, l lane) string {
	var all []stat.Interval
	for _, c := range cells {
		if i := t.p.RatioOver(c, l.runs); i.N > 0 {
			all = append(all, i)
		}
	}
	if all == nil {
		return "–"
	}
	byRatio := func(a, b stat.Interval) int { return cmp.Compare(a.Center, b.Center) }
	lo, hi := slices.MinFunc(all, byRatio), slices.MaxFunc(all, byRatio)
	if hi.Center > lo.Center {
		return say("%s to %s", prose.Ratio(lo), prose.Ratio(hi))
	}
	return prose.Ratio(lo)
}

// byProbe returns a figure for each probe, condition and comparison.
func (t combined) byProbe(draw func(cells []analysis.PooledCell, caption string) doc.Chart) (out []doc.Figure) {
	var conditions doc.Groups[[3]string, analysis.PooledCell]
	for _, c := range t.compared() {
		if c.Ratio.N > 0 {
			conditions.Add([3]string{c.Probe, prose.Levels(c.Levels), c.Compared}, c)
		}
	}
	for _, k := range conditions.Keys {
		cells := conditions.Of[k]
		caption := prose.Comma(t.words.Under(k[0], cells[0].Levels), k[2])
		out = append(out, doc.Figure{ID: strings.Join(append([]string{"lanes"}, k[:]...), " "), Caption: caption, Probe: k[0], Chart: draw(cells, caption)})
	}
	return out
}

// scale names the line at 1 and the axis of a chart of ratios.
func (s several) scale(c analysis.PooledCell) (one, axis string) {
	one, of := s.p.Baseline, "÷ "+s.p.Baseline
	if c.Compared != "" {
		one, of = say("no difference"), say("ratio")
	}
	return one, say("%s %s (%s)", section.MetricName(c.Metric), of, section.Better(c.Metric, c.Unit))
}

// sideChart has a group of rows for each network, a row for each lane.
func (t combined) sideChart(cells []analysis.PooledCell, caption string) doc.Chart {
	g := chart.Grouped{}
	g.One, g.Axis = t.scale(cells[0])
	var alt []string
	for _, c := range cells {
		group := chart.RowGroup{Name: c.Network}
		for _, l := range t.lanes {
			if i := t.p.RatioOver(c, l.runs); i.N > 0 {
				label := prose.Ratio(i)
				group.Rows = append(group.Rows, section.ChartRow(l.name, doc.Color(t.p.Networks, t.p.Baseline, c.Network), i, 1, label))
				alt = append(alt, fmt.Sprintf("%s %s %s", c.Network, l.name, label))
			}
		}
		g.Groups = append(g.Groups, group)
	}
	g.Alt = say("Ratios, %s: %s.", caption, prose.Alternatives(alt))
	return g
}
