package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// Comparison is the report of a comparison of runs A with runs B.
func Comparison(c analysis.Comparison) *Document {
	d := &Document{Analysis: c, Sections: []Section{costChanges(c)}}
	if len(c.Parts) > 0 {
		d.Sections = append(d.Sections, Section{ID: "parts", Title: say("Parts of the cost"),
			About: say("The same ratios for the network's part of response times, and for the CPU time of the workload's own threads. " +
				"They show where a change is; their intervals hold together among themselves, and they never fail a comparison."),
			Tables: []Table{table("parts-table", ratioColumns(c.Parts)...)}})
	}
	if len(c.Absolute) > 0 {
		d.Sections = append(d.Sections, Section{ID: "absolute", Title: say("Absolute values"),
			About:  say("Absolute values move with the machine: they get no verdict and never fail a comparison."),
			Notes:  notes(c),
			Tables: []Table{table("values", valueColumns(c.Absolute)...)}})
	}
	d.Sections = append(d.Sections, Section{ID: "uncompared", Title: say("Not compared"), Notes: uncompared(c)},
		Section{ID: "differ", Title: say("What differs between the runs"), Facts: differing(c)})
	d.Sections = slices.DeleteFunc(d.Sections, func(s Section) bool { return s.About == "" && len(s.Notes)+len(s.Tables)+len(s.Facts) == 0 })
	identify(d.Sections, "section", map[string]bool{})
	return d
}

