// Package published makes documents about what others have published: claims with the verdicts of this machine, and
// figures with the values that were measured for them.
//
// It must not judge a claim (package claim did) or draw a picture (package figure does).
package published

import (
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// Claims is the report of only the published figures.
func Claims(outcomes []claim.Outcome) *doc.Document {
	x := ClaimSection(outcomes)
	x.Title = "" // the only section needs no title
	return &doc.Document{Sections: []doc.Section{x}}
}

// ClaimSection is the part of a report about published figures.
func ClaimSection(outcomes []claim.Outcome) doc.Section {
	t := doc.Tabulate("claims-table", claimColumns(outcomes)...)
	t.Prose = true
	return doc.Section{ID: "claims", Title: say("Published figures that these results bear on"), Label: say("Published figures"),
		About: verdicts(outcomes), Tables: []doc.Table{t}, Notes: append(claimNotes(outcomes), claimFootnote()), Data: outcomes}
}

// claimColumns has a row for each claim. It also holds the only test of a claim, or says that there can be none; of
// several tests, each has a row below it, with its own verdict.
func claimColumns(outcomes []claim.Outcome) []doc.Filled {
	cs := []doc.Filled{
		{Column: doc.Column{Head: say("claim"), Left: true, Whole: true, Keep: 9}}, // readers copy the name
		{Column: doc.Column{Head: say("part"), Left: true, Keep: 2}},
		{Column: doc.Column{Head: say("published"), Base: "1", Keep: 6}}, {Column: doc.Column{Head: say("accepted"), Keep: 5}},
		{Column: doc.Column{Head: say("measured"), Base: "1", Kind: "ratio", Keep: 9}}, {Column: doc.Column{Head: say("interval"), Unit: say("by itself"), Base: "1", Kind: "interval", Keep: 9}},
		{Column: doc.Column{Head: say("verdict"), Left: true, Keep: 9}}, {Column: doc.Column{Head: say("results"), Left: true, Keep: 4}},
	}
	times := map[string]int{} // by claim
	for _, o := range outcomes {
		times[o.Claim.ID]++
	}
	for _, o := range outcomes {
		id, v, where, tests := o.Claim.ID, word(string(o.Verdict)), "", o.Claim.Tests
		if o.Verdict == claim.Untestable {
			v, tests = say("not testable"), tests[:1] // the notes give the reason
		}
		if o.Runs > 0 { // another run can have another verdict
			v = say("%s (%s)", v, prose.Count(o.Runs, "run"))
		}
		if o.Busy != nil && o.Verdict != claim.Untestable {
			v = prose.Comma(v, say("disturbed"))
		}
		if times[id] > 1 { // distinguishes the runs
			where = o.From
		}
		add := func(row []doc.Cell) {
			for n := range cs {
				cs[n].Cells = append(cs[n].Cells, row[n])
			}
		}
		if len(tests) > 1 {
			add(doc.Texts(id, say("all parts"), "", "", "", "", v, where))
		}
		for i, t := range tests {
			part, own := "", v
			if len(tests) > 1 {
				part, own = t.String(), ""
			}
			row := doc.Texts(id, part, "", string(t.Bounds()), "", "", own, where)
			if r := (stat.Interval{N: 1, Center: t.Published()}); r.Center > 0 {
				row[2] = doc.RatioCell(r)
			}
			if i < len(o.Measured) {
				m := o.Measured[i]
				row[4], row[5] = doc.RatioCell(m.Ratio), doc.RatioIntervalCell(m.Ratio)
				if len(tests) > 1 {
					row[6].Text = word(string(m.Verdict))
				}
			}
			add(row)
		}
	}
	return cs
}

// claimNotes explains every unsettled claim: why it can fail here, or what is missing.
func claimNotes(outcomes []claim.Outcome) []string {
	var out []string
	var undecided, missing, busy doc.Groups[string, string] // claims by what would decide them, by missing requirement, and by disturbance
	for _, o := range outcomes {
		switch o.Verdict {
		case claim.Fails:
			out = append(out, say("%s does not hold %s: %s (%s) %s", o.Claim.ID, inRuns(o.Runs), word(o.Claim.Text), refuted(o), word(o.Claim.Note)))
		case claim.Undecided:
			undecided.Add(string(o.Why), o.Claim.ID)
		case claim.Untestable:
			missing.Add(string(o.Why), o.Claim.ID)
		}
		if o.Busy != nil && o.Verdict != claim.Untestable {
			busy.Add(string(finding.Took(*o.Busy)), o.Claim.ID)
		}
		for i, m := range o.Measured {
			for _, s := range m.Ratio.Warnings {
				out = append(out, say("%s, %s: %s", o.Claim.ID, o.Claim.Tests[i], s))
			}
		}
	}
	var open []string
	for _, why := range undecided.Keys {
		open = append(open, say("%s (%s)", prose.List(undecided.Of[why]), why))
	}
	if open != nil {
		out = append(out, say("undecided: %s", prose.Alternatives(open)))
	}
	for _, took := range busy.Keys {
		out = append(out, say("on a busy machine (%s), where all trials count: %s", took, prose.List(busy.Of[took])))
	}
	for _, why := range missing.Keys {
		out = append(out, say("cannot be tested here: %s: %s", why, prose.List(missing.Of[why])))
	}
	return out
}

// inRuns names the runs that a verdict rests on.
func inRuns(n int) string {
	if n <= 1 {
		return say("in this run")
	}
	return say("over %s", prose.Count(n, "run"))
}

// refuted lists the ratios outside their bounds.
func refuted(o claim.Outcome) string {
	var parts []string
	for i, m := range o.Measured {
		if t := o.Claim.Tests[i]; m.Verdict == claim.Fails {
			parts = append(parts, say("%s is %s×, not %s", t, prose.Centered(m.Ratio, prose.Digits(m.Ratio)), t.Bounds()))
		}
	}
	return say("%s.", prose.Alternatives(parts))
}

// verdicts counts the claims by verdict.
func verdicts(outcomes []claim.Outcome) string {
	n := map[claim.Verdict]int{}
	for _, o := range outcomes {
		n[o.Verdict]++
	}
	var parts []string
	for _, v := range []claim.Verdict{claim.Holds, claim.Fails, claim.Undecided, claim.Untestable} {
		if n[v] > 0 {
			verdict := word(string(v))
			switch {
			case n[v] > 1 && v == claim.Holds:
				verdict = say("hold")
			case n[v] > 1 && v == claim.Fails:
				verdict = say("do not hold")
			}
			parts = append(parts, say("%d %s", n[v], verdict))
		}
	}
	return say("Claims: %s.", prose.List(parts))
}

func claimFootnote() string {
	return say("A claim holds when the whole interval of the measured ratio is within the accepted bounds, and does not hold when all of it is outside. "+
		"Each claim is judged by itself with %s %% confidence: of twenty that lie on a bound, one gets a wrong verdict. So its interval is narrower than that of the same ratio in the other tables, whose intervals hold together. A verdict from one run covers only that run; another run can differ.",
		prose.Trim(100*claim.Confidence))
}
