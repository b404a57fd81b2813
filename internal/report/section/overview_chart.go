package section

import (
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// overviewChart draws every ratio of the answer on one axis, by what is measured. There is none for one ratio.
func (s source) overviewChart() (f doc.Figure, ok bool) {
	rows := s.glancedRows()
	if len(rows) < 2 {
		return f, false
	}
	v := chart.Overview{One: s.p.Baseline, Axis: say("ratio")}
	if !s.oneDivisor() {
		v.One = say("no difference")
	} else {
		v.Axis = say("÷ %s", s.p.Baseline)
	}
	var alt []string
	var groups doc.Groups[string, chart.Row]
	for _, g := range rows {
		label := prose.Centered(g.ratio, prose.Digits(g.ratio)) + "×"
		if g.same {
			label = "~ " + label
		}
		name, head := g.name, heading(g.value)
		if !s.oneDivisor() {
			name, head = g.row, prose.Comma(head, g.divides)
		}
		row := ChartRow(name, s.color(g.network), g.ratio, 1, label)
		groups.Add(head, row)
		alt = append(alt, say("%s, %s", g.value, say("%s %s", g.name, label)))
	}
	for _, name := range groups.Keys {
		v.Groups = append(v.Groups, chart.RowGroup{Name: name, Rows: groups.Of[name]})
	}
	v.Alt = say("%s.", alternative(alt))
	f = doc.Figure{ID: "overview", Caption: say("All comparisons of this run"), Chart: v}
	if s.cut.few {
		f.Note = say("Pages with more than %d rows omit charts of ratios, medians and CPU time by probe; the tables have them.", manyRows)
	}
	return f, true
}
