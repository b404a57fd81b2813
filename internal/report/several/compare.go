package several

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// Comparison is the report of a comparison of runs A with runs B.
func Comparison(c analysis.Comparison) *doc.Document {
	d := &doc.Document{Analysis: c, Answer: whatChanged(c), Sections: []doc.Section{{ID: "answer", Title: say("Answer"), Box: true}, costChanges(c)}}
	for _, text := range d.Answer {
		d.Sections[0].Lines = append(d.Sections[0].Lines, doc.Line{Text: text})
	}
	if len(c.Parts) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "parts", Title: say("Parts of the cost"),
			About: say("The same ratios for the network's part of response times, and for the CPU time of the workload's own threads. " +
				"They show where a change is; their intervals hold together among themselves, and they never fail a comparison."),
			Tables: []doc.Table{doc.Tabulate("parts-table", ratioColumns(c.Parts)...)}})
	}
	if len(c.Absolute) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "absolute", Title: say("Absolute values"),
			About:  say("Absolute values move with the machine: they get no verdict and never fail a comparison."),
			Notes:  notes(c),
			Tables: []doc.Table{doc.Tabulate("values", valueColumns(c.Absolute)...)}})
	}
	d.Sections = append(d.Sections, doc.Section{ID: "uncompared", Title: say("Not compared"), Notes: uncompared(c)},
		doc.Section{ID: "differ", Title: say("What differs between the runs"), Facts: differing(c)})
	d.Sections = slices.DeleteFunc(d.Sections, func(s doc.Section) bool {
		return s.About == "" && len(s.Lines)+len(s.Notes)+len(s.Tables)+len(s.Facts) == 0
	})
	d.Identify()
	return d
}

// mostNamed is how many changes the answer names of each kind.
const mostNamed = 3

// whatChanged answers what a change did: what is worse, what is better, and what the runs cannot tell.
func whatChanged(c analysis.Comparison) (out []string) {
	var worse, better, differ []string
	same, noisy, unknown, would := 0, 0, 0, 0.0
	for _, x := range c.Changes {
		text := say("%s %s", x.String(), section.Change(x.Ratio.Interval))
		switch {
		case x.Worse:
			worse = append(worse, text)
		case x.Better:
			better = append(better, text)
		case x.Same && x.Detectable > section.TooNoisy:
			noisy++
		case x.Same:
			same, would = same+1, max(would, x.Detectable)
		case x.Ratio.Bounded():
			differ = append(differ, text)
		default:
			unknown++
		}
	}
	list := func(all []string) string {
		if n := len(all); n > mostNamed {
			return prose.Alternatives(append(all[:mostNamed:mostNamed], say("and %d more", n-mostNamed)))
		}
		return prose.Alternatives(all)
	}
	if worse != nil {
		out = append(out, say("Worse: %s.", list(worse)))
	}
	if better != nil {
		out = append(out, say("Better: %s.", list(better)))
	}
	if differ != nil {
		out = append(out, say("Changed within the bound of %s %%: %s.", prose.Trim(100*c.Bound), list(differ)))
	}
	switch {
	case same > 0 && would > 0:
		out = append(out, say("No change was seen in %d of %s; one of %s would have shown.", same, prose.Count(len(c.Changes), "cell"), prose.Coarse(would)))
	case same > 0:
		out = append(out, say("No change was seen in %d of %s.", same, prose.Count(len(c.Changes), "cell")))
	}
	if noisy > 0 {
		out = append(out, say("Too noisy to tell, because a factor of two could hide: %d of %s.", noisy, prose.Count(len(c.Changes), "cell")))
	}
	if unknown > 0 {
		out = append(out, say("Too few runs to tell: %d of %s have no interval.", unknown, prose.Count(len(c.Changes), "cell")))
	}
	return out
}

