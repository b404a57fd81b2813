package published

import (
	"slices"

	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// OfFigure is the report of one figure of a document.
func OfFigure(r figure.Result) *doc.Document {
	s := doc.Section{ID: r.ID, Title: say("%s, %s: %s", r.ID, word(r.Place), word(r.Caption)),
		About: result(r), Data: r,
		Lines: []doc.Line{{Text: prose.Sentences(word(r.Question), say("Published in %s, section %s: %s.", word(r.Source), word(r.Section), word(r.Numbers)))}}}
	if len(r.Points) > 0 {
		s.Tables = append(s.Tables, figureTable(r))
	}
	if len(r.Chains) > 0 {
		s.Tables = append(s.Tables, figureHops(r))
	}
	if len(r.Comparisons) > 0 {
		t := doc.Tabulate(r.ID+" published", comparisonColumns(r.Comparisons)...)
		t.Title = say("Against the published ratios")
		s.Tables = append(s.Tables, t)
	}
	if len(r.Table) > 0 {
		s.Tables = append(s.Tables, wordTable(r))
	}
	if slices.ContainsFunc(r.Points, func(p figure.Point) bool { return p.Busy }) {
		s.Notes = append(s.Notes, say("Disturbed trials count in some cells, because too few others remain: their intervals are wider."))
	}
	for _, m := range r.Unbounded(figure.Look{}) {
		s.Notes = append(s.Notes, string(m))
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
	d := &doc.Document{Sections: []doc.Section{s}}
	if len(r.Outcomes) > 0 {
		c := ClaimSection(r.Outcomes)
		c.Title = say("Verdicts")
		d.Sections = append(d.Sections, c)
	}
	return d
}

// mostSaid is how many published ratios a sentence compares with those measured here.
const mostSaid = 3

// result is what was measured here against what was published.
func result(r figure.Result) string {
	of := r
	of.Missing = nil // the notes have it
	if r.Size() == 0 {
		of.Missing = r.Missing[:min(1, len(r.Missing))]
	}
	here := ""
	if len(r.Comparisons) <= mostSaid {
		here = string(prose.Sentence(lang.Text(pageHere(of))))
	}
	if r.From == "" || len(r.Outcomes) == 0 {
		return here
	}
	return prose.Sentences(verdicts(r.Outcomes), here)
}

// figureTable has a row for each cell.
func figureTable(r figure.Result) doc.Table {
	ps := r.Points
	values := func(get func(figure.Point) stat.Interval) []stat.Interval {
		var out []stat.Interval
		for _, p := range ps {
			out = append(out, get(p))
		}
		return out
	}
	cell := doc.Names("cell", ps, func(p figure.Point) string { return r.Name(p.Levels) })
	cell.Whole = true
	cs := []doc.Filled{cell,
		doc.Layout(doc.Column{Head: say("median"), Keep: 9}, ps, func(p figure.Point) doc.Cell {
			if p.Value.N == 0 {
				return doc.Cell{Text: "–"}
			}
			return doc.Cell{Text: unit.Format(p.Value.Center, p.Unit), Value: doc.Number(p.Value.Center)}
		}),
		doc.Layout(doc.Column{Head: say("mean ± sd"), Keep: 4}, ps, func(p figure.Point) doc.Cell {
			if p.Value.N < 2 || p.Spread == (figure.Spread{}) && p.Value.Center > 0 { // no mean
				return doc.Cell{}
			}
			return doc.Cell{Text: unit.Format(p.Spread.Mean, p.Unit) + " ± " + unit.Format(p.Spread.SD, p.Unit)}
		})}
	if len(r.To) > 0 {
		ratios := values(func(p figure.Point) stat.Interval { return p.Ratio })
		cs = append(cs, doc.Layout(doc.Column{Head: say("ratio"), Base: "1", Kind: "ratio", Keep: 9}, ratios, func(i stat.Interval) doc.Cell {
			if i.N == 0 {
				return doc.Cell{}
			}
			return doc.RatioCell(i)
		}), doc.Layout(doc.Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 9}, ratios, func(i stat.Interval) doc.Cell {
			return doc.RatioIntervalCell(i)
		}))
	} else {
		cs = append(cs, doc.Layout(doc.Column{Head: say("interval"), Kind: "interval", Keep: 8}, ps, func(p figure.Point) doc.Cell {
			if !p.Value.Bounded() {
				return doc.Cell{}
			}
			return doc.Cell{Text: prose.Brackets(p.Value, func(v float64) string { return unit.Format(v, p.Unit) })}
		}))
	}
	cs = append(cs, markColumn(r), doc.Layout(doc.Column{Head: say("blocks"), Kind: "blocks", Keep: 3}, values(func(p figure.Point) stat.Interval { return p.Value }), func(i stat.Interval) doc.Cell {
		return doc.Cell{Text: prose.Trim(float64(i.N)), Value: doc.Number(float64(i.N))}
	}))
	t := doc.Tabulate(r.ID+" table", cs...)
	if len(r.To) > 0 {
		t.Title = say("Ratios are to %s, in the same block", r.ToName())
	}
	return t
}

// markColumn has the published values of each cell.
func markColumn(r figure.Result) doc.Filled {
	return doc.Layout(doc.Column{Head: say("mark"), Keep: 9}, r.Points, func(p figure.Point) doc.Cell {
		var parts []string
		for _, m := range p.Marks {
			switch {
			case len(r.To) > 0 && m.Ratio > 0:
				parts = append(parts, prose.Fixed(m.Ratio, 2)+"×")
			case len(r.To) == 0 && m.Value > 0:
				parts = append(parts, unit.Format(m.Value, p.Unit))
			}
		}
		return doc.Cell{Text: prose.List(parts)}
	})
}

func figureHops(r figure.Result) doc.Table {
	t := doc.Tabulate(r.ID+" hops",
		doc.Names("network", r.Chains, func(h figure.Hop) string { return h.Network }),
		doc.Layout(doc.Column{Head: say("value"), Left: true, Keep: 8}, r.Chains, func(h figure.Hop) doc.Cell { return doc.Cell{Text: h.Probe + " " + string(h.Metric)} }),
		doc.Layout(doc.Column{Head: say("hops"), Keep: 9}, r.Chains, func(h figure.Hop) doc.Cell { return doc.Cell{Text: prose.Trim(float64(h.Segments))} }),
		doc.Layout(doc.Column{Head: say("measured"), Keep: 9}, r.Chains, func(h figure.Hop) doc.Cell {
			return doc.Cell{Text: unit.Format(h.Value.Center, h.Unit), Value: doc.Number(h.Value.Center)}
		}),
		doc.Layout(doc.Column{Head: say("ratio"), Base: "1", Kind: "ratio", Keep: 9}, r.Chains, func(h figure.Hop) doc.Cell {
			if h.Ratio.N == 0 {
				return doc.Cell{}
			}
			return doc.RatioCell(h.Ratio)
		}),
		doc.Layout(doc.Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 9}, r.Chains, func(h figure.Hop) doc.Cell {
			return doc.RatioIntervalCell(h.Ratio)
		}))
	t.Title = say("Ratios are to the sum of the segments for times, and to 1 hop for other values, in the same block")
	return t
}

