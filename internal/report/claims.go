package report

import (
	"fmt"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/stat"
)

func claimSection(s source) []Section {
	if s.Claims == nil {
		return nil
	}
	x := claims(s.Claims)
	x.In = full
	return []Section{x}
}

// Claims is the report of published figures alone.
func Claims(outcomes []claim.Outcome) *Document {
	x := claims(outcomes)
	x.Title = "" // the only section needs no title
	return &Document{Sections: []Section{x}}
}

func claims(outcomes []claim.Outcome) Section {
	t := table("claims-table", claimColumns(outcomes)...)
	t.Prose = true
	return Section{ID: "claims", Title: say("Published figures that these results bear on"), Label: say("Published figures"),
		Tables: []Table{t}, Notes: append(claimNotes(outcomes), claimFootnote(outcomes)), Data: outcomes}
}

// claimColumns has a row for each test of each claim; an untestable claim has one row.
func claimColumns(outcomes []claim.Outcome) []column {
	cs := []column{
		{Column: Column{Head: say("claim"), Left: true, Whole: true, Keep: 9}}, // readers copy the name
		{Column: Column{Head: say("part"), Left: true, Keep: 2}},
		{Column: Column{Head: say("published"), Base: "1", Keep: 6}}, {Column: Column{Head: say("accepted"), Keep: 5}},
		{Column: Column{Head: say("measured"), Base: "1", Kind: "ratio", Keep: 9}}, {Column: Column{Head: say("interval"), Unit: say("by itself"), Base: "1", Kind: "interval", Keep: 8}},
		{Column: Column{Head: say("verdict"), Left: true, Keep: 9}}, {Column: Column{Head: say("results"), Left: true, Keep: 4}},
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
			v = say("%s (%s)", v, count(o.Runs, "run"))
		}
		if o.Busy != nil && o.Verdict != claim.Untestable {
			v = comma(v, say("disturbed"))
		}
		if times[id] > 1 { // distinguishes the runs
			where = o.From
		}
		for i, t := range tests {
			part := ""
			if len(o.Claim.Tests) > 1 && len(tests) > 1 {
				part = t.String()
			}
			row := texts(id, part, "", string(t.Bounds()), "", "", v, where)
			if r := (stat.Interval{N: 1, Center: t.Published()}); r.Center > 0 {
				row[2] = ratioCell(r, ratioDigits(r))
			}
			if i < len(o.Measured) {
				m := o.Measured[i].Ratio
				row[4], row[5] = ratioCell(m, ratioDigits(m)), intervalCell(m, 1, ratioDigits(m))
			}
			for n := range cs {
				cs[n].cells = append(cs[n].cells, row[n])
			}
		}
	}
	return cs
}

// claimNotes explains every unsettled claim: why it can fail here, or what is missing.
func claimNotes(outcomes []claim.Outcome) []string {
	var out []string
	var undecided, missing, busy groups[string, string] // claims by what would decide them, by missing requirement, and by disturbance
	for _, o := range outcomes {
		switch o.Verdict {
		case claim.Fails:
			out = append(out, say("%s does not hold %s: %s (%s) %s", o.Claim.ID, inRuns(o.Runs), word(o.Claim.Text), refuted(o), word(o.Claim.Note)))
		case claim.Undecided:
			undecided.add(string(o.Why), o.Claim.ID)
		case claim.Untestable:
			missing.add(string(o.Why), o.Claim.ID)
		}
		if o.Busy != nil && o.Verdict != claim.Untestable {
			busy.add(string(finding.Took(*o.Busy)), o.Claim.ID)
		}
		for i, m := range o.Measured {
			for _, s := range m.Ratio.Warnings {
				out = append(out, say("%s, %s: %s", o.Claim.ID, o.Claim.Tests[i], s))
			}
		}
	}
	var open []string
	for _, why := range undecided.keys {
		open = append(open, say("%s (%s)", list(undecided.of[why]), why))
	}
	if open != nil {
		out = append(out, say("undecided: %s", alternatives(open)))
	}
	for _, took := range busy.keys {
		out = append(out, say("on a busy machine (%s), where all trials count: %s", took, list(busy.of[took])))
	}
	for _, why := range missing.keys {
		out = append(out, say("cannot be tested here: %s: %s", why, list(missing.of[why])))
	}
	return out
}

// inRuns names the runs that a verdict rests on.
func inRuns(n int) string {
	if n <= 1 {
		return say("in this run")
	}
	return say("over %s", count(n, "run"))
}

// refuted lists the ratios outside their bounds.
func refuted(o claim.Outcome) string {
	var parts []string
	for i, m := range o.Measured {
		if t := o.Claim.Tests[i]; m.Verdict == claim.Fails {
			parts = append(parts, say("%s is %s×, not %s", t, fixed(m.Ratio.Center, ratioDigits(m.Ratio)), t.Bounds()))
		}
	}
	return say("%s.", alternatives(parts))
}

func claimFootnote(outcomes []claim.Outcome) string {
	n := map[claim.Verdict]int{}
	for _, o := range outcomes {
		n[o.Verdict]++
	}
	var parts []string
	for _, v := range []claim.Verdict{claim.Holds, claim.Fails, claim.Undecided, claim.Untestable} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", word(string(v)), n[v]))
		}
	}
	return say("%s: %s. A claim holds when the whole interval of the measured ratio is within the accepted bounds, and does not hold when all of it is outside. "+
		"Each claim is judged by itself with %s %% confidence: of twenty that lie on a bound, one gets a wrong verdict. So its interval is narrower than that of the same ratio in the other tables, whose intervals hold together. A verdict from one run covers only that run; another run can differ.",
		count(len(outcomes), "claim"), list(parts), trim(100*claim.Confidence))
}
