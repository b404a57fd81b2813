package export

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
)

// Changes returns the checks of a comparison: a case for every cell. Only regressions fail, so that cases
// fail when `weir compare` does. A cell without an ok trial after the change is broken.
func Changes(c analysis.Comparison) (out []Case) {
	add := func(cell analysis.Cell, s State, why, text string) {
		out = append(out, Case{"weir.compare", cell.String(), s, why, text})
	}
	for _, x := range c.Changes {
		change := "B ÷ A is " + ratio(x.Ratio.Interval)
		sides := fmt.Sprintf("%s: A %s in %d runs, B %s in %d", x.Metric, ratio(x.A.Interval), x.A.N, ratio(x.B.Interval), x.B.N)
		switch {
		case x.Worse:
			add(x.Cell, Failed, fmt.Sprintf("worse by more than %.3g %%: %s", 100*c.Bound, change), sides)
		case !x.Ratio.Bounded():
			add(x.Cell, Skipped, "cannot tell: "+untold(x), sides)
		case x.Same && x.Detectable > max(c.Bound, analysis.PlannedChange): // to pass says more than these runs do
			add(x.Cell, Skipped, fmt.Sprintf("cannot tell: these runs would not have shown a change below %.3g %%", 100*x.Detectable), change+"; "+sides)
		default:
			add(x.Cell, Passed, "", change+"; "+sides)
		}
	}
	for _, x := range c.Uncompared {
		s := Skipped
		if x.Reason == analysis.NoOKTrial+", in B" {
			s = Errored
		}
		add(x.Cell, s, "not compared: "+x.Reason, "")
	}
	for _, cell := range c.OnlyA {
		add(cell, Skipped, "not compared: only in A", "")
	}
	for _, cell := range c.OnlyB {
		add(cell, Skipped, "not compared: only in B", "")
	}
	if len(c.Changes) == 0 { // a file without a case reads as success
		out = append(out, Case{"weir.compare", "all cells", Skipped, "no cell has a ratio on both sides: there is no verdict", ""})
	}
	return out
}

// untold says why a change has no interval.
func untold(x analysis.Change) string {
	if x.Needed > 0 {
		return fmt.Sprintf("one run a side cannot tell a change from the difference between runs; %d runs a side would show a change of %.3g %%",
			x.Needed, 100*analysis.PlannedChange)
	}
	return cmp.Or(x.Ratio.Reason(), lang.Join(x.Ratio.Warnings, "; ").String(), "too few runs")
}

// Claims returns the checks of published figures. A claim fails if all of the interval is outside its bounds.
// That is a result, not a failure of `weir reproduce`, which then exits with 0.
func Claims(outcomes []claim.Outcome) (out []Case) {
	times := map[string]int{}
	for _, o := range outcomes {
		times[o.Claim.ID]++
	}
	for _, o := range outcomes {
		c := Case{Class: "weir.reproduce", Name: o.Claim.ID}
		if times[o.Claim.ID] > 1 && o.From != "" { // distinguishes the runs
			c.Name += " in " + o.From
		}
		var text []string
		for i, m := range o.Measured {
			t := o.Claim.Tests[i]
			line := fmt.Sprintf("%s is %s, accepted %s", t, ratio(m.Ratio), t.Bounds())
			if p := t.Published(); p > 0 {
				line += fmt.Sprintf(", published %.3g", p)
			}
			text = append(text, line)
		}
		c.Text = strings.Join(text, "\n")
		switch o.Verdict {
		case claim.Holds:
		case claim.Fails:
			c.State, c.Why = Failed, "does not hold: "+o.Claim.Text
			c.Text += "\n" + o.Claim.Note
		default:
			c.State, c.Why = Skipped, string(o.Verdict)+": "+o.Why.String()
		}
		out = append(out, c)
	}
	return out
}

// ratio formats a ratio with its interval.
func ratio(i stat.Interval) string {
	if !i.Bounded() {
		return fmt.Sprintf("%.3g without an interval", i.Center)
	}
	return fmt.Sprintf("%.3g ", i.Center) + prose.Brackets(i, func(v float64) string { return fmt.Sprintf("%.3g", v) })
}
