// Package section turns the account of a run into a document. A section is one file and one line in sections.
//
// The package must not touch a file, a clock or the network, or compute a statistic (package analysis did) or a
// cause (package account has them).
package section

import (
	"cmp"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
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
var sections = []func(source) []doc.Section{
	answerSection,
	downtimeSection,
	busySection,
	standingSection,
	contrastSections,
	contrastSummary,
	summarySection,
	draftSection,
	whySection,
	gapSection,
	costSection,
	predictSection,
	probeSections,
	goalSection,
	profileSection,
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
	claimSection,
	datapathSection,
	readingSection,
	methodSection,
	againSection,
}

// Report makes the report of a run.
func Report(r *account.Account) *doc.Document {
	s := newSource(r)
	d := &doc.Document{Title: cmp.Or(r.Name, "weir"), Question: Question(r), Census: s.census(), Span: Span(s.Account), Where: Where(r), Head: s.head(),
		Baseline: s.p.Baseline, Networks: s.p.Networks, Analysis: s.p, Findings: s.Findings()}
	d.Lead, d.Answer = s.lead(), s.answer()
	for _, f := range finding.OfRun(s.Findings()) {
		d.Warnings = append(d.Warnings, string(f.Say()))
	}
	d.Warnings = append(d.Warnings, doc.Marked(r.Problems)...)
	for _, f := range sections {
		d.Sections = append(d.Sections, f(s)...)
	}
	d.Identify()
	return d
}

// custom is the question of a run of flags alone, which its networks make one.
const custom = "What do these networks cost?"

// mostAsked is how many networks a question names.
const mostAsked = 6

// Question is that of the study. One about these networks names them: pages, tabs and lists of runs need to differ.
func Question(r *account.Account) string {
	p := r.Analysis
	var others []string
	for _, n := range p.Networks {
		if n != p.Baseline {
			others = append(others, r.Noun(n))
		}
	}
	base := r.Noun(p.Baseline)
	if factor := comparedFactor(p.Contrasts); r.Question == custom && factor != "" {
		if len(p.Networks) > mostAsked {
			return say("What does %s change?", factor)
		}
		return say("What does %s change for %s?", factor, prose.And(nouns(r, p.Networks)))
	}
	switch n := len(others); {
	case r.Question != custom || n == 0 || p.Baseline == "":
		return word(r.Question)
	case n == 1:
		return say("What does %s cost, compared with %s?", others[0], base)
	case n > mostAsked:
		return say("What do %s and %d more cost, compared with %s?", prose.List(others[:mostAsked-1]), n-mostAsked+1, base)
	}
	return say("What do %s cost, compared with %s?", prose.And(others), base)
}

// comparedFactor is the factor whose levels all stated comparisons compare; "" if they are of networks, of probes or of several.
func comparedFactor(all []analysis.Contrasted) (factor string) {
	for i, c := range all {
		for k := range c.To {
			if len(c.To) > 1 || k == analysis.Network || k == analysis.Probe || i > 0 && k != factor {
				return ""
			}
			factor = k
		}
	}
	return factor
}

func nouns(r *account.Account, networks []string) (out []string) {
	for _, n := range networks {
		out = append(out, r.Noun(n))
	}
	return out
}

// census counts the trials by status.
func (s source) census() string {
	text := prose.Comma(prose.Count(s.p.Blocks, "block"), prose.Count(len(s.Results), "trial"))
	if s.p.Unpaired {
		text = prose.Count(len(s.Results), "imported result")
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
	return say("%s: %s", text, prose.List(parts))
}

// Span returns when the trials ran.
func Span(a *account.Account) string {
	first, last := a.Times()
	if first.IsZero() {
		return ""
	}
	return say("%s UTC, %s", first.UTC().Format("2006-01-02 15:04"), last.Sub(first).Round(time.Second))
}
