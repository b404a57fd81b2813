package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// contrastSections has a section per stated comparison, with a part per probe.
func contrastSections(s source) (out []Section) {
	for _, c := range s.comparisons() {
		if c.rows == nil {
			continue
		}
		x := Section{ID: "contrast " + c.subject() + " " + c.relative(), Title: c.title(), About: c.about(), In: full}
		probes := c.byProbe()
		for _, p := range probes.keys {
			x.Parts = append(x.Parts, s.contrastPart(c, p, probes.of[p]))
		}
		if one := x.Parts; len(one) == 1 {
			if c.of[0].To[analysis.Probe] == "" {
				x.About = sentences(say("%s.", s.Title(probes.keys[0])), x.About)
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
	return sentences(parts...)
}

func (s source) contrastPart(c comparison, probe string, rows []contrasted) Section {
	id := "contrast " + c.subject() + " " + c.relative() + " " + probe
	x := Section{ID: id, Title: s.Title(probe), Label: s.Title(probe), Notes: c.notes(rows),
		Figures: s.contrastFigures(c, id, rows), Tables: []Table{contrastTable(c, id+" table", rows)}}
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
	var said groups[string, string]
	for _, r := range rows {
		if r.Missing != "" {
			said.add(say("no ratio, %s", word(r.Missing)), c.name(r))
		}
		if len(r.Far) > 0 {
			said.add(farText(r.Far), c.name(r))
		}
		if b := r.Beyond; b != nil && b.Interval.Bounded() {
			said.add(otherRuns(r.Ratio, b), c.name(r))
		}
		for _, w := range r.Ratio.Warnings {
			said.add(string(w), c.name(r))
		}
	}
	for _, w := range said.keys {
		who := alternatives(said.of[w])
		if n := len(said.of[w]); n == len(rows) && n > 1 {
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
	text := say("blocks far from the others: %s", list(each))
	if more := len(far) - len(each); more > 0 {
		text += say(" and %d more", more)
	}
	return text
}

// difference returns the differences, each in its own unit with its interval.
func difference(base string, rows []contrasted) column {
	keep := 6
	if base == "s" { // the times that a program waits longer
		keep = 8
	}
	return layout(Column{Head: say("difference"), Base: base, Keep: keep}, rows, func(r contrasted) (cell Cell) {
		if i := r.Difference; i.N > 0 {
			amount, within := inUnit(i, r.Unit)
			cell = Cell{Text: strings.TrimSpace(amount + " " + within), Value: number(i.Center)}
			cell.bounds(i)
		}
		return cell
	})
}

// contrastTable has a row per ratio: both values, ratio, difference.
func contrastTable(c comparison, id string, rows []contrasted) Table {
	measured := rows[max(0, slices.IndexFunc(rows, func(r contrasted) bool { return r.Metric != "" }))]
	metric, base := metricName(measured.Metric), measured.Unit
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
	factor, label, d := inOneUnit(base, all)
	value := func(head string, keep int, get func(contrasted) stat.Interval) column {
		return layout(Column{Head: head, Unit: label, Base: base, Kind: "value", Keep: keep}, rows, func(r contrasted) (cell Cell) {
			if i := get(r); i.N > 0 {
				cell = Cell{Text: fixed(i.Center*factor, d), Value: number(i.Center)}
				cell.bounds(i)
			}
			return cell
		})
	}
	name := names("cell", rows, c.name)
	name.Whole = true
	cs := []column{name, value(to, 7, func(r contrasted) stat.Interval { return r.Base }), value(of, 8, func(r contrasted) stat.Interval { return r.Value })}
	ratio := ratios(rows, "÷ "+to, func(r contrasted) (stat.Interval, bool) { return r.Ratio, r.Same })
	if r := c.relative(); r != "" {
		ratio[0].Unit = "÷ " + r
	}
	cs = append(cs, ratio...)
	cs = append(cs, difference(base, rows))
	path := ratios(rows, say("path ÷ %s", to), func(r contrasted) (stat.Interval, bool) { return r.Path, r.Path.Contains(1) })
	for i := range path {
		path[i].Keep = 3
	}
	cs = append(cs, path...)
	return table(id, append(cs,
		layout(Column{Head: say("detectable"), Base: "1", Keep: 4}, rows, func(r contrasted) (cell Cell) {
			if r.Same && r.Detectable > 0 {
				cell = Cell{Text: coarse(r.Detectable), Value: number(r.Detectable)}
			}
			return cell
		}),
		layout(Column{Head: say("blocks"), Kind: "blocks", Keep: 5}, rows, func(r contrasted) (cell Cell) {
			if r.Ratio.N > 0 {
				cell = Cell{Text: fmt.Sprint(r.Ratio.N), Value: number(float64(r.Ratio.N))}
			}
			return cell
		}),
		layout(Column{Left: true, Keep: 8}, rows, func(r contrasted) Cell {
			if r.Missing != "" {
				return Cell{}
			}
			return Cell{Text: list(marksOf(r.Busy, r.Stalled, r.BaseStalled))}
		}))...)
}

// contrastSummary has a line per stated ratio, for a page about several runs.
func contrastSummary(s source) []Section {
	t := Table{ID: "comparisons", In: []Medium{forSummary}, Columns: []Column{{Head: say("comparison"), Left: true}, {Head: say("cell"), Left: true},
		{Head: say("ratio"), Base: "1"}, {Head: say("difference")}}}
	for _, c := range s.comparisons() {
		title := c.title()
		for _, r := range c.rows {
			cells := texts(title, comma(s.Short(r.Probe), c.name(r)), factorOf(r), more(r))
			if r.Ratio.N > 0 {
				cells[2].Value = number(r.Ratio.Center)
				cells[2].bounds(r.Ratio)
			} else if r.Missing != "" {
				cells[2].Text = say("– (%s)", word(r.Missing))
			}
			t.Rows = append(t.Rows, Row{Network: r.Network, Cells: cells})
			title = "" // only in the first row
		}
	}
	if t.Rows == nil {
		return nil
	}
	return []Section{{ID: "summary-comparisons", In: []Medium{forSummary}, Tables: []Table{t}}}
}
