package section

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// factorOf formats a ratio in a table: "3.12× [2.90, 3.41]", "1.00× ~ [0.97, 1.03]"; "" where only the difference says
// something.
func factorOf(r contrasted) string {
	if r.Ratio.N == 0 {
		return ""
	}
	text := prose.Ratio(r.Ratio)
	if r.Same {
		text += " ~"
	}
	return text + prose.RatioInterval(r.Ratio) + stallsOf(r)
}

func stallsOf(r contrasted) string {
	if marks := marksOf(nil, r.Stalled, r.BaseStalled); marks != nil {
		return say(" (%s)", prose.List(marks))
	}
	return ""
}

// changeOf formats a ratio in a sentence: "+30 % [26, 35]", "no difference shown: between −3 and +5 %".
func changeOf(r contrasted) string {
	switch {
	case r.Ratio.N == 0:
		return ""
	case !r.Ratio.Bounded():
		return say("unknown") + stallsOf(r)
	case tellsNothingOf(r):
		return say("too noisy to tell: %s", percentRange(r.Ratio)) + stallsOf(r)
	case r.Same:
		return say("no difference shown: %s", percentRange(r.Ratio)) + stallsOf(r)
	}
	return change(r.Ratio) + stallsOf(r)
}

// tellsNothingOf reports whether a factor of two could hide.
func tellsNothingOf(r contrasted) bool { return r.Same && r.Detectable > TooNoisy }

// percentRange says how large a change can be that was not shown: "between −3 and +5 %". An end at 0 is none.
func percentRange(i stat.Interval) string {
	end := func(v float64) string {
		text, _, _ := strings.Cut(percents(stat.Interval{Center: v - 1, N: 1}, true), " ")
		if strings.Trim(text, "+−0.") == "" {
			return ""
		}
		return text
	}
	lo, hi := end(i.Lo), end(i.Hi)
	switch {
	case i.Open():
		return say("%s %% or more", cmp.Or(lo, "0"))
	case lo+hi == "":
		return say("less than 0.1 %% either way")
	case lo == "":
		return say("between none and %s %%", hi)
	case hi == "":
		return say("between %s %% and none", lo)
	}
	return say("between %s and %s %%", lo, hi)
}

// cost formats a ratio below 1 as a share: "48 % [46, 51]".
func cost(i stat.Interval) string {
	d := 0
	if i.Bounded() && i.Hi-i.Lo < 0.03 {
		d = 1
	}
	text := prose.Fixed(100*(1-i.Center), d) + " %"
	if i.Bounded() {
		text += " " + prose.Bracket(stat.Interval{Lo: 100 * (1 - i.Hi), Hi: 100 * (1 - i.Lo)}, d)
	}
	return text
}

// more formats a difference, "120 µs more [110, 131]", of a response time, or of another value without
// a ratio; "" without an interval, and where it reaches 0, beside a ratio that differs.
func more(r contrasted) string {
	i := r.Difference
	if !i.Bounded() || r.Same || r.Ratio.N > 0 && (r.Unit != "s" || i.Contains(0)) {
		return ""
	}
	if i.Center < 0 {
		i.Center, i.Lo, i.Hi = -i.Center, -i.Hi, -i.Lo
		amount, within := inUnit(i, r.Unit)
		return say("%s less %s", amount, within)
	}
	amount, within := inUnit(i, r.Unit)
	return say("%s more %s", amount, within)
}

// inUnit formats a difference and its interval, if any, in the unit that suits it: "120 µs", "[110, 131]".
func inUnit(i stat.Interval, base string) (amount, within string) {
	top := max(math.Abs(i.Center), math.Abs(i.Lo))
	if !i.Open() {
		top = max(top, math.Abs(i.Hi))
	}
	factor, label := unit.Scale(top, base)
	if base == "1" {
		factor, label = 100, "%"
	}
	d := unit.Decimals(4, factor, top)
	return strings.TrimSpace(prose.Fixed(i.Center*factor, d) + " " + label), doc.IntervalCell(i, factor, d).Text
}

// noDifference says so, with the word shown unless the verb is to show.
func noDifference(rows []contrasted, shown bool) string {
	lo, hi := math.Inf(1), 0.0
	tells := slices.DeleteFunc(slices.Clone(rows), tellsNothingOf)
	for _, r := range tells {
		if r.Ratio.N > 0 {
			lo, hi = min(lo, r.Ratio.Lo), max(hi, r.Ratio.Hi)
		}
	}
	all := percentRange(stat.Interval{Lo: lo, Hi: hi, N: len(tells)})
	switch {
	case len(tells) < len(rows) && shown:
		return say("no difference shown under %d of %d conditions (%s), too noisy to tell under the others", len(tells), len(rows), all)
	case len(tells) < len(rows):
		return say("no difference under %d of %d conditions (%s), too noisy to tell under the others", len(tells), len(rows), all)
	case !shown:
		return say("no difference under %d conditions: all %s", len(rows), all)
	}
	return say("no difference shown under %d conditions: all %s", len(rows), all)
}

// someSame says how many of the conditions show no difference, are too noisy to tell, and have no ratio.
func someSame(rows []contrasted, shown, same int) (text string) {
	of, noise := len(rows), count(rows, tellsNothingOf)
	if same > noise {
		text = say(", no difference shown under %d of %d conditions", same-noise, of)
	}
	if noise > 0 {
		text += say(", too noisy to tell under %d of %d", noise, of)
	}
	if without := of - shown - same; without > 0 {
		text += say(", without a ratio under %d of %d", without, of)
	}
	return text
}
