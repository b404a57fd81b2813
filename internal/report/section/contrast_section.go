package section

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// contrastSections has a section per stated comparison, with a part per probe.
func contrastSections(s source) (out []doc.Section) {
	for _, c := range s.comparisons() {
		if c.rows == nil {
			continue
		}
		x := doc.Section{ID: "contrast " + doc.English(c.subject()) + " " + c.relative(), Title: c.title(), About: c.about(), In: doc.Full}
		probes := c.byProbe()
		for _, p := range probes.Keys {
			x.Parts = append(x.Parts, s.contrastPart(c, p, probes.Of[p]))
		}
		if one := x.Parts; len(one) == 1 {
			if c.of[0].To[analysis.Probe] == "" {
				x.About = prose.Sentences(say("%s.", s.Title(probes.Keys[0])), x.About)
			}
			x.Figures, x.Tables, x.Notes, x.Parts = one[0].Figures, one[0].Tables, one[0].Notes, nil
		}
		out = append(out, x)
	}
	return out
}

// about says how the numbers are made.
func (c comparison) about() string {
	var parts []string
	if c.text != "" {
		if text := c.ratio(); text != "" {
			parts = append(parts, say("%s.", text))
		}
	}
	if r := c.relative(); r != "" {
		parts = append(parts, say("Each ratio is divided by that of %s in the same block: 1 means that both change alike.", r))
	}
	return prose.Sentences(parts...)
}

func (s source) contrastPart(c comparison, probe string, rows []contrasted) doc.Section {
	id := "contrast " + doc.English(c.subject()) + " " + c.relative() + " " + probe
	x := doc.Section{ID: id, Title: s.Title(probe), Label: s.Title(probe), Notes: c.notes(rows),
		Figures: s.contrastFigures(c, id, rows), Tables: []doc.Table{contrastTable(c, id+" table", rows)}}
	for _, m := range s.p.Matrices() {
		if m.Contrast == c.first && m.Probe == probe {
			x.Figures = append(s.matrices(m), x.Figures...)
		}
	}
	for i, r := range rows {
		x.Tables[0].Rows[i].Network = r.Network
	}
	return x
}

// notes returns why ratios are missing, and remarks about the others, each once.
func (c comparison) notes(rows []contrasted) (out []string) {
	var said doc.Groups[string, string]
	for _, r := range rows {
		if r.Missing != "" {
			said.Add(say("no ratio, %s", word(r.Missing)), c.name(r))
		}
		if len(r.Far) > 0 {
			said.Add(farText(r.Far), c.name(r))
		}
		if b := r.OtherRuns; b != nil && b.Interval.Bounded() {
			said.Add(otherRuns(r.Ratio, b), c.name(r))
		}
		for _, w := range r.Ratio.Warnings {
			said.Add(string(w), c.name(r))
		}
	}
	for _, w := range said.Keys {
		who := prose.Alternatives(said.Of[w])
		if n := len(said.Of[w]); n == len(rows) && n > 1 {
			who = say("all")
		} else if n > 4 {
			who = say("%d of %d", n, len(rows))
		}
		out = append(out, say("%s: %s", who, w))
	}
	return out
}

// farText names the blocks that are far from the others.
func farText(far []analysis.Far) string {
	var each []string
	for _, f := range far[:min(len(far), 3)] {
		each = append(each, fmt.Sprintf("%d (%.2f×)", f.Block, f.Ratio))
	}
	text := say("blocks far from the others: %s", prose.List(each))
	if more := len(far) - len(each); more > 0 {
		text += say(" and %d more", more)
	}
	return text
}

// difference returns the differences, each in its own unit with its interval.
func difference(base string, rows []contrasted) doc.Filled {
	keep := 6
	if base == "s" { // the times that a program waits longer
		keep = 8
	}
	return doc.Layout(doc.Column{Head: say("difference"), Base: base, Keep: keep}, rows, func(r contrasted) (cell doc.Cell) {
		if i := r.Difference; i.N > 0 {
			amount, within := inUnit(i, r.Unit)
			cell = doc.Cell{Text: strings.TrimSpace(amount + " " + within), Value: doc.Number(i.Center)}
			cell.Bounds(i)
		}
		return cell
	})
}

