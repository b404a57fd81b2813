package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

// Names shrink to minName, the longest in the catalog, before a column is dropped, and to lastName
// when no column can go.
const minName, lastName = 19, 14

// Text writes a document for a terminal of width columns, at least 60.
func Text(w io.Writer, d *doc.Document, width int) error {
	d = d.Printed()
	t := terminal{new(bytes.Buffer), max(width, 60), d.Lang}
	if d.Title != "" {
		t.wrap("", t.in(heading(d.Title, d.Question)))
		t.wrap("", d.Census)
		t.wrap("", d.Where)
	}
	for _, s := range d.Warnings {
		t.wrap("! ", s)
	}
	for _, s := range doc.Visible(d.Sections, doc.Terminal) {
		t.section(s)
	}
	_, err := w.Write(t.Bytes())
	return err
}

type terminal struct {
	*bytes.Buffer
	width int
	lang  *lang.Language
}

// in is a sentence that the renderer adds.
func (t terminal) in(s string) string { return lang.Text(s).In(t.lang) }

func heading(title, question string) string {
	if question == "" {
		return title
	}
	return string(lang.T("%s: %s", title, question))
}

func (t terminal) section(s doc.Section) {
	if !s.Flat {
		if t.Len() > 0 { // not before the first
			fmt.Fprintln(t)
		}
		indent := ""
		if s.Title != "" && !s.Box {
			fmt.Fprintln(t, foreign.Plain(s.Title))
			indent = "  "
		}
		t.wrap(indent, s.About)
	}
	for _, l := range s.Lines {
		t.wrap("  ", t.in(l.String()))
		for _, e := range l.Evidence {
			t.wrap("    ", e)
		}
	}
	for _, x := range s.Tables {
		t.wrap("  ", x.Title)
		t.table(x)
	}
	for _, n := range s.Notes {
		t.wrap("  ", n)
	}
	for _, f := range s.Facts {
		t.wrap("  ", t.in(f.String()))
	}
	for _, l := range strings.Split(s.Code, "\n") {
		if l != "" {
			fmt.Fprintln(t, "    "+foreign.Plain(l))
		}
	}
	for _, p := range s.Parts {
		t.section(p)
	}
}

// A grid is the text of a table by column, head and unit first.
type grid [][]string

// table aligns columns. To fit, it shortens names first, then drops the least important columns.
func (t terminal) table(x doc.Table) {
	cs := slices.Clone(x.Columns)
	g := make(grid, len(cs))
	for i, c := range cs {
		g[i] = []string{short(foreign.Plain(c.Head), lastName), foreign.Plain(c.Unit)}
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
		if n := longest(g[0]); n > shortest && (i < 0 || !cs[0].Whole) {
			for k := range g[0] {
				g[0][k] = short(g[0][k], max(shortest, n-over))
			}
			continue
		}
		if i < 0 {
			break
		}
		cs, g = slices.Delete(cs, i, i+1), slices.Delete(g, i, i+1)
	}
	units := slices.ContainsFunc(cs, func(c doc.Column) bool { return c.Unit != "" })
	for row := range g[0] {
		if row == 1 && !units {
			continue
		}
		t.line(cs, g, row)
	}
}

func (t terminal) line(cs []doc.Column, g grid, row int) {
	line := " "
	for i, c := range cs {
		pad := strings.Repeat(" ", longest(g[i])-lang.Columns(g[i][row]))
		line += strings.Repeat(" ", gap(c, i))
		if c.Left {
			line += g[i][row] + pad
		} else {
			line += pad + g[i][row]
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

// wrap writes s in lines that fit, with later lines indented; nothing for "".
func (t terminal) wrap(indent, s string) {
	line, begun := indent, false
	for _, word := range strings.Fields(strings.ReplaceAll(foreign.Plain(s), " %", "\x00%")) {
		word = strings.ReplaceAll(word, "\x00", " ") // a number keeps its sign
		for i, piece := range lang.Pieces(word) {
			space := " "
			if !begun || i > 0 {
				space = ""
			}
			if n := lang.Columns(piece); begun && lang.Columns(line)+len(space)+n > t.width {
				fmt.Fprintln(t, line)
				line, space = strings.Repeat(" ", max(0, min(len(indent)+2, t.width-n))), ""
			}
			line += space + piece
			begun = true
		}
	}
	if begun {
		fmt.Fprintln(t, line)
	}
}