func comparisonColumns(cs []figure.Comparison) []doc.Filled {
	return []doc.Filled{
		doc.Names("cell", cs, func(c figure.Comparison) string { return c.Of }),
		doc.Layout(doc.Column{Head: "÷", Left: true, Keep: 9}, cs, func(c figure.Comparison) doc.Cell { return doc.Cell{Text: c.To} }),
		doc.Layout(doc.Column{Head: say("published"), Base: "1", Keep: 9}, cs, func(c figure.Comparison) doc.Cell {
			return doc.Cell{Text: prose.Fixed(c.Published, 2) + "×", Value: doc.Number(c.Published)}
		}),
		doc.Layout(doc.Column{Head: say("here"), Base: "1", Kind: "ratio", Keep: 9}, cs, func(c figure.Comparison) doc.Cell {
			if c.Here.N == 0 {
				return doc.Cell{Text: "–", More: []string{word(c.Missing)}}
			}
			return doc.RatioCell(c.Here)
		}),
		doc.Layout(doc.Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 9}, cs, func(c figure.Comparison) doc.Cell {
			return doc.RatioIntervalCell(c.Here)
		}),
	}
}

// wordTable is a table of words as the document prints it; no column of it is dropped.
func wordTable(r figure.Result) doc.Table {
	t := doc.Table{ID: r.ID + " words", Title: say("As published"), Prose: true}
	for i, head := range r.Table[0] {
		t.Columns = append(t.Columns, doc.Column{Head: word(head), Left: true, Keep: 9, Whole: i == 0})
	}
	for _, row := range r.Table[1:] {
		var cells []string
		for _, s := range row {
			cells = append(cells, word(s))
		}
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Texts(cells...)})
	}
	return t
}