// contrastTable has a row per ratio: both values, ratio, difference.
func contrastTable(c comparison, id string, rows []contrasted) doc.Table {
	measured := rows[max(0, slices.IndexFunc(rows, func(r contrasted) bool { return r.Metric != "" }))]
	metric, base := MetricName(measured.Metric), measured.Unit
	of, to := metric, say("divisor")
	if !c.toVaries() {
		to = divided(rows[0].by.To, rows[0].by.To, false, true)
	}
	if c.level(rows[0]) == "" && rows[0].by.To[analysis.Network] == "" {
		of = divided(rows[0].Of, rows[0].by.To, false, true)
	}
	var all []float64
	for _, r := range rows {
		all = append(all, r.Value.Center, r.Base.Center)
	}
	factor, label, d := doc.InOneUnit(base, all)
	value := func(head string, keep int, get func(contrasted) stat.Interval) doc.Filled {
		return doc.Layout(doc.Column{Head: head, Unit: label, Base: base, Kind: "value", Keep: keep}, rows, func(r contrasted) (cell doc.Cell) {
			if i := get(r); i.N > 0 {
				cell = doc.Cell{Text: prose.Fixed(i.Center*factor, d), Value: doc.Number(i.Center)}
				cell.Bounds(i)
			}
			return cell
		})
	}
	name := doc.Names("cell", rows, c.name)
	name.Whole = true
	cs := []doc.Filled{name, value(to, 7, func(r contrasted) stat.Interval { return r.Base }), value(of, 8, func(r contrasted) stat.Interval { return r.Value })}
	ratio := doc.Ratios(rows, "÷ "+to, func(r contrasted) (stat.Interval, bool) { return r.Ratio, r.Same })
	if r := c.relative(); r != "" {
		ratio[0].Unit = "÷ " + r
	}
	cs = append(cs, ratio...)
	cs = append(cs, difference(base, rows))
	path := doc.Ratios(rows, say("path ÷ %s", to), func(r contrasted) (stat.Interval, bool) { return r.Path, r.Path.Contains(1) })
	for i := range path {
		path[i].Keep = 3
	}
	cs = append(cs, path...)
	return doc.Tabulate(id, append(cs,
		doc.Layout(doc.Column{Head: say("detectable"), Base: "1", Keep: 4}, rows, func(r contrasted) (cell doc.Cell) {
			if r.Same && r.Detectable > 0 {
				cell = Detectable(r.Detectable)
			}
			return cell
		}),
		doc.Layout(doc.Column{Head: say("blocks"), Kind: "blocks", Keep: 5}, rows, func(r contrasted) (cell doc.Cell) {
			if r.Ratio.N > 0 {
				cell = doc.Cell{Text: fmt.Sprint(r.Ratio.N), Value: doc.Number(float64(r.Ratio.N))}
			}
			return cell
		}),
		doc.Layout(doc.Column{Left: true, Keep: 8}, rows, func(r contrasted) doc.Cell {
			if r.Missing != "" {
				return doc.Cell{}
			}
			return doc.Cell{Text: prose.List(marksOf(r.Busy, r.Stalled, r.BaseStalled))}
		}))...)
}

// contrastSummary has a line per stated ratio, for a page about several runs.
func contrastSummary(s source) []doc.Section {
	t := doc.Table{ID: "comparisons", In: []doc.Medium{doc.Summary}, Columns: []doc.Column{{Head: say("comparison"), Left: true}, {Head: say("cell"), Left: true},
		{Head: say("ratio"), Base: "1"}, {Head: say("difference")}}}
	for _, c := range s.comparisons() {
		title := c.title()
		for _, r := range c.rows {
			cells := doc.Texts(title, prose.Comma(s.Short(r.Probe), c.name(r)), factorOf(r), more(r))
			if r.Ratio.N > 0 {
				cells[2].Value = doc.Number(r.Ratio.Center)
				cells[2].Bounds(r.Ratio)
			} else if r.Missing != "" {
				cells[2].Text = say("– (%s)", word(r.Missing))
			}
			t.Rows = append(t.Rows, doc.Row{Network: r.Network, Cells: cells})
			title = "" // only in the first row
		}
	}
	if t.Rows == nil {
		return nil
	}
	return []doc.Section{{ID: "summary-comparisons", In: []doc.Medium{doc.Summary}, Tables: []doc.Table{t}}}
}

// Detectable is the cell of the least difference that a comparison which saw none would have shown.
func Detectable(d float64) doc.Cell {
	if d > TooNoisy {
		return doc.Cell{Text: ">100 %", Value: doc.Number(d)}
	}
	return doc.Cell{Text: prose.Coarse(d), Value: doc.Number(d)}
}
