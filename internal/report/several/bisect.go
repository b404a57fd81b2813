package several

import (
	"fmt"
	"path"
	"slices"

	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// mostCurves is how many commits the picture of a search shows.
const mostCurves = 5

// The table of commits ends with mostSuspects, and at a probability of leastSuspect.
const mostSuspects, leastSuspect = 12, 0.001

// Bisection is the page of a search among commits or kernels, or between nodes.
func Bisection(o *bisect.Outcome) *doc.Document {
	one, _ := among(o)
	d := &doc.Document{Question: say("Which %s changed %s of %s?", one, o.Probe, o.Network), Answer: bisected(o)}
	if o.Guests != nil && o.Guests.Emulated {
		d.Answer = append(d.Answer, say("QEMU emulated the guests (TCG). Ratios then mostly reflect the cost of emulation, so a kernel can change it on hardware and not here, or the reverse: repeat the search where KVM works."))
	}
	if o.Nodes != nil {
		d.Question = say("Do nodes with %s differ from those with %s in %s of %s?", o.Bad, o.Good, o.Probe, o.Network)
	}
	answer := doc.Section{ID: "answer", Title: say("Answer"), Box: true}
	for _, text := range d.Answer {
		answer.Lines = append(answer.Lines, doc.Line{Text: text})
	}
	d.Sections = []doc.Section{answer, probabilities(o), comparisons(o), suspects(o), skipped(o), howSure(o)}
	if o.Nodes != nil { // there is one candidate
		d.Sections = []doc.Section{answer, comparisons(o), howSure(o)}
	}
	d.Sections = slices.DeleteFunc(d.Sections, func(s doc.Section) bool {
		return len(s.Lines)+len(s.Tables)+len(s.Figures)+len(s.Facts)+len(s.Notes) == 0
	})
	d.Identify()
	return d
}

// among is what o searches, one and several.
func among(o *bisect.Outcome) (one, many string) {
	if o.Guests != nil {
		return say("kernel"), say("kernels")
	}
	return say("commit"), say("commits")
}

// named is a candidate with its subject.
func named(o *bisect.Outcome, hash string) string {
	if i := o.Candidate(hash); i > 0 {
		return o.Name(hash) + " (" + o.Commits[i-1].Subject + ")"
	}
	return o.Name(hash)
}

// percent is a probability, which is never certainty.
func percent(p float64) string {
	if p > 0.999 {
		return say("more than %s", prose.Percent(0.999))
	}
	return prose.Percent(p)
}

// bisected answers the question.
func bisected(o *bisect.Outcome) (out []string) {
	n, p := len(o.Commits), percent(o.P)
	one, many := among(o)
	switch {
	case o.Nodes != nil && o.Verdict == bisect.None:
		return []string{say("No: they differ by less than %s (probability %s).", prose.Percent(o.Least), p)}
	case o.Nodes != nil && o.Verdict == bisect.Open:
		return []string{say("Not decided after %s: the probability that they differ by %s or more is %s.", prose.Count(len(o.Steps), "comparison"), prose.Percent(o.Least), percent(1-o.NoChange))}
	case o.Nodes != nil:
		out = append(out, say("Yes (probability %s): measured between %s, and between %s.", p, prose.List(o.Nodes.Groups[1].Names), prose.List(o.Nodes.Groups[0].Names)))
	case o.Verdict == bisect.None:
		return []string{say("None found: no %s of %d, %s to %s, changes it by %s or more (probability %s).", one, n, o.Name(o.Good), o.Name(o.Bad), prose.Percent(o.Least), p)}
	case o.Verdict == bisect.Open && o.First == "":
		return []string{say("Not decided after %s: the probability that none of %d %s changes it by %s or more is %s.", prose.Count(len(o.Steps), "comparison"), n, many, prose.Percent(o.Least), p)}
	case o.Verdict == bisect.Open:
		out = append(out, say("Not decided after %s. The most probable %s is %s, with a probability of %s.", prose.Count(len(o.Steps), "comparison"), one, named(o, o.Last), p))
	case o.First == o.Last:
		out = append(out, say("The %s %s changed it (probability %s).", one, named(o, o.Last), p))
	default:
		out = append(out, say("One of %d %s changed it, from %s to %s (probability %s). Those before the last cannot be measured.",
			o.Candidate(o.Last)-o.Candidate(o.First)+1, many, named(o, o.First), named(o, o.Last), p))
	}
	if o.Change.N > 0 {
		text := say("Next to each other, %s ÷ %s is %s", o.Name(o.Last), o.Name(o.Hash(o.Candidate(o.First)-1)), prose.Times(o.Change))
		switch worse := (o.Change.Center > 1) == o.Metric.LowerIsBetter(o.Unit); {
		case o.Change.Lo <= 1 && o.Change.Hi >= 1:
			out = append(out, text+".")
		case worse:
			out = append(out, say("%s, which is worse.", text))
		default:
			out = append(out, say("%s, which is better.", text))
		}
	}
	if n := len(o.Steps); n > 0 && len(o.Steps[n-1].Ways) == 2 && o.Change.N > 0 {
		ways := o.Steps[n-1].Ways
		out = append(out, say("That is the mean of both directions: %s with the client on the first node of each group, %s with it on the second.", prose.Times(ways[0]), prose.Times(ways[1])))
	}
	if o.Partly() {
		out = append(out, say("The whole change from %s to %s is %s, so other %s changed it, too: search before and after this one.", o.Name(o.Good), o.Name(o.Bad), prose.Times(o.Whole), many))
	}
	return out
}

// byProbability returns the numbers of the most probable commits, 0 for no change.
func byProbability(o *bisect.Outcome, most int) (all []int) {
	p := func(i int) float64 {
		if i == 0 {
			return o.NoChange
		}
		return o.Commits[i-1].P
	}
	for i := range len(o.Commits) + 1 {
		all = append(all, i)
	}
	slices.SortStableFunc(all, func(a, b int) int {
		switch {
		case p(a) > p(b):
			return -1
		case p(a) < p(b):
			return 1
		}
		return 0
	})
	return all[:min(len(all), most)]
}

// probabilities shows how the comparisons moved what is probable.
func probabilities(o *bisect.Outcome) doc.Section {
	one, many := among(o)
	s := doc.Section{ID: "probabilities", Title: say("How the probabilities moved"),
		About: say("Each comparison is the one that tells most at that moment. The curves are the most probable %s at the end.", many)}
	if len(o.Steps) == 0 {
		return s
	}
	sweep := chart.Sweep{X: say("comparisons"), Y: say("probability, %"), Alt: say("probability of the most probable %s after each comparison", many)}
	shown := byProbability(o, mostCurves)
	if !slices.Contains(shown, 0) {
		shown = append(shown[:len(shown)-1], 0)
	}
	for color, i := range shown {
		c := chart.Curve{Name: say("no change"), Color: color + 1}
		if i > 0 {
			c.Name = o.Name(o.Hash(i))
		}
		prior := 50.0
		if i > 0 {
			prior /= float64(len(o.Commits))
		}
		c.Points = append(c.Points, chart.CurvePoint{X: 0, Y: prior})
		for k, step := range o.Steps {
			if i < len(step.Posterior) {
				c.Points = append(c.Points, chart.CurvePoint{X: float64(k + 1), Y: 100 * step.Posterior[i]})
			}
		}
		sweep.Curves = append(sweep.Curves, c)
	}
	s.Figures = []doc.Figure{{ID: "posterior", Caption: say("Probability that a %s made the change, after each comparison", one), Chart: sweep}}
	return s
}

// comparisons is the table of the runs.
func comparisons(o *bisect.Outcome) doc.Section {
	s := doc.Section{ID: "comparisons", Title: say("Comparisons"),
		About: say("Both candidates of a comparison alternate in random order within each block of one run. The ratio is paired within blocks; the link leads to the run's report.")}
	report := func(x bisect.Step) string { return path.Join(x.Dir, "report.html") }
	if o.Pairs() > 0 {
		report = func(x bisect.Step) string { return path.Join(x.Dir, o.RunDir(1, x.Base), "report.html") }
		s.About = say("A comparison is %d pairs of runs. In each pair, both kernels boot in random order, and the ratio is the mean of the pairs. The link leads to the report of one run.", o.Pairs())
	}
	if o.Nodes != nil {
		s.About = say("A comparison is %d pairs of runs. In each pair, the study runs on the nodes of both groups in random order, and the ratio is the mean of the pairs. The link leads to the report of one run.", o.Pairs())
	}
	if len(o.Steps) == 0 {
		return s
	}
	number := 0
	s.Tables = []doc.Table{doc.Tabulate("comparisons-table",
		doc.Layout(doc.Column{Head: say("run"), Left: true, Keep: 9}, o.Steps, func(x bisect.Step) doc.Cell {
			number++
			return doc.Cell{Text: fmt.Sprint(number), Link: report(x)}
		}),
		doc.Names(say("base"), o.Steps, func(x bisect.Step) string { return o.Name(x.Base) }),
		doc.Names(say("candidate"), o.Steps, func(x bisect.Step) string { return o.Name(x.Other) }),
		doc.Layout(doc.Column{Head: say("ratio"), Base: "1", Kind: "ratio", Keep: 9}, o.Steps, func(x bisect.Step) doc.Cell { return doc.RatioCell(x.Ratio) }),
		doc.Layout(doc.Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 9}, o.Steps, func(x bisect.Step) doc.Cell {
			return doc.RatioIntervalCell(x.Ratio)
		}))}
	return s
}

