package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/finding"
)

// Markdown writes the tables for a page of a project or an issue.
func Markdown(w io.Writer, r Run) error {
	p := r.Pivot()
	b := bufio.NewWriter(w)
	r.mdHead(b, p)
	mdGap(b, p)
	for _, t := range p.Tables {
		fmt.Fprintf(b, "\n## %s\n\n", mdText(heading(t)))
		mdTable(b, columns(t, p.Baseline))
		lines := notes(p, t)
		if c := ceilings(t); c != "" {
			lines = append([]string{c}, lines...)
		}
		if hasSplit(t) {
			lines = append([]string{splitNote}, lines...)
		}
		if hasClients(t) {
			lines = append([]string{clientsNote}, lines...)
		}
		bullets(b, lines)
	}
	r.mdAcross(b, p)
	if r.Claims != nil {
		fmt.Fprint(b, "\n## Published figures that these results bear on\n\n")
		mdClaims(b, r.Claims)
	}
	if len(p.Residue) > 0 {
		fmt.Fprint(b, "\n## What differed without being asked\n")
		var lines []string
		for _, f := range finding.ResidueOf(p.findings) {
			lines = append(lines, f.Text)
		}
		bullets(b, lines)
	}
	fmt.Fprint(b, "\n## Method\n")
	lines := method(p)
	if s := r.datapath(); s != "" {
		lines = append(lines, s)
	}
	bullets(b, lines)
	return b.Flush()
}

// mdHead writes what a run was and what it answers.
func (r Run) mdHead(b io.Writer, p analysed) {
	fmt.Fprintf(b, "# %s\n\n", mdText(r.title()))
	if r.Question != "" {
		fmt.Fprintf(b, "%s\n\n", mdText(r.Question))
	}
	fmt.Fprintf(b, "%s\n", r.census(p))
	bullets(b, append(p.Warnings, r.Problems...))
	var lines []string
	for _, a := range answers(p, false) {
		lines = append(lines, a.Network+": "+a.Text)
	}
	bullets(b, lines)
}

// mdAcross writes what compares tables with each other.
func (r Run) mdAcross(b io.Writer, p analysed) {
	for _, c := range chains(p) {
		fmt.Fprintf(b, "\n## %s\n\n", mdText(c.Title))
		mdTable(b, c.Columns)
		bullets(b, c.Notes)
	}
	for _, c := range r.sideBySide(p) {
		fmt.Fprintf(b, "\n## %s\n\n", mdText(c.Title))
		mdTable(b, c.Columns)
		bullets(b, append(c.Notes, c.Why...))
	}
}

// ClaimsMarkdown writes what became of published figures.
func ClaimsMarkdown(w io.Writer, outcomes []claim.Outcome) error {
	b := bufio.NewWriter(w)
	mdClaims(b, outcomes)
	return b.Flush()
}

func mdClaims(w io.Writer, outcomes []claim.Outcome) {
	mdTable(w, claimColumns(outcomes))
	bullets(w, append(claimNotes(outcomes), claimFootnote(outcomes)))
}

func bullets(w io.Writer, lines []string) {
	for i, l := range lines {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "- %s\n", mdText(l))
	}
}

func mdTable(w io.Writer, cs []column) {
	var head, rule []string
	for _, c := range cs {
		h := c.Head
		if c.Unit != "" {
			h += ", " + c.Unit
		}
		head = append(head, mdText(h))
		if c.Left {
			rule = append(rule, ":--")
		} else {
			rule = append(rule, "--:")
		}
	}
	row := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	row(head)
	row(rule)
	for i := range cs[0].Cells {
		var cells []string
		for _, c := range cs {
			cells = append(cells, mdText(c.Cells[i]))
		}
		row(cells)
	}
}

var mdEscape = strings.NewReplacer(`\`, `\\`, `|`, `\|`, "`", "\\`", `*`, `\*`, `_`, `\_`, `<`, `&lt;`, `~`, `\~`, "\n", " ", "\r", " ")

// mdText keeps a name from becoming markup.
func mdText(s string) string { return mdEscape.Replace(s) }
