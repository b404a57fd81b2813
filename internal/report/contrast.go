package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// A comparison is what one sentence and one section are about: a contrast that the study states, or
// all contrasts that it gives the same text.
type comparison struct {
	text   string // "" if the study gives none
	of     []analysis.Contrast
	rows   []contrasted
	many   bool            // the run has several networks
	varies map[string]bool // factors whose level differs between rows
}

// A contrasted is a row and its contrast.
type contrasted struct {
	analysis.ContrastRow
	by *analysis.Contrast
}

func (s source) comparisons() []comparison {
	var out []comparison
	for i := range s.p.Contrasts {
		c := &s.p.Contrasts[i]
		n := slices.IndexFunc(out, func(x comparison) bool { return c.Text != "" && x.text == c.Text && len(x.of[0].Per) == len(c.Per) })
		if n < 0 {
			n = len(out)
			out = append(out, comparison{text: c.Text, many: len(s.p.Networks) > 1})
		}
		out[n].of = append(out[n].of, c.Contrast)
		for _, r := range c.Rows {
			out[n].rows = append(out[n].rows, contrasted{r, &c.Contrast})
		}
	}
	for i := range out {
		out[i].vary()
	}
	return out
}

// vary finds the factors that tell rows apart.
func (c *comparison) vary() {
	c.varies = map[string]bool{}
	first := map[string]string{}
	see := func(kind, factor, level string) {
		if v, ok := first[kind+factor]; ok && v != level {
			c.varies[kind+factor] = true
		}
		first[kind+factor] = level
	}
	for _, r := range c.rows {
		for k, v := range r.Levels {
			see("", k, v)
		}
		for k, v := range r.Of {
			see("of ", k, v)
		}
		for k, v := range r.by.To {
			see("to ", k, v)
		}
	}
}

// where names a row by its network and by the levels that vary, except those of the compared factors.
func (c comparison) where(r contrasted) string {
	var parts []string
	if _, compared := r.by.To[analysis.Network]; c.many || compared {
		parts = append(parts, r.Network)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Levels)) {
		if c.varies[k] {
			parts = append(parts, k+" "+r.Levels[k])
		}
	}
	return strings.Join(parts, ", ")
}

// level names the compared levels of a row, where they vary.
func (c comparison) level(r contrasted) string {
	some := false
	for k := range r.by.To {
		some = some || c.varies["of "+k] && k != analysis.Network
	}
	if !some {
		return ""
	}
	return divided(r.Of, r.by.To, c.toVaries(), true)
}

func (c comparison) toVaries() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(c.varies)), func(k string) bool { return strings.HasPrefix(k, "to ") })
}

// name names a row completely.
func (c comparison) name(r contrasted) string {
	parts := slices.DeleteFunc([]string{c.where(r), c.level(r)}, func(s string) bool { return s == "" })
	if parts == nil || len(parts) == 0 {
		return r.Network
	}
	return strings.Join(parts, ", ")
}

// divided formats levels, "1473" or "1473 ÷ 1472", with the names of the factors if there are several
// or unless bare.
func divided(of, to map[string]string, both, bare bool) string {
	text := func(m map[string]string) string {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(m)) {
			switch {
			case k == analysis.Network && bare && len(m) > 1: // it names the row
			case k == analysis.Network || bare && len(to) == 1:
				parts = append(parts, m[k])
			default:
				parts = append(parts, k+" "+m[k])
			}
		}
		return strings.Join(parts, ", ")
	}
	if !both {
		return text(of)
	}
	if len(to) == 1 && !bare { // name the factor once
		for k := range to {
			return strings.TrimSpace(text(of) + " ÷ " + to[k])
		}
	}
	return strings.TrimSpace(text(of) + " ÷ " + text(to))
}

// ratio names what a contrast divides: "size 1473 ÷ 1472", "load ÷ idle", "÷ host".
func ratioText(c analysis.Contrast) string {
	of := map[string]string{}
	for k := range c.To {
		if len(c.Of[k]) == 1 {
			of[k] = c.Of[k][0]
		}
	}
	text := divided(of, c.To, true, false)
	if len(c.To) == 1 && len(of) == 0 {
		for k := range c.To {
			if k != analysis.Network {
				text = k + " " + text
			}
		}
	}
	if c.Value != "" {
		text = metricName(c.Value) + ", " + text
	}
	return text
}

// ratios names what the contrasts of a comparison divide; "" if they differ.
func (c comparison) ratio() string {
	text := ratioText(c.of[0])
	for _, x := range c.of[1:] {
		if ratioText(x) != text {
			return ""
		}
	}
	return text
}

// subject is what the comparison is about.
func (c comparison) subject() string {
	if c.text != "" {
		return c.text
	}
	return c.ratio()
}

// relative names the cells whose ratio divides that of the others; "" if there are none.
func (c comparison) relative() string {
	return divided(c.of[0].Per, c.of[0].Per, false, false)
}

// byProbe groups rows by probe, or by the one that divides if probes are compared.
func (c comparison) byProbe() groups[string, contrasted] {
	var out groups[string, contrasted]
	for _, r := range c.rows {
		out.add(cmp.Or(r.by.To[analysis.Probe], r.Probe), r)
	}
	return out
}

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
			x.About = strings.TrimSpace(s.title(probes.keys[0]) + ". " + x.About)
			x.Figures, x.Tables, x.Notes, x.Parts = one[0].Figures, one[0].Tables, one[0].Notes, nil
		}
		out = append(out, x)
	}
	return out
}

