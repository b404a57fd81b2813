package published

import (
	"slices"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// Again is the page about the claims of a package: what its own results say about each, what those of this machine say, and
// what still holds.
func Again(there, here []claim.Outcome) *doc.Document {
	x := doc.Section{ID: "claims", Title: say("What holds on this machine"), Box: true}
	if len(here) == 0 {
		x.About = say("The package makes no claim.")
		return &doc.Document{Sections: []doc.Section{x}}
	}
	n := map[string]int{}
	for _, o := range here {
		n[still(there, o)]++
	}
	var parts []string
	for _, words := range stills() {
		if n[words] > 0 {
			parts = append(parts, say("%s: %d", words, n[words]))
			n[words] = 0
		}
	}
	t := doc.Tabulate("again-table", againColumns(there, here)...)
	t.Prose = true
	x.About, x.Tables = say("Claims: %s.", prose.Alternatives(parts)), []doc.Table{t}
	x.Notes = append(claimNotes(here), say("“There” is the package: its own results, judged by this weir. “Here” is this machine."), claimFootnote())
	return &doc.Document{Question: say("What still holds, measured again on this machine?"), Sections: []doc.Section{x}}
}

// judged are the verdicts that results have on claims, and none, in the order in which a reader needs them.
var judged = []claim.Verdict{claim.Holds, claim.Fails, claim.Undecided, claim.Untestable}

// stills lists what still can say, with what holds here first.
func stills() (all []string) {
	for _, here := range judged {
		for _, there := range judged {
			all = append(all, stillOf(there, here))
		}
	}
	return all
}

// still says what becomes of a claim of a package on this machine.
func still(there []claim.Outcome, here claim.Outcome) string {
	before := claim.Untestable // the results of the package do not test it
	if i := same(there, here); i >= 0 {
		before = there[i].Verdict
	}
	return stillOf(before, here.Verdict)
}

func stillOf(there, here claim.Verdict) string {
	switch {
	case here == claim.Untestable:
		return say("cannot be tested here")
	case here == claim.Undecided && there == claim.Holds:
		return say("undecided here, held there")
	case here == claim.Undecided:
		return say("undecided here")
	case here == claim.Holds && there == claim.Holds:
		return say("still holds")
	case here == claim.Holds && there == claim.Fails:
		return say("holds here, not there")
	case here == claim.Holds:
		return say("holds here, not shown there")
	case there == claim.Holds:
		return say("holds no longer")
	case there == claim.Fails:
		return say("holds neither here nor there")
	}
	return say("does not hold here, not shown there")
}

// againColumns has a row for each test of each claim. The verdict is that of the claim, in the row of its first test.
func againColumns(there, here []claim.Outcome) []doc.Filled {
	ratio, interval := doc.Column{Base: "1", Kind: "ratio", Keep: 8}, doc.Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 6}
	cs := []doc.Filled{
		{Column: doc.Column{Head: say("claim"), Left: true, Whole: true, Keep: 9}}, {Column: doc.Column{Head: say("part"), Left: true, Keep: 2}},
		{Column: doc.Column{Head: say("accepted"), Keep: 5}}, {Column: ratio}, {Column: interval}, {Column: ratio}, {Column: interval},
		{Column: doc.Column{Head: say("verdict"), Left: true, Keep: 9}}, {Column: doc.Column{Head: say("text of the claim"), Left: true, Keep: 1}},
	}
	cs[3].Head, cs[5].Head = say("there"), say("here")
	for _, o := range here {
		var before []claim.Measure
		if i := same(there, o); i >= 0 {
			before = there[i].Measured
		}
		for i, t := range o.Claim.Tests {
			part, verdict, text := "", "", ""
			if len(o.Claim.Tests) > 1 {
				part = t.String()
			}
			if i == 0 {
				verdict, text = still(there, o), word(o.Claim.Text)
				if o.Busy != nil && o.Verdict != claim.Untestable {
					verdict = prose.Comma(verdict, say("disturbed"))
				}
			}
			row := doc.Texts(o.Claim.ID, part, string(t.Bounds()), "", "", "", "", verdict, text)
			for side, measured := range [][]claim.Measure{before, o.Measured} {
				if i < len(measured) {
					r := measured[i].Ratio
					row[3+2*side], row[4+2*side] = doc.RatioCell(r), doc.RatioIntervalCell(r)
				}
			}
			for n := range cs {
				cs[n].Cells = append(cs[n].Cells, row[n])
			}
		}
	}
	return cs
}

// same returns the place of the outcome of the same claim of the same study, -1 without one.
func same(all []claim.Outcome, one claim.Outcome) int {
	return slices.IndexFunc(all, func(o claim.Outcome) bool {
		return o.Claim.ID == one.Claim.ID && o.Claim.Study.Name == one.Claim.Study.Name
	})
}
