package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// Markdown writes a document for a project page or an issue.
func Markdown(w io.Writer, d *doc.Document) error { return markdown(w, d, doc.Markdown) }

// Summary writes, as Markdown, the part of a document for a page about several runs.
func Summary(w io.Writer, d *doc.Document) error { return markdown(w, d, doc.Summary) }

func markdown(w io.Writer, d *doc.Document, m doc.Medium) error {
	d = d.Printed()
	b := &mdPage{lang: d.Lang}
	if d.Title != "" {
		fmt.Fprintf(b, "# %s\n\n", foreign.Markdown(d.Heading()))
		census := d.Census
		switch {
		case d.Question == "": // the title is the heading
		case census == "":
			census = d.Title
		default:
			census = b.in(string(lang.T("%s: %s", d.Title, census)))
		}
		fmt.Fprintf(b, "%s\n", foreign.Markdown(census))
		paragraph(b, d.Where)
	}
	paragraph(b, d.Lead)
	sections := doc.Visible(d.Sections, m)
	if len(sections) > 0 && sections[0].Box { // the answer
		mdSection(b, sections[0], "##", sections[0].Title)
		sections = sections[1:]
	}
	if d.Title != "" {
		bullets(b, d.Warnings)
	}
	for _, s := range sections {
		mdSection(b, s, "##", s.Title)
	}
	_, err := io.WriteString(w, foreign.Text(b.String()))
	return err
}

// An mdPage is Markdown in a language.
type mdPage struct {
	bytes.Buffer
	lang *lang.Language
}

// in is a sentence that the renderer adds.
func (p *mdPage) in(s string) string { return lang.Text(s).In(p.lang) }

func mdSection(w *mdPage, s doc.Section, level, title string) {
	if title != "" && !s.Box {
		fmt.Fprintf(w, "\n%s %s\n", level, foreign.Markdown(title))
	}
	paragraph(w, s.About)
	var lines []string
	for _, l := range s.Lines {
		lines = append(lines, w.in(prose.Alternatives(append([]string{l.String()}, l.Evidence...))))
	}
	bullets(w, lines)
	for _, t := range s.Tables {
		paragraph(w, t.Title)
		if w.Len() > 0 { // not before the first
			fmt.Fprintln(w)
		}
		mdTable(w, t)
	}
	bullets(w, s.Notes)
	var facts []string
	for _, f := range s.Facts {
		facts = append(facts, w.in(f.String()))
	}
	bullets(w, facts)
	if s.Code != "" {
		fmt.Fprintf(w, "\n    %s\n", strings.ReplaceAll(strings.TrimRight(s.Code, "\n"), "\n", "\n    "))
	}
	for _, p := range s.Parts {
		title := p.Title
		if s.Flat {
			title = p.Label
		}
		mdSection(w, p, "###", title)
	}
}

func paragraph(w io.Writer, s string) {
	if s != "" {
		fmt.Fprintf(w, "\n%s\n", foreign.Markdown(s))
	}
}

func bullets(w io.Writer, lines []string) {
	for i, l := range lines {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "- %s\n", foreign.Markdown(l))
	}
}

func mdTable(w *mdPage, t doc.Table) {
	var head, rule []string
	for _, c := range t.Columns {
		align := "--:"
		if c.Left {
			align = ":--"
		}
		head, rule = append(head, foreign.Markdown(w.in(prose.Comma(c.Head, c.Unit)))), append(rule, align)
	}
	rows := [][]string{head, rule}
	for _, r := range t.Rows {
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, foreign.Markdown(c.Text))
		}
		rows = append(rows, cells)
	}
	for _, cells := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}
