package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// Names shrink to minName, the longest in the catalog, before a column is dropped, and to lastName
// when no column can go.
const minName, lastName = 19, 14

// leastName is the length to which they shrink on the narrowest terminals.
const leastName = 10

// longestHead is the longest head of a column that is named after a probe.
const longestHead = 17

// A grid is the text of a table by column, head and unit first.
type grid [][]string

// table aligns columns. To fit, it drops bars, shortens names, and then drops the least important columns. It says which probes it
// left out.
func (t terminal) table(x doc.Table) {
	cs := slices.Clone(x.Columns)
	var without []string
	g := make(grid, len(cs))
	for i, c := range cs {
		most := lastName
		if c.Probe != "" {
			most = longestHead
		}
		g[i] = []string{short(foreign.Plain(c.Head), most), foreign.Plain(c.Unit)}
		for _, r := range x.Rows {
			g[i] = append(g[i], foreign.Plain(r.Cells[i].Text))
		}
	}
	for total(cs, g) > t.width {
		over := total(cs, g) - t.width
		i, shortest := least(cs), minName
		if i < 0 {
			shortest = lastName
		}
		if at := widestName(cs, g); at >= 0 && longest(g[at]) > shortest && (i < 0 || !cs[at].Whole && cs[i].Kind != "bar") {
			n := longest(g[at])
			for k := range g[at] {
				g[at][k] = short(g[at][k], max(shortest, n-over))
			}
			continue
		}
		if at := widestName(cs, g); i < 0 && longest(g[at]) > leastName {
			n := longest(g[at])
			for k := range g[at] {
				g[at][k] = short(g[at][k], max(leastName, n-over))
			}
			continue
		}
		if i < 0 {
			break
		}
		if cs[i].Probe != "" {
			without = append(without, foreign.Plain(cs[i].Head))
		}
		from := i
		if i > 0 && cs[i].Kind == "interval" && cs[i-1].Kind == "ratio" { // no width leaves a ratio without its interval
			from--
		}
		cs, g = slices.Delete(cs, from, i+1), slices.Delete(g, from, i+1)
	}
	units := slices.ContainsFunc(cs, func(c doc.Column) bool { return c.Unit != "" })
	for row := range g[0] {
		if row == 1 && !units {
			continue
		}
		t.line(cs, g, row, shades(x, row-2))
	}
	if slices.Reverse(without); len(without) > 0 {
		t.wrap("  ", t.in(string(lang.T("Too wide for %d columns: %s. The page has them.", t.width, prose.And(without)))))
	}
}

// shades are how good the cells of a row are; nil above the first.
func shades(x doc.Table, row int) map[string]float64 {
	if row < 0 {
		return nil
	}
	out := map[string]float64{}
	for i, c := range x.Rows[row].Cells {
		if c.Shade != 0 {
			out[fmt.Sprintf("%s\x00%s", x.Columns[i].Head, foreign.Plain(c.Text))] = c.Shade
		}
	}
	return out
}

// colored writes text in red if it is worse, in green if it is better.
func (t terminal) colored(text string, shade float64) string {
	switch {
	case !t.color || shade == 0:
		return text
	case shade < 0:
		return "\x1b[31m" + text + "\x1b[0m"
	}
	return "\x1b[32m" + text + "\x1b[0m"
}

// widestName is the column of names that can be shortened most.
func widestName(cs []doc.Column, g grid) (at int) {
	for i, c := range cs {
		if c.Kind == "name" && longest(g[i]) > longest(g[at]) {
			at = i
		}
	}
	return at
}

func (t terminal) line(cs []doc.Column, g grid, row int, shaded map[string]float64) {
	line := " "
	for i, c := range cs {
		pad := strings.Repeat(" ", longest(g[i])-lang.Columns(g[i][row]))
		line += strings.Repeat(" ", gap(c, i))
		text := t.colored(g[i][row], shaded[c.Head+"\x00"+g[i][row]])
		if c.Left {
			line += text + pad
		} else {
			line += pad + text
		}
	}
	fmt.Fprintln(t, strings.TrimRight(line, " "))
}

// gap is the space before column i; an interval belongs to its ratio.
func gap(c doc.Column, i int) int {
	if i == 0 || c.Kind == "interval" || c.Kind == "same" {
		return 1
	}
	return 2
}

func longest(column []string) (n int) {
	for _, s := range column {
		n = max(n, lang.Columns(s))
	}
	return n
}

func total(cs []doc.Column, g grid) int {
	n := 1
	for i, c := range cs {
		n += gap(c, i) + longest(g[i])
	}
	return n
}

// least returns the column to drop, -1 if all must stay.
func least(cs []doc.Column) int {
	best := -1
	for i, c := range cs {
		if c.Keep < 9 && (best < 0 || c.Keep <= cs[best].Keep) {
			best = i
		}
	}
	return best
}

// short cuts the middle of s to leave n columns, or one fewer if a wide character does not fit.
func short(s string, n int) string {
	if lang.Columns(s) <= n {
		return s
	}
	r := []rune(s)
	from, to := 0, len(r)
	for left := n / 2; from < to && lang.RuneColumns(r[from]) <= left; from++ {
		left -= lang.RuneColumns(r[from])
	}
	for left := n - n/2 - 1; from < to && lang.RuneColumns(r[to-1]) <= left; to-- {
		left -= lang.RuneColumns(r[to-1])
	}
	return string(r[:from]) + "…" + string(r[to:])
}