// costChanges compares the ratios to the baseline and those of contrasts; only its rows have a verdict.
func costChanges(c analysis.Comparison) Section {
	x := Section{ID: "compare", Title: say("What networks cost"), About: say("%s (A), %s (B).", count(c.RunsA, "run"), count(c.RunsB, "run"))}
	switch {
	case len(c.Absolute)+len(c.Apart) == 0:
		x.About = sentences(x.About, say("They share no cell with an ok trial."))
		return x
	case c.Baseline() == "" && len(c.Changes) == 0:
		x.About = sentences(x.About, say("The runs have no common baseline (%s), so weir compares no ratios and gives no verdict.", list(baselines(c))))
		return x
	case len(c.Changes) == 0:
		x.About = sentences(x.About, say("No cell has a ratio to %s on both sides.", c.Baseline()))
		return x
	}
	stated := func(x analysis.Change) bool { return x.Compared != "" } // Changes holds no parts
	switch {
	case !slices.ContainsFunc(c.Changes, stated):
		x.About = sentences(x.About, say("A and B are ratios to %s of the same run.", c.Baseline()))
	case c.Baseline() == "":
		x.Title = say("What the studies compare")
		x.About = sentences(x.About, say("A and B are ratios of the levels around ÷ in the same run."))
	default:
		x.About = sentences(x.About, say("A and B are ratios in the same run: to %s, or of the levels around ÷.", c.Baseline()))
	}
	x.Tables = []Table{table("changes", ratioColumns(c.Changes)...)}
	x.Notes = append(x.Notes, single(c)...)
	for _, one := range c.Changes {
		for _, s := range one.Ratio.Warnings {
			if one.Ratio.Bounded() {
				x.Notes = append(x.Notes, say("%s: %s", one.String(), s))
			}
		}
	}
	if slices.ContainsFunc(c.Changes, func(x analysis.Change) bool { return x.Ratio.Bounded() }) {
		x.Notes = append(x.Notes, say("[ ] is the interval of B ÷ A%s; all %d hold together with %s %% confidence. "+
			"~ means no difference was shown; detectable is the smallest change that these runs would have shown. Worse and better: the whole interval is beyond %s %%.",
			randomEffect(c), len(c.Changes), trim(100*c.Confidence), trim(100*c.Bound)))
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
		return say("%s runs a side would show a change of %s %%", runs, trim(100*analysis.PlannedChange))
	}
	of := count(len(c.Changes), "cell")
	if len(known) > 0 {
		out = append(out, say("One run a side: the spread between earlier runs on this machine judges %d of %s. %s.", len(known), of, would(known)))
	}
	if len(guessed) > 0 {
		out = append(out, say("One run a side cannot tell a change from the difference between runs (%d of %s). "+
			"%s if runs differ by %s %%, as TCP throughput often does; weir does not know how much they differ here.",
			len(guessed), of, would(guessed), trim(100*analysis.GuessedTau)))
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

func ratioColumns(cs []analysis.Change) []column {
	own := func(head string, of func(analysis.Change) stat.Interval) column {
		c := ratios(cs, head, func(x analysis.Change) (stat.Interval, bool) { return of(x), false })[0]
		c.Keep = 8
		return c
	}
	return []column{cellNames(cs),
		own("A", func(x analysis.Change) stat.Interval { return x.A.Interval }),
		own("B", func(x analysis.Change) stat.Interval { return x.B.Interval }),
		change(cs)[0], change(cs)[1],
		layout(Column{Left: true, Kind: "same", Keep: 9}, cs, func(x analysis.Change) Cell { return Cell{Text: word(verdict(x))} }),
		layout(Column{Head: say("detectable"), Base: "1", Keep: 7}, cs, func(x analysis.Change) (c Cell) {
			if x.Same {
				c = Cell{Text: coarse(x.Detectable), Value: number(x.Detectable)}
				if x.Detectable > 1 {
					c.Text = ">100 %"
				}
			}
			return c
		}),
		runCounts(cs),
		layout(Column{Left: true, Keep: 8}, cs, func(x analysis.Change) (c Cell) {
			if x.Busy > 0 {
				c = Cell{Text: say("%d disturbed", x.Busy), Value: number(float64(x.Busy))}
			}
			return c
		})}
}

func valueColumns(cs []analysis.Change) []column {
	value := func(head string, of func(analysis.Change) float64) column {
		return layout(Column{Head: word(head), Keep: 8}, cs, func(x analysis.Change) Cell {
			return Cell{Text: unit.Format(of(x), x.Unit), Value: number(of(x))}
		})
	}
	return []column{cellNames(cs),
		value("A", func(x analysis.Change) float64 { return x.A.Center }),
		value("B", func(x analysis.Change) float64 { return x.B.Center }),
		change(cs)[0], change(cs)[1], runCounts(cs)}
}

func cellNames(cs []analysis.Change) column {
	return layout(Column{Head: say("cell"), Left: true, Keep: 9}, cs, func(x analysis.Change) Cell { return Cell{Text: x.String()} })
}

func change(cs []analysis.Change) []column {
	return ratios(cs, "B ÷ A", func(x analysis.Change) (stat.Interval, bool) { return x.Ratio.Interval, false })
}

func runCounts(cs []analysis.Change) column {
	return layout(Column{Head: say("runs"), Keep: 6}, cs, func(x analysis.Change) Cell { return Cell{Text: fmt.Sprintf("%d, %d", x.A.N, x.B.N)} })
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
	return mark(x.Same)
}

func uncompared(c analysis.Comparison) []string {
	var out []string
	for _, x := range c.Apart {
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
	return []string{say("%s: %s", where, alternatives(names))}
}

// differing lists the facts that differ, with the values of each side.
func differing(c analysis.Comparison) (out []Fact) {
	for _, d := range c.Differ {
		a, b := distinct(d.Values[:c.RunsA]), distinct(d.Values[c.RunsA:])
		out = append(out, Fact{d.Key, fmt.Sprintf("%s → %s", a, b)})
	}
	return out
}

// distinct lists the different values in order of first use; if there are several, with how many runs
// have each.
func distinct(values []string) string {
	var g groups[string, bool]
	for _, v := range values {
		g.add(cmp.Or(v, notRecorded), true)
	}
	if len(g.keys) == 1 {
		return g.keys[0]
	}
	for i, v := range g.keys {
		g.keys[i] = say("%s (%s)", v, count(len(g.of[v]), "run"))
	}
	return list(g.keys)
}
