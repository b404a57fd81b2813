package report

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// OfFigure is the report of one figure of a document.
func OfFigure(r figure.Result) *Document {
	s := Section{ID: r.ID, Title: say("%s, %s: %s", r.ID, word(r.Place), word(r.Caption)),
		About: sentences(word(r.Question), say("Published in %s, section %s: %s.", word(r.Source), word(r.Section), word(r.Numbers))), Data: r}
	if len(r.Points) > 0 {
		s.Tables = append(s.Tables, figureTable(r))
	}
	if len(r.Chains) > 0 {
		s.Tables = append(s.Tables, figureHops(r))
	}
	if len(r.Comparisons) > 0 {
		t := table(r.ID+" published", comparisonColumns(r.Comparisons)...)
		t.Title = say("Against the published ratios")
		s.Tables = append(s.Tables, t)
	}
	if len(r.Table) > 0 {
		s.Tables = append(s.Tables, wordTable(r))
	}
	if slices.ContainsFunc(r.Points, func(p figure.Point) bool { return p.Busy }) {
		s.Notes = append(s.Notes, say("Disturbed trials count in some cells, because too few others remain: their intervals are wider."))
	}
	for _, m := range r.Missing {
		s.Notes = append(s.Notes, say("not measured: %s", figure.Lacking(m)))
	}
	if slices.ContainsFunc(r.Points, func(p figure.Point) bool { return len(p.Marks) > 0 }) {
		s.Notes = append(s.Notes, say("A mark is a published ratio times weir's own value of the cell that divides, or a value of another machine: only ratios are compared."))
	}
	for _, text := range []string{r.Note, r.Cannot} {
		if text != "" {
			s.Notes = append(s.Notes, word(text))
		}
	}
	if r.Instead != "" {
		s.Notes = append(s.Notes, say("Instead: %s", word(r.Instead)))
	}
	d := &Document{Sections: []Section{s}}
	if len(r.Outcomes) > 0 {
		c := claims(r.Outcomes)
		c.Title = say("Verdicts")
		d.Sections = append(d.Sections, c)
	}
	return d
}

// figureTable has a row for each cell.
func figureTable(r figure.Result) Table {
	ps := r.Points
	values := func(get func(figure.Point) stat.Interval) []stat.Interval {
		var out []stat.Interval
		for _, p := range ps {
			out = append(out, get(p))
		}
		return out
	}
	cell := names("cell", ps, func(p figure.Point) string { return r.Name(p.Levels) })
	cell.Whole = true
	cs := []column{cell,
		layout(Column{Head: say("median"), Keep: 9}, ps, func(p figure.Point) Cell {
			if p.Value.N == 0 {
				return Cell{Text: "–"}
			}
			return Cell{Text: unit.Format(p.Value.Center, p.Unit), Value: number(p.Value.Center)}
		}),
		layout(Column{Head: say("mean ± sd"), Keep: 4}, ps, func(p figure.Point) Cell {
			if p.Value.N < 2 || p.Spread == (figure.Spread{}) && p.Value.Center > 0 { // no mean
				return Cell{}
			}
			return Cell{Text: unit.Format(p.Spread.Mean, p.Unit) + " ± " + unit.Format(p.Spread.SD, p.Unit)}
		})}
	if len(r.To) > 0 {
		ratios := values(func(p figure.Point) stat.Interval { return p.Ratio })
		cs = append(cs, layout(Column{Head: say("ratio"), Base: "1", Kind: "ratio", Keep: 9}, ratios, func(i stat.Interval) Cell {
			if i.N == 0 {
				return Cell{}
			}
			return ratioCell(i, ratioDigits(i))
		}), layout(Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 8}, ratios, func(i stat.Interval) Cell {
			return intervalCell(i, 1, ratioDigits(i))
		}))
	} else {
		cs = append(cs, layout(Column{Head: say("interval"), Kind: "interval", Keep: 8}, ps, func(p figure.Point) Cell {
			if !p.Value.Bounded() {
				return Cell{}
			}
			return Cell{Text: "[" + unit.Format(p.Value.Lo, p.Unit) + ", " + unit.Format(p.Value.Hi, p.Unit) + "]"}
		}))
	}
	cs = append(cs, layout(Column{Head: say("mark"), Keep: 9}, ps, func(p figure.Point) Cell {
		var parts []string
		for _, m := range p.Marks {
			switch {
			case len(r.To) > 0 && m.Ratio > 0:
				parts = append(parts, fixed(m.Ratio, 2)+"×")
			case len(r.To) == 0 && m.Value > 0:
				parts = append(parts, unit.Format(m.Value, p.Unit))
			}
		}
		return Cell{Text: list(parts)}
	}), layout(Column{Head: say("blocks"), Kind: "blocks", Keep: 3}, values(func(p figure.Point) stat.Interval { return p.Value }), func(i stat.Interval) Cell {
		return Cell{Text: trim(float64(i.N)), Value: number(float64(i.N))}
	}))
	t := table(r.ID+" table", cs...)
	if len(r.To) > 0 {
		t.Title = say("Ratios are to %s, in the same block", r.ToName())
	}
	return t
}

