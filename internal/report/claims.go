package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/stat"
)

// Claims writes what became of published figures, for a terminal that is width
// columns wide.
func Claims(w io.Writer, outcomes []claim.Outcome, width int) error {
	b := bufio.NewWriter(w)
	textClaims(b, outcomes, max(width, 60))
	return b.Flush()
}

func textClaims(w io.Writer, outcomes []claim.Outcome, width int) {
	textTable(w, claimColumns(outcomes), width)
	for _, n := range claimNotes(outcomes) {
		wrap(w, "  ", plain(n), width)
	}
	wrap(w, "  ", claimFootnote(outcomes), width)
}

// claimColumns has a line for each test of each claim; one that cannot be tested
// has one line.
func claimColumns(outcomes []claim.Outcome) []column {
	name := column{Head: "claim", Left: true, Whole: true, keep: 9} // a name is to be copied
	published, accepted := column{Head: "published", keep: 6}, column{Head: "accepted", keep: 5}
	ratio, interval := column{Head: "measured", Class: "ratio", keep: 9}, column{Head: "interval", Class: "interval", keep: 8}
	verdict := column{Head: "verdict", Left: true, keep: 9}
	from := column{Head: "results", Left: true, keep: 4}
	times := map[string]int{} // by claim
	for _, o := range outcomes {
		times[o.Claim.ID]++
	}
	line := func(c, p, a, r, i, v, f string) {
		for _, x := range []struct {
			to   *column
			cell string
		}{{&name, c}, {&published, p}, {&accepted, a}, {&ratio, r}, {&interval, i}, {&verdict, v}, {&from, f}} {
			x.to.Cells = append(x.to.Cells, x.cell)
		}
	}
	for _, o := range outcomes {
		id, v, where, tests := o.Claim.ID, string(o.Verdict), "", o.Claim.Tests
		if o.Verdict == claim.Untestable {
			v, tests = "not testable", tests[:1] // the notes say it in full
		}
		if times[id] > 1 { // whose results these are
			where = o.From
		}
		for i, t := range tests {
			p := ""
			if r := t.Published(); r > 0 {
				p = fixed(r, ratioDigits(stat.Interval{N: 1, Center: r})) + "×"
			}
			r, bounds := "", ""
			if i < len(o.Measured) {
				m := o.Measured[i].Ratio
				d := ratioDigits(m)
				r = fixed(m.Center, d) + "×"
				if m.Bounded() {
					bounds = bracket(m, d)
				}
			}
			line(id, p, t.Bounds(), r, bounds, v, where)
			id, v, where = "", "", "" // of the first line alone
		}
	}
	return filled([]column{name, published, accepted, ratio, interval, verdict, from})
}

// claimNotes says of every claim that is not settled what was claimed, and why it
// may not hold here or what is missing.
func claimNotes(outcomes []claim.Outcome) []string {
	var out, order, undecided []string
	missing := map[string][]string{} // claims by what is missing for them
	for _, o := range outcomes {
		switch o.Verdict {
		case claim.Fails:
			out = append(out, fmt.Sprintf("%s does not hold here: %s (%s) %s", o.Claim.ID, o.Claim.Text, refuted(o), o.Claim.Note))
		case claim.Undecided:
			undecided = append(undecided, fmt.Sprintf("%s (%s)", o.Claim.ID, o.Why))
		case claim.Untestable:
			if missing[o.Why] == nil {
				order = append(order, o.Why)
			}
			missing[o.Why] = append(missing[o.Why], o.Claim.ID)
		}
		for i, m := range o.Measured {
			for _, s := range m.Ratio.Warnings {
				out = append(out, fmt.Sprintf("%s, %s: %s", o.Claim.ID, o.Claim.Tests[i], s))
			}
		}
	}
	if undecided != nil {
		out = append(out, "undecided: "+strings.Join(undecided, ", "))
	}
	for _, why := range order {
		out = append(out, fmt.Sprintf("cannot be tested here: %s: %s", why, strings.Join(missing[why], ", ")))
	}
	return out
}

// refuted names the ratios that lie outside their bounds.
func refuted(o claim.Outcome) string {
	var parts []string
	for i, m := range o.Measured {
		if t := o.Claim.Tests[i]; m.Verdict == claim.Fails {
			parts = append(parts, fmt.Sprintf("%s is %s× and not %s", t, fixed(m.Ratio.Center, ratioDigits(m.Ratio)), t.Bounds()))
		}
	}
	return strings.Join(parts, "; ") + "."
}

func claimFootnote(outcomes []claim.Outcome) string {
	n := map[claim.Verdict]int{}
	for _, o := range outcomes {
		n[o.Verdict]++
	}
	var parts []string
	for _, v := range []claim.Verdict{claim.Holds, claim.Fails, claim.Undecided, claim.Untestable} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v, n[v]))
		}
	}
	return fmt.Sprintf("%s: %s. A claim holds when the whole interval of what was measured is within the bounds that are accepted, and does not when all of it is outside. "+
		"Each claim is judged by itself with %s %% confidence: of twenty that lie on a bound, one gets a wrong verdict.",
		count(len(outcomes), "claim"), strings.Join(parts, ", "), trim(100*claim.Confidence))
}