// costChanges compares the ratios to the baseline and those of contrasts; only its rows have a verdict.
func costChanges(c analysis.Comparison) doc.Section {
	x := doc.Section{ID: "compare", Title: say("What networks cost"), About: say("%s (A), %s (B).", prose.Count(c.RunsA, "run"), prose.Count(c.RunsB, "run"))}
	switch {
	case len(c.Absolute)+len(c.Uncompared) == 0:
		x.About = prose.Sentences(x.About, say("They share no cell with an ok trial."))
		return x
	case c.Baseline() == "" && len(c.Changes) == 0:
		x.About = prose.Sentences(x.About, say("The runs have no common baseline (%s), so weir compares no ratios and gives no verdict.", prose.List(baselines(c))))
		return x
	case len(c.Changes) == 0:
		x.About = prose.Sentences(x.About, say("No cell has a ratio to %s on both sides.", c.Baseline()))
		return x
	}
	stated := func(x analysis.Change) bool { return x.Compared != "" } // Changes holds no parts
	switch {
	case !slices.ContainsFunc(c.Changes, stated):
		x.About = prose.Sentences(x.About, say("A and B are ratios to %s of the same run.", c.Baseline()))
	case c.Baseline() == "":
		x.Title = say("What the studies compare")
		x.About = prose.Sentences(x.About, say("A and B are ratios of the levels around ÷ in the same run."))
	default:
		x.About = prose.Sentences(x.About, say("A and B are ratios in the same run: to %s, or of the levels around ÷.", c.Baseline()))
	}
	x.About = prose.Sentences(x.About, say("The intervals of A and of B are in their own reports: they would not say whether the two differ."))
	x.Tables = []doc.Table{doc.Tabulate("changes", ratioColumns(c.Changes)...)}
	x.Notes = append(x.Notes, single(c)...)
	for _, one := range c.Changes {
		for _, s := range one.Ratio.Warnings {
			if one.Ratio.Bounded() {
				x.Notes = append(x.Notes, say("%s: %s", one.String(), s))
			}
		}
	}
	if slices.ContainsFunc(c.Changes, func(x analysis.Change) bool { return x.Ratio.Bounded() }) {
		x.Notes = append(x.Notes, say("[ ] is the interval of B ÷ A%s; the verdicts on all %d hold together with %s %% confidence, the clearest change being judged first. "+
			"~ means no difference was shown; detectable is the smallest change that these runs would have shown. Worse and better: the whole interval is beyond %s %%.",
			randomEffect(c), len(c.Changes), prose.Trim(100*c.Confidence), prose.Trim(100*c.Bound)))
	}
	return x
}

// unpairedComparison warns of two imported directories.
var unpairedComparison = say("Imported results, unpaired: each result is a sample of its own, so the intervals rest on how the results of a side differ. " +
	"They cover a difference between the sides that comes from the time or the machine only if the results of a side were measured as far apart.")

// notes warns where no ratio does.
func notes(c analysis.Comparison) []string {
	if c.Unpaired && len(c.Changes) == 0 {
		return []string{unpairedComparison}
	}
	return nil
}

func randomEffect(c analysis.Comparison) string {
	if c.Unpaired {
		return ""
	}
	return say(" with the run as a random effect")
}

// single explains the cells with one run a side, and says how many runs would be enough.
func single(c analysis.Comparison) (out []string) {
	if c.Unpaired {
		return []string{unpairedComparison}
	}
	guessed, known := []int{}, []int{} // runs needed
	for _, x := range c.Changes {
		switch {
		case x.Needed > 0 && x.Known != nil:
			known = append(known, x.Needed)
		case x.Needed > 0:
			guessed = append(guessed, x.Needed)
		}
	}
	would := func(needed []int) string {
		runs := fmt.Sprint(slices.Min(needed))
		if most := slices.Max(needed); most > slices.Min(needed) {
			runs = say("%s to %d", runs, most)
		}
		return say("%s runs a side would show a change of %s %%", runs, prose.Trim(100*analysis.PlannedChange))
	}
	of := prose.Count(len(c.Changes), "cell")
	if len(known) > 0 {
		out = append(out, say("One run a side: the spread between earlier runs on this machine, taken to be %s %% or more, judges %d of %s. %s.", prose.Trim(100*analysis.GuessedTau), len(known), of, would(known)))
	}
	if len(guessed) > 0 {
		out = append(out, say("One run a side cannot tell a change from the difference between runs (%d of %s). "+
			"%s if runs differ by %s %%, as TCP throughput often does; weir does not know how much they differ here.",
			len(guessed), of, would(guessed), prose.Trim(100*analysis.GuessedTau)))
	}
	return out
}

func baselines(c analysis.Comparison) (out []string) {
	for _, b := range c.Baselines {
		if b == "" {
			b = say("none")
		}
		out = append(out, b)
	}
	return out
}