// suspects is the table of the most probable commits.
func suspects(o *bisect.Outcome) doc.Section {
	one, many := among(o)
	subject := say("subject")
	if o.Guests != nil {
		subject = say("image")
	}
	var rows []bisect.Commit
	for _, i := range byProbability(o, mostSuspects) {
		if i > 0 && o.Commits[i-1].P >= leastSuspect {
			rows = append(rows, o.Commits[i-1])
		}
	}
	if rows == nil {
		return doc.Section{}
	}
	return doc.Section{ID: "commits", Title: say("The most probable %s", many), Tables: []doc.Table{doc.Tabulate("commits-table",
		doc.Names(one, rows, func(c bisect.Commit) string { return o.Name(c.Hash) }),
		doc.Layout(doc.Column{Head: say("probability"), Keep: 9}, rows, func(c bisect.Commit) doc.Cell { return doc.Cell{Text: percent(c.P), Value: doc.Number(c.P)} }),
		doc.Layout(doc.Column{Head: subject, Left: true, Keep: 5}, rows, func(c bisect.Commit) doc.Cell { return doc.Cell{Text: c.Subject} }))}}
}

// skipped lists what could not be measured.
func skipped(o *bisect.Outcome) doc.Section {
	s := doc.Section{ID: "skipped", Title: say("Skipped"), About: say("These do not build or boot, or their trials fail. One that is skipped is told from the next only together with it.")}
	for _, c := range o.Commits {
		if c.Skipped != "" {
			s.Facts = append(s.Facts, doc.Fact{Key: o.Name(c.Hash), Value: c.Skipped})
		}
	}
	return s
}

