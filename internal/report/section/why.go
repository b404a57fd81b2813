package section

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

var whyAbout = say("What limits each network and what its packets cost, the most important first, by the counters and clocks of this run. " +
	"Another run whose interval excludes a number refutes it; weir explain --test measures what \"Refuted if\" asks for.")

// whySection has a part for each network with at most six lines. A page shows the evidence on request. A
// run without evidence has no such section.
func whySection(s source) []doc.Section {
	x := doc.Section{ID: "why", Title: say("Why"), About: whyAbout, Data: s.Why()}
	for _, n := range s.Why().Networks {
		part := doc.Section{ID: "why " + n.Name, Title: n.Name}
		for _, line := range s.lines(n) {
			if line.Evidence != nil { // behind a click on a page, nowhere else
				part.Lines = append(part.Lines, doc.Line{Text: line.Text, In: []doc.Medium{doc.Terminal, doc.Markdown}})
				line.In = []doc.Medium{doc.Page}
			}
			part.Lines = append(part.Lines, line)
		}
		if part.Lines != nil {
			x.Parts = append(x.Parts, part)
		}
	}
	if x.Parts == nil {
		return nil
	}
	books := doc.Section{ID: "books", Title: say("What the parts leave unexplained"), Fold: true, In: []doc.Medium{doc.Page}}
	for _, n := range s.Why().Networks {
		if lines := bookLines(n); lines != nil {
			books.Parts = append(books.Parts, doc.Section{ID: "books " + n.Name, Title: n.Name, Lines: lines})
		}
	}
	if books.Parts == nil {
		return []doc.Section{x}
	}
	return []doc.Section{x, books}
}

// bookLines are the accounts of a network's cells.
func bookLines(n explain.Network) (out []doc.Line) {
	for _, b := range n.Books {
		out = append(out, doc.Line{Text: string(prose.Sentence(b.Text))})
	}
	return out
}

// lines returns the statements that no other section makes: the gap between UDP and TCP has one of its own.
func (s source) lines(n explain.Network) (out []doc.Line) {
	split := slices.ContainsFunc(s.p.Gaps(), func(g analysis.Gap) bool { return g.Network == n.Name })
	for _, x := range n.Statements {
		if x.Subject != explain.Sharing || !split {
			out = append(out, doc.Line{Text: string(x.Say()), Evidence: doc.Marked(x.Evidence)})
		}
	}
	return out
}

// Explanation is the document of weir explain about one network, or all if network is "". With evidence, it
// has what every statement rests on, and the statements beyond the first six.
func Explanation(r *account.Account, network string, evidence bool) (*doc.Document, explain.Explanation) {
	x := r.Why().Of(network)
	d := &doc.Document{Networks: r.Analysis.Networks, Baseline: r.Analysis.Baseline}
	for _, n := range (source{Account: r, p: r.Analysis}).farthest(x.Networks) {
		part := doc.Section{ID: "why " + n.Name, Title: n.Name}
		statements := n.Statements
		if evidence {
			statements = slices.Concat(statements, n.More)
		}
		for _, s := range statements {
			line := doc.Line{Text: string(s.Say())}
			if evidence {
				line.Evidence = doc.Marked(s.Evidence)
			}
			part.Lines = append(part.Lines, line)
		}
		if evidence {
			part.Lines = append(part.Lines, bookLines(n)...)
		}
		d.Sections = append(d.Sections, part)
	}
	if x.Missing != nil {
		d.Sections = append(d.Sections, doc.Section{ID: "missing", Title: say("What this run cannot say"), Notes: doc.Marked(x.Missing)})
	}
	d.Identify()
	return d, x
}

// farthest are networks in the order of their largest effects; the baseline, which has none, is the last.
func (s source) farthest(all []explain.Network) []explain.Network {
	size := s.sizes()
	size[s.p.Baseline] = -1
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b explain.Network) int { return cmp.Compare(size[b.Name], size[a.Name]) })
	return all
}

// Verdicts is the document of the runs that could refute statements.
func Verdicts(vs []explain.Verdict) *doc.Document {
	text := func(head string, keep int, of func(explain.Verdict) string) doc.Filled {
		return doc.Layout(doc.Column{Head: word(head), Left: true, Keep: keep}, vs, func(v explain.Verdict) doc.Cell { return doc.Cell{Text: of(v)} })
	}
	cs := []doc.Filled{doc.Names("statement", vs, func(v explain.Verdict) string { return cmp.Or(v.Rule, string(v.Subject)) }),
		text("network", 8, func(v explain.Verdict) string { return v.Cell.Network }),
		text("probe", 6, func(v explain.Verdict) string { return prose.Comma(v.Cell.Probe, prose.Levels(v.Cell.Levels)) }),
		text("value", 7, func(v explain.Verdict) string { return string(v.Quantity()) }),
		text("predicted", 8, func(v explain.Verdict) string { return v.Predicted() })}
	cs = append(cs, doc.Ratios(vs, say("fixed ÷ found"), func(v explain.Verdict) (stat.Interval, bool) { return v.Ratio, v.Ratio.Contains(1) })...)
	cs = append(cs, text("verdict", 9, func(v explain.Verdict) string { return string(v.Outcome.Say()) }))
	x := doc.Section{ID: "verdicts", Title: say("What the refuting runs say"), Tables: []doc.Table{doc.Tabulate("verdicts table", cs...)}}
	for _, v := range vs {
		x.Notes = append(x.Notes, say("%s: %s Results: %s", v.Cell.Network, v.Statement(), v.Dir))
	}
	d := &doc.Document{Sections: []doc.Section{x}}
	d.Identify()
	return d
}
