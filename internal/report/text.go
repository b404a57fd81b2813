package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/unit"
)

// How far a name is shortened: to minName before a column goes, which is as long as
// the catalog's are, and to lastName when none can go.
const minName, lastName = 19, 14

// Text writes tables for a terminal that is width columns wide; less than 60 is 60.
func Text(w io.Writer, r Run, width int) error {
	width = max(width, 60)
	p := r.Pivot()
	b := bufio.NewWriter(w)
	wrap(b, "", plain(strings.TrimSuffix(r.title()+": "+r.Question, ": ")), width)
	wrap(b, "", r.census(p), width)
	for _, s := range append(p.Warnings, r.Problems...) {
		wrap(b, "! ", plain(s), width)
	}
	if as := answers(p, false); len(as) > 0 {
		fmt.Fprintln(b)
		for _, a := range as {
			wrap(b, "  ", plain(a.Network)+": "+a.Text, width)
		}
	}
	textGap(b, p, width)
	for _, t := range p.Tables {
		fmt.Fprintf(b, "\n%s\n", plain(heading(t)))
		textTable(b, columns(t, p.Baseline), width)
		if c := ceilings(t); c != "" {
			wrap(b, "  ", c, width)
		}
		for _, n := range notes(p, t) {
			wrap(b, "  ", plain(n), width)
		}
	}
	for _, c := range chains(p) {
		fmt.Fprintf(b, "\n%s\n", plain(c.Title))
		textTable(b, c.Columns, width)
		for _, n := range c.Notes {
			wrap(b, "  ", plain(n), width)
		}
	}
	for _, c := range r.sideBySide(p) {
		fmt.Fprintf(b, "\n%s\n", plain(c.Title))
		textTable(b, c.Columns, width)
		for _, n := range append(c.Notes, c.Why...) {
			wrap(b, "  ", plain(n), width)
		}
	}
	if r.Claims != nil {
		fmt.Fprintln(b, "\nPublished figures that these results bear on")
		textClaims(b, r.Claims, width)
	}
	if s := footnote(p); s != "" {
		fmt.Fprintln(b)
		wrap(b, "", s, width)
	}
	for i, f := range finding.ResidueOf(p.findings) {
		if i == 0 {
			fmt.Fprintln(b)
		}
		wrap(b, "", plain(f.Text), width)
	}
	if s := r.datapath(); s != "" {
		fmt.Fprintln(b)
		wrap(b, "", s, width)
	}
	return b.Flush()
}

func heading(t analysis.Table) string {
	if t.Metric == "" {
		return tableTitle(t)
	}
	m := metricName(t.Metric)
	if strings.HasSuffix(probeTitle(t.Probe), m) { // "UDP packet rate" says it
		return tableTitle(t) + ": " + better(t.Unit)
	}
	return tableTitle(t) + ": " + m + ", " + better(t.Unit)
}

// ceilings says what the headers leave of the link, once per distinct value.
func ceilings(t analysis.Table) string {
	var parts []string
	for _, r := range t.Rows {
		if c := r.Wire.Ceiling; c > 0 {
			parts = append(parts, plain(r.Network)+" "+unit.Format(c, t.Unit))
		}
	}
	if parts == nil {
		return ""
	}
	return "header ceiling: " + strings.Join(parts, ", ")
}

// textTable aligns columns. Where room is short it shortens names first, and
// then leaves out the columns that a reader misses least.
func textTable(w io.Writer, cs []column, width int) {
	cs = append([]column(nil), cs...)
	for i := range cs {
		cs[i].Cells = append([]string(nil), cs[i].Cells...)
		for n := range cs[i].Cells {
			cs[i].Cells[n] = plain(cs[i].Cells[n])
		}
		cs[i].Head = short(plain(cs[i].Head), lastName)
	}
	for total(cs) > width {
		over := total(cs) - width
		i, shortest := least(cs), minName
		if i < 0 {
			shortest = lastName
		}
		if n := cs[0].width(); n > shortest && (i < 0 || !cs[0].Whole) {
			cs[0].clip(max(shortest, n-over))
			continue
		}
		if i < 0 {
			break
		}
		cs = append(cs[:i], cs[i+1:]...)
	}
	units := false
	for _, c := range cs {
		units = units || c.Unit != ""
	}
	line(w, cs, func(c column) string { return c.Head })
	if units {
		line(w, cs, func(c column) string { return c.Unit })
	}
	for i := range cs[0].Cells {
		line(w, cs, func(c column) string { return c.Cells[i] })
	}
}

func line(w io.Writer, cs []column, get func(column) string) {
	var b strings.Builder
	for i, c := range cs {
		s := get(c)
		space := strings.Repeat(" ", max(0, c.width()-utf8.RuneCountInString(s)))
		if i > 0 {
			b.WriteString(strings.Repeat(" ", c.gap()))
		}
		if c.Left {
			b.WriteString(s + space)
		} else {
			b.WriteString(space + s)
		}
	}
	fmt.Fprintln(w, strings.TrimRight("  "+b.String(), " "))
}

// gap is the space before a column; an interval belongs to its ratio.
func (c column) gap() int {
	if c.Class == "interval" || c.Class == "same" {
		return 1
	}
	return 2
}

func (c column) width() int {
	n := max(utf8.RuneCountInString(c.Head), utf8.RuneCountInString(c.Unit))
	for _, s := range c.Cells {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

func (c *column) clip(n int) {
	for i := range c.Cells {
		c.Cells[i] = short(c.Cells[i], n)
	}
}

func total(cs []column) int {
	n := 2
	for i, c := range cs {
		n += c.width()
		if i > 0 {
			n += c.gap()
		}
	}
	return n
}

// least returns the column to leave out, -1 when all must stay.
func least(cs []column) int {
	best := -1
	for i, c := range cs {
		if c.keep < 9 && (best < 0 || c.keep <= cs[best].keep) {
			best = i
		}
	}
	return best
}

// short cuts s in its middle to n runes.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n/2]) + "…" + string(r[len(r)-(n-n/2-1):])
}

// plain keeps a string from moving the cursor or breaking a line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}

// wrap writes s in lines of at most width, the later ones indented.
func wrap(w io.Writer, indent, s string, width int) {
	line := indent
	for _, word := range strings.Fields(strings.ReplaceAll(s, " %", "\x00%")) {
		word = strings.ReplaceAll(word, "\x00", " ") // a number keeps its sign
		if n := utf8.RuneCountInString(line) + 1 + utf8.RuneCountInString(word); n > width && strings.TrimSpace(line) != "" {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", utf8.RuneCountInString(indent)) + "  " + word
			continue
		}
		if strings.TrimSpace(line) != "" && line != indent {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}