// Nodes adds to the page of a search between nodes in what they differ, from the facts of a run on each group.
func Nodes(page *doc.Document, o *bisect.Outcome, conditions [2]map[string][]byte) {
	differ := Differ([2]string{o.Good, o.Bad}, conditions[:1], conditions[1:])
	page.Sections = slices.Insert(page.Sections, 1, differ)
	if o.Verdict != bisect.Found {
		return
	}
	text := say("The runs recorded no fact in which these nodes differ.")
	if differ.Tables != nil || differ.Parts != nil {
		text = say("What else differs between these nodes is below; this comparison does not show which of it is the cause.")
	}
	page.Answer = append(page.Answer, text)
	page.Sections[0].Lines = append(page.Sections[0].Lines, doc.Line{Text: text})
}

// howSure states what the probabilities rest on.
func howSure(o *bisect.Outcome) doc.Section {
	one, many := among(o)
	if o.Nodes != nil {
		return doc.Section{ID: "method", Title: say("How sure this is"), Notes: []string{
			say("Before the first comparison, the probability that the groups differ is 50 %; small differences are more probable than large ones."),
			say("The error of a comparison is that of the mean of its pairs, and a spread between comparisons: 1 % is expected, and the comparisons correct it."),
			say("The answer holds for the nodes that were measured. It does not show that others with the same label are like them."),
			say("Differences below %s count as none.", prose.Percent(o.Least)),
		}}
	}
	return doc.Section{ID: "method", Title: say("How sure this is"), Notes: []string{
		say("Before the first comparison, no change has a probability of 50 %%, and each %s an equal part of the rest; small changes are more probable than large ones.", one),
		say("One %s is assumed to make the whole change. Several smaller changes can each be missed, or the largest is blamed.", one),
		say("The error of a comparison is that of its paired ratio, and a spread between runs: 1 % is expected, and the comparisons correct it."),
		say("The search ends at a probability of %s, and blames a %s only after it is compared with the one before. Where the above holds, at most %s of blamed %s are wrong.",
			prose.Percent(o.Certainty), one, prose.Percent(1-o.Certainty), many),
		say("Changes below %s count as none.", prose.Percent(o.Least)),
	}}
}
