package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

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

// Brief writes only the answer, all of which fits a small screen. Color marks what is better and what is worse.
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

// blank separates what follows from what precedes it.
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

// clauses are the first sentences or clauses of a text that fit into n columns, and at least one. The last one ends as a
// sentence does: a reader who meets "over others …" looks for the rest of it.
func clauses(s string, n int) string {
	if s = foreign.Plain(s); lang.Columns(s) <= n {
		return s
	}
	columns, cut, stop := 0, 0, ""
	for i, r := range s {
		columns += lang.RuneColumns(r)
		if columns > n && cut > 0 {
			break
		}
		switch rest := s[i+utf8.RuneLen(r):]; {
		case strings.ContainsRune("。；", r):
			cut, stop = i, "。"
		case strings.ContainsRune(".;", r) && strings.HasPrefix(rest, " "):
			cut, stop = i, "."
		}
	}
	if cut == 0 {
		return s
	}
	return s[:cut] + stop
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