func ratioColumns(cs []analysis.Change) []doc.Filled {
	own := func(head string, of func(analysis.Change) stat.Interval) doc.Filled {
		c := doc.Ratios(cs, head, func(x analysis.Change) (stat.Interval, bool) { return of(x), false })[0]
		c.Keep = 8
		return c
	}
	return []doc.Filled{cellNames(cs),
		own("A", func(x analysis.Change) stat.Interval { return x.A.Interval }),
		own("B", func(x analysis.Change) stat.Interval { return x.B.Interval }),
		change(cs)[0], change(cs)[1],
		doc.Layout(doc.Column{Left: true, Kind: "same", Keep: 9}, cs, func(x analysis.Change) doc.Cell { return doc.Cell{Text: word(verdict(x))} }),
		doc.Layout(doc.Column{Head: say("detectable"), Base: "1", Keep: 7}, cs, func(x analysis.Change) (c doc.Cell) {
			if x.Same {
				c = section.Detectable(x.Detectable)
			}
			return c
		}),
		runCounts(cs),
		doc.Layout(doc.Column{Left: true, Keep: 8}, cs, func(x analysis.Change) (c doc.Cell) {
			if x.Busy > 0 {
				c = doc.Cell{Text: say("%d disturbed", x.Busy), Value: doc.Number(float64(x.Busy))}
			}
			return c
		})}
}

func valueColumns(cs []analysis.Change) []doc.Filled {
	value := func(head string, of func(analysis.Change) float64) doc.Filled {
		return doc.Layout(doc.Column{Head: word(head), Keep: 8}, cs, func(x analysis.Change) doc.Cell {
			return doc.Cell{Text: unit.Format(of(x), x.Unit), Value: doc.Number(of(x))}
		})
	}
	return []doc.Filled{cellNames(cs),
		value("A", func(x analysis.Change) float64 { return x.A.Center }),
		value("B", func(x analysis.Change) float64 { return x.B.Center }),
		change(cs)[0], change(cs)[1], runCounts(cs)}
}

func cellNames(cs []analysis.Change) doc.Filled {
	return doc.Layout(doc.Column{Head: say("cell"), Left: true, Keep: 9}, cs, func(x analysis.Change) doc.Cell { return doc.Cell{Text: x.String()} })
}

func change(cs []analysis.Change) []doc.Filled {
	return doc.Ratios(cs, "B ÷ A", func(x analysis.Change) (stat.Interval, bool) { return x.Ratio.Interval, false })
}

func runCounts(cs []analysis.Change) doc.Filled {
	return doc.Layout(doc.Column{Head: say("runs"), Keep: 6}, cs, func(x analysis.Change) doc.Cell { return doc.Cell{Text: fmt.Sprintf("%d, %d", x.A.N, x.B.N)} })
}

func verdict(x analysis.Change) string {
	switch {
	case x.Worse:
		return "WORSE"
	case x.Better:
		return "better"
	case !x.Ratio.Bounded():
		return "cannot tell"
	}
	return doc.Mark(x.Same)
}

func uncompared(c analysis.Comparison) []string {
	var out []string
	for _, x := range c.Uncompared {
		out = append(out, say("%s: %s", x.String(), word(x.Reason)))
	}
	return append(append(out, only(say("only in A"), c.OnlyA)...), only(say("only in B"), c.OnlyB)...)
}

func only(where string, cells []analysis.Cell) []string {
	if len(cells) == 0 {
		return nil
	}
	var names []string
	for _, c := range cells {
		names = append(names, c.String())
	}
	return []string{say("%s: %s", where, prose.Alternatives(names))}
}

// differing lists the facts that differ, with the values of each side.
func differing(c analysis.Comparison) (out []doc.Fact) {
	for _, d := range c.Differ {
		a, b := distinct(d.Values[:c.RunsA]), distinct(d.Values[c.RunsA:])
		out = append(out, doc.Fact{Key: d.Key, Value: fmt.Sprintf("%s → %s", a, b)})
	}
	return out
}

// distinct lists the different values in order of first use; if there are several, with how many runs
// have each.
func distinct(values []string) string {
	var g doc.Groups[string, bool]
	for _, v := range values {
		g.Add(cmp.Or(v, notRecorded), true)
	}
	if len(g.Keys) == 1 {
		return g.Keys[0]
	}
	for i, v := range g.Keys {
		g.Keys[i] = say("%s (%s)", v, prose.Count(len(g.Of[v]), "run"))
	}
	return prose.List(g.Keys)
}
