package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

// Names shrink to minName, the longest in the catalog, before a column is dropped, and to lastName
// when no column can go.
const minName, lastName = 19, 14

// leastName is to what they shrink on the narrowest terminals.
const leastName = 10

// longestHead is the longest head of a column that is named after a probe.
const longestHead = 17

// Text writes a document for a terminal of width columns, at least 60. The answer comes first.
func Text(w io.Writer, d *doc.Document, width int) error {
	return write(w, d, width, false, func(t terminal, d *doc.Document, sections []doc.Section) {
		if d.Title != "" {
			t.blank()
			t.wrap("", t.in(heading(d.Title, d.Question)))
			t.wrap("", d.Census)
			t.wrap("", d.Where)
		}
		for _, s := range d.Warnings {
			t.wrap("! ", s)
		}
		for _, s := range sections {
			t.section(s)
		}
	})
}

// Brief writes the answer alone, all of which fits a small screen. Color marks what is better and what is worse.
func Brief(w io.Writer, d *doc.Document, width int, color bool) error {
	return write(w, d, width, color, nil)
}

// write writes the answer, and then the rest.
func write(w io.Writer, d *doc.Document, width int, color bool, rest func(terminal, *doc.Document, []doc.Section)) error {
	d = d.Printed()
	t := terminal{new(bytes.Buffer), max(width, 60), d.Lang, color, rest == nil}
	if d.Lead != "" {
		t.wrap("! ", d.Lead)
	}
	sections := doc.Visible(d.Sections, doc.Terminal)
	if len(sections) > 0 && sections[0].Box {
		t.answer(sections[0])
		sections = sections[1:]
	}
	if rest != nil {
		rest(t, d, sections)
	} else {
		t.wrap("", d.Census)
	}
	_, err := w.Write(t.Bytes())
	return err
}

type terminal struct {
	*bytes.Buffer
	width int
	lang  *lang.Language
	color bool
	brief bool // of notes, only what fits two lines
}

// blank parts what follows from what precedes it.
func (t terminal) blank() {
	if t.Len() > 0 {
		fmt.Fprintln(t)
	}
}

// answer writes the answer: sentences at the margin, the table, and what to know of it.
func (t terminal) answer(s doc.Section) {
	t.wrap("", s.About)
	for _, l := range s.Lines {
		t.wrap("", t.in(l.String()))
	}
	for _, x := range s.Tables {
		t.blank()
		t.wrap("", x.Title)
		t.table(x)
	}
	if len(s.Notes) > 0 {
		t.blank()
	}
	for _, n := range s.Notes {
		if t.brief {
			n = clauses(n, 2*t.width-4)
		}
		t.wrap("", n)
	}
	for _, p := range s.Parts {
		t.section(p)
	}
}

// clauses are the first clauses of a text that fit into n columns, and at least one.
func clauses(s string, n int) string {
	if s = foreign.Plain(s); lang.Columns(s) <= n {
		return s
	}
	columns, cut := 0, 0
	for i, r := range s {
		columns += lang.RuneColumns(r)
		if columns > n && cut > 0 {
			break
		}
		if rest := s[i+utf8.RuneLen(r):]; strings.ContainsRune("。；", r) || strings.ContainsRune(".;", r) && strings.HasPrefix(rest, " ") {
			cut = i
		}
	}
	if cut == 0 {
		return s
	}
	return s[:cut] + " …"
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
		t.blank()
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
		if at := widestName(cs, g); at >= 0 && longest(g[at]) > shortest && (i < 0 || !cs[at].Whole) {
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
		cs, g = slices.Delete(cs, i, i+1), slices.Delete(g, i, i+1)
	}
	units := slices.ContainsFunc(cs, func(c doc.Column) bool { return c.Unit != "" })
	for row := range g[0] {
		if row == 1 && !units {
			continue
		}
		t.line(cs, g, row, shades(x, row-2))
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
