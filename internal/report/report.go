// Package report turns the results of a run into a Document: sections with figures, tables and
// notes. HTML, Text, Markdown and JSON render a Document without knowing its sections. A section is
// one file and one line in sections.
//
// The package must not touch a file, a clock or the network, or compute a statistic (package
// analysis did).
package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/record"
)

// A source is what sections are made from: the run, and what only reports need.
type source struct {
	*account.Account
	p      *analysis.Run
	byCell map[string][]finding.Finding // those that the explanation does not state
	cut    cut
}

func newSource(r *account.Account) source {
	byCell := finding.ByCell(r.Findings())
	for t, row := range r.Analysis.Rows() {
		c := t.Cell(*row)
		byCell[c.String()] = slices.DeleteFunc(byCell[c.String()], func(f finding.Finding) bool { return r.Why().Says(f, c) })
	}
	return source{r, r.Analysis, byCell, newCut(r.Analysis)}
}

// sections are in reading order. A run without data for a section omits it.
var sections = []func(source) []Section{
	answerSection,
	standingSection,
	contrastSections,
	contrastSummary,
	summarySection,
	whySection,
	gapSection,
	costSection,
	probeSections,
	profileSection,
	claimSection,
	hopSection,
	traceSection,
	toolSection,
	threadSection,
	overTimeSection,
	trialSection,
	machineSection,
	pathSection,
	conditionSection,
	notCountedSection,
	readingSection,
	methodSection,
	againSection,
}

// New makes the report of a run.
func New(r *account.Account) *Document {
	s := newSource(r)
	d := &Document{Title: cmp.Or(r.Name, "weir"), Question: word(r.Question), Census: s.census(), Span: span(s.Account), Where: where(r), Head: s.head(),
		Baseline: s.p.Baseline, Networks: s.p.Networks, Analysis: s.p, Findings: s.Findings()}
	for _, f := range finding.OfRun(s.Findings()) {
		d.Warnings = append(d.Warnings, string(f.Say()))
	}
	d.Warnings = append(d.Warnings, marked(r.Problems)...)
	for _, f := range sections {
		d.Sections = append(d.Sections, f(s)...)
	}
	identify(d.Sections, "section", map[string]bool{})
	return d
}

// census counts the trials by status.
func (s source) census() string {
	text := comma(count(s.p.Blocks, "block"), count(len(s.Results), "trial"))
	if s.p.Unpaired {
		text = count(len(s.Results), "imported result")
	}
	n := map[record.Status]int{}
	for _, t := range s.p.Tables {
		for _, row := range t.Rows {
			for _, point := range row.Points {
				n[point.Status]++
			}
		}
	}
	var parts []string
	for _, status := range []record.Status{record.OK, record.Disturbed, record.Invalid, record.Failed, record.Skipped} {
		if n[status] > 0 {
			parts = append(parts, say("%d %s", n[status], word(string(status))))
		}
	}
	if parts == nil {
		return text
	}
	return say("%s: %s", text, list(parts))
}

// span returns when the trials ran.
func span(a *account.Account) string {
	first, last := a.Times()
	if first.IsZero() {
		return ""
	}
	return say("%s UTC, %s", first.UTC().Format("2006-01-02 15:04"), last.Sub(first).Round(time.Second))
}

func count(n int, noun string) string {
	one, many := "1 "+noun, ""
	switch noun {
	case "block":
		one, many = say("1 block"), say("%d blocks", n)
	case "trial":
		one, many = say("1 trial"), say("%d trials", n)
	case "imported result":
		one, many = say("1 imported result"), say("%d imported results", n)
	case "CPU":
		one, many = say("1 CPU"), say("%d CPUs", n)
	case "run":
		one, many = say("1 run"), say("%d runs", n)
	case "cell":
		one, many = say("1 cell"), say("%d cells", n)
	case "claim":
		one, many = say("1 claim"), say("%d claims", n)
	case "hop":
		one, many = say("1 hop"), say("%d hops", n)
	case "machine":
		one, many = say("1 machine"), say("%d machines", n)
	case "period":
		one, many = say("1 period"), say("%d periods", n)
	case "pair":
		one, many = say("1 pair"), say("%d pairs", n)
	}
	if n == 1 {
		return one
	}
	return many
}