// title is the subject, with a capital unless it begins with the name of a factor.
func (c comparison) title() string {
	return comma(cmp.Or(capital(c.text), c.ratio()), c.relativeText())
}

func (c comparison) relativeText() string {
	if r := c.relative(); r != "" {
		return "relative to " + r
	}
	return ""
}

// about says how the numbers are made.
func (c comparison) about() string {
	var parts []string
	if c.text != "" {
		if text := c.ratio(); text != "" {
			parts = append(parts, text+".")
		}
	}
	if r := c.relative(); r != "" {
		parts = append(parts, fmt.Sprintf("Each ratio is divided by that of %s in the same block: 1 means that both change alike.", r))
	}
	return strings.Join(parts, " ")
}

func (s source) contrastPart(c comparison, probe string, rows []contrasted) Section {
	id := "contrast " + c.subject() + " " + c.relative() + " " + probe
	x := Section{ID: id, Title: s.title(probe), Label: s.title(probe), Notes: c.notes(rows),
		Figures: s.contrastFigures(c, id, rows), Tables: []Table{contrastTable(c, id+" table", rows)}}
	for i, r := range rows {
		x.Tables[0].Rows[i].Network = r.Network
	}
	return x
}

// notes returns the warnings of the ratios, each once.
func (c comparison) notes(rows []contrasted) (out []string) {
	var said groups[string, string]
	for _, r := range rows {
		for _, w := range r.Ratio.Warnings {
			said.add(w, c.name(r))
		}
	}
	for _, w := range said.keys {
		who := strings.Join(said.of[w], "; ")
		if n := len(said.of[w]); n == len(rows) && n > 1 {
			who = "all"
		} else if n > 4 {
			who = fmt.Sprintf("%d of %d", n, len(rows))
		}
		out = append(out, who+": "+w)
	}
	return out
}

// differences returns the differences in the unit of the largest, and their intervals.
func differences(base string, rows []contrasted) []column {
	top := 0.0
	for _, r := range rows {
		top = max(top, math.Abs(r.Difference.Center))
	}
	factor, label := unit.Scale(top, base)
	d := decimals(factor, top)
	return []column{
		layout(Column{Head: "difference", Unit: label, Base: base, Keep: 7}, rows, func(r contrasted) (cell Cell) {
			if v, ok := center(r.Difference); ok {
				cell = Cell{Text: fixed(v*factor, d), Value: number(v)}
			}
			return cell
		}),
		layout(Column{Head: "interval", Base: base, Kind: "interval", Keep: 6}, rows, func(r contrasted) Cell {
			return intervalCell(r.Difference, factor, d)
		}),
	}
}

// contrastTable has a row per ratio: both values, ratio, difference.
func contrastTable(c comparison, id string, rows []contrasted) Table {
	metric, base := metricName(rows[0].Metric), rows[0].Unit
	of, to := metric, "divisor"
	if !c.toVaries() {
		to = divided(rows[0].by.To, rows[0].by.To, false, true)
	}
	if c.level(rows[0]) == "" {
		of = divided(rows[0].Of, rows[0].by.To, false, true)
	}
	var all []float64
	for _, r := range rows {
		all = append(all, r.Value.Center, r.Base.Center)
	}
	factor, label, d := inOneUnit(base, all)
	value := func(head string, get func(contrasted) stat.Interval) column {
		return layout(Column{Head: head, Unit: label, Base: base, Kind: "value", Keep: 8}, rows, func(r contrasted) (cell Cell) {
			if i := get(r); i.N > 0 {
				cell = Cell{Text: fixed(i.Center*factor, d), Value: number(i.Center)}
				cell.bounds(i)
			}
			return cell
		})
	}
	name := names("cell", rows, c.name)
	name.Whole = true
	cs := []column{name, value(to, func(r contrasted) stat.Interval { return r.Base }), value(of, func(r contrasted) stat.Interval { return r.Value })}
	head := "÷ " + to
	if r := c.relative(); r != "" {
		head += " ÷ " + r
	}
	cs = append(cs, ratios(rows, head, func(r contrasted) (stat.Interval, bool) { return r.Ratio, r.Same })...)
	cs = append(cs, differences(base, rows)...)
	path := ratios(rows, "path ÷ "+to, func(r contrasted) (stat.Interval, bool) { return r.Path, r.Path.Contains(1) })
	for i := range path {
		path[i].Keep = 3
	}
	cs = append(cs, path...)
	return table(id, append(cs,
		layout(Column{Head: "detectable", Base: "1", Keep: 4}, rows, func(r contrasted) (cell Cell) {
			if r.Same && r.Detectable > 0 {
				cell = Cell{Text: coarse(r.Detectable), Value: number(r.Detectable)}
			}
			return cell
		}),
		layout(Column{Head: "blocks", Kind: "blocks", Keep: 5}, rows, func(r contrasted) (cell Cell) {
			if r.Ratio.N > 0 {
				cell = Cell{Text: fmt.Sprint(r.Ratio.N), Value: number(float64(r.Ratio.N))}
			}
			return cell
		}),
		layout(Column{Left: true, Keep: 7}, rows, func(r contrasted) Cell {
			if r.Busy != nil {
				return Cell{Text: "disturbed"}
			}
			return Cell{}
		}),
		layout(Column{Head: "no ratio", Left: true, Keep: 7}, rows, func(r contrasted) Cell { return Cell{Text: r.Missing} }))...)
}