func figureHops(r figure.Result) Table {
	t := table(r.ID+" hops",
		names("network", r.Chains, func(h figure.Hop) string { return h.Network }),
		layout(Column{Head: say("value"), Left: true, Keep: 8}, r.Chains, func(h figure.Hop) Cell { return Cell{Text: h.Probe + " " + string(h.Metric)} }),
		layout(Column{Head: say("hops"), Keep: 9}, r.Chains, func(h figure.Hop) Cell { return Cell{Text: trim(float64(h.Segments))} }),
		layout(Column{Head: say("measured"), Keep: 9}, r.Chains, func(h figure.Hop) Cell {
			return Cell{Text: unit.Format(h.Value.Center, h.Unit), Value: number(h.Value.Center)}
		}),
		layout(Column{Head: say("ratio"), Base: "1", Kind: "ratio", Keep: 9}, r.Chains, func(h figure.Hop) Cell {
			if h.Ratio.N == 0 {
				return Cell{}
			}
			return ratioCell(h.Ratio, ratioDigits(h.Ratio))
		}),
		layout(Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 8}, r.Chains, func(h figure.Hop) Cell {
			return intervalCell(h.Ratio, 1, ratioDigits(h.Ratio))
		}))
	t.Title = say("Ratios are to the sum of the segments for times, and to 1 hop for other values, in the same block")
	return t
}

func comparisonColumns(cs []figure.Comparison) []column {
	return []column{
		names("cell", cs, func(c figure.Comparison) string { return c.Of }),
		layout(Column{Head: "÷", Left: true, Keep: 9}, cs, func(c figure.Comparison) Cell { return Cell{Text: c.To} }),
		layout(Column{Head: say("published"), Base: "1", Keep: 9}, cs, func(c figure.Comparison) Cell {
			return Cell{Text: fixed(c.Published, 2) + "×", Value: number(c.Published)}
		}),
		layout(Column{Head: say("here"), Base: "1", Kind: "ratio", Keep: 9}, cs, func(c figure.Comparison) Cell {
			if c.Here.N == 0 {
				return Cell{Text: "–", More: []string{word(c.Missing)}}
			}
			return ratioCell(c.Here, ratioDigits(c.Here))
		}),
		layout(Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 8}, cs, func(c figure.Comparison) Cell {
			return intervalCell(c.Here, 1, ratioDigits(c.Here))
		}),
	}
}

// wordTable is a table of words as the document prints it; no column of it is dropped.
func wordTable(r figure.Result) Table {
	t := Table{ID: r.ID + " words", Title: say("As published"), Prose: true}
	for i, head := range r.Table[0] {
		t.Columns = append(t.Columns, Column{Head: word(head), Left: true, Keep: 9, Whole: i == 0})
	}
	for _, row := range r.Table[1:] {
		var cells []string
		for _, s := range row {
			cells = append(cells, word(s))
		}
		t.Rows = append(t.Rows, Row{Cells: texts(cells...)})
	}
	return t
}

// FigureVerdict sums up the verdicts of a figure's claims: "2 hold, 1 does not".
func FigureVerdict(r figure.Result) string {
	n := map[claim.Verdict]int{}
	for _, o := range r.Outcomes {
		n[o.Verdict]++
	}
	var parts []string
	for _, v := range []struct {
		is         claim.Verdict
		one, other string
	}{{claim.Holds, "holds", "hold"}, {claim.Fails, "does not hold", "do not hold"}, {claim.Undecided, "is undecided", "are undecided"}, {claim.Untestable, "was not tested", "were not tested"}} {
		switch {
		case n[v.is] == 1:
			parts = append(parts, "1 "+v.one)
		case n[v.is] > 1:
			parts = append(parts, trim(float64(n[v.is]))+" "+v.other)
		}
	}
	return strings.Join(parts, ", ")
}
