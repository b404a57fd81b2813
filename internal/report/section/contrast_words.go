package section

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// mostListed is the number of ratios that a sentence gives one by one. Of more, it gives the extremes.
const mostListed = 3

// sentences answers the comparisons that the study states.
func (s source) sentences() (out []doc.Line) {
	for i, c := range s.comparisons() {
		text := sentenceOf(s.Words, c)
		switch {
		case i == 0:
			text = say("In this run, %s", text) // another run can show something else
		case c.text != "":
			text = prose.Capital(text)
		}
		if c.answered() && !c.bounded() {
			text = prose.Sentences(text, say("There are too few blocks for intervals."))
		}
		out = append(out, doc.Line{Text: text})
	}
	return out
}

// answered reports whether a comparison has a ratio, bounded whether one has an interval.
func (c comparison) answered() bool { return slices.ContainsFunc(c.rows, contrasted.known) }
func (c comparison) bounded() bool {
	return slices.ContainsFunc(c.rows, func(r contrasted) bool { return r.Ratio.Bounded() || r.Difference.Bounded() })
}

// known reports whether a row has something to say.
func (r contrasted) known() bool { return r.Ratio.N > 0 || r.Difference.Bounded() }

// sentence answers a comparison. Each ratio has its interval.
func sentenceOf(w account.Words, c comparison) string { return say("%s.", clauseOf(w, c)) }

// clause is a sentence without its full stop.
func clauseOf(w account.Words, c comparison) string {
	if !c.answered() {
		return c.nothing()
	}
	c.rows = slices.DeleteFunc(slices.Clone(c.rows), func(r contrasted) bool { return !r.known() })
	rows, probes, text := c.rows, c.byProbe(), c.subject()
	switch {
	case len(c.of[0].Per) > 0 && len(rows) == 1 && rows[0].Ratio.Bounded() && c.of[0].Per[analysis.Network] != "":
		return say("%s is %s as large on %s as on %s (%s)", text, factorOf(rows[0]), rows[0].Network, c.relative(), w.Short(rows[0].Probe))
	case c.text != "" && len(probes.Keys) == 1 && len(c.of[0].Per) == 0:
		return say("%s %s", text, c.verbs(rows))
	}
	var parts []string
	for _, p := range probes.Keys {
		amounts := c.amounts(probes.Of[p])
		if rows[0].by.To[analysis.Probe] == "" {
			amounts = say("%s %s", w.Short(p), amounts)
		}
		parts = append(parts, amounts)
	}
	return say("%s: %s", prose.Comma(text, c.relativeText()), prose.Alternatives(parts))
}

// nothing says why a comparison has no ratio.
func (c comparison) nothing() string {
	for _, r := range c.rows {
		if r.Missing != "" {
			return say("%s: no ratio (%s)", c.subject(), word(r.Missing))
		}
	}
	return say("%s: no cell of this run has both sides", c.subject())
}

// at is where in parentheses, with the compared level unless the rest names the row.
func (c comparison) at(r contrasted) string {
	text := c.where(r)
	alone := 0
	for _, x := range c.rows {
		if (x.Probe == r.Probe || x.by.To[analysis.Probe] != "") && c.where(x) == text {
			alone++
		}
	}
	if alone != 1 {
		text = c.name(r)
	}
	if text == "" {
		return ""
	}
	return say(" (%s)", text)
}

// factorOf formats a ratio: "3.12× [2.90, 3.41]", "1.00× ~ [0.97, 1.03]"; "" where only the difference
// says something.
func factorOf(r contrasted) string {
	if r.Ratio.N == 0 {
		return ""
	}
	text := prose.Ratio(r.Ratio)
	if r.Same {
		text += " ~"
	}
	text += prose.RatioInterval(r.Ratio)
	if marks := marksOf(nil, r.Stalled, r.BaseStalled); marks != nil {
		text += say(" (%s)", prose.List(marks))
	}
	return text
}

// cost formats a ratio below 1 as a share: "48 % [46, 51]".
func cost(i stat.Interval) string {
	d := 0
	if i.Bounded() && i.Hi-i.Lo < 0.03 {
		d = 1
	}
	text := prose.Fixed(100*(1-i.Center), d) + " %"
	if i.Bounded() {
		text += " [" + prose.Fixed(100*(1-i.Hi), d) + ", " + prose.Fixed(100*(1-i.Lo), d) + "]"
	}
	return text
}

// more formats a difference, "120 µs more [110, 131]", of a response time, or of another value without
// a ratio; "" without an interval.
func more(r contrasted) string {
	i := r.Difference
	if !i.Bounded() || r.Same || r.Ratio.N > 0 && r.Unit != "s" {
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
	top := max(math.Abs(i.Center), math.Abs(i.Lo), math.Abs(i.Hi))
	factor, label := unit.Scale(top, base)
	if base == "1" {
		factor, label = 100, "%"
	}
	d := unit.Decimals(4, factor, top)
	return strings.TrimSpace(prose.Fixed(i.Center*factor, d) + " " + label), doc.IntervalCell(i, factor, d).Text
}

// withMore joins a ratio and a difference.
func withMore(ratio, difference string) string {
	return prose.List(prose.NonEmpty(ratio, difference))
}

// amounts sums up the rows of one probe: each, or the extremes.
func (c comparison) amounts(rows []contrasted) string {
	if len(rows) <= mostListed {
		var parts []string
		for _, r := range rows {
			parts = append(parts, withMore(factorOf(r), more(r))+c.at(r))
		}
		return prose.List(parts)
	}
	lo, hi, shown, same := extremes(rows)
	if same == len(rows) {
		return noDifference(rows, true)
	}
	return c.between(factorOf(lo), lo, factorOf(hi), hi, shown) + someSame(shown, same, len(rows))
}

// between joins the amounts of two extremes, which are one row if only one shows a difference.
func (c comparison) between(from string, lo contrasted, to string, hi contrasted, shown int) string {
	text := withMore(to, more(hi)) + c.at(hi)
	if lo.Ratio.N == 0 {
		from = withMore(from, more(lo))
	}
	if shown > 1 {
		text = say("%s to %s", from+c.at(lo), text)
	}
	return text
}

// extremes returns the rows with the smallest and the largest ratio of those that show a difference, how many
// these are, and how many show none. If no row has a ratio, as to a divisor of 0, it returns those with the
// smallest and the largest difference.
func extremes(rows []contrasted) (lo, hi contrasted, shown, same int) {
	differ := slices.DeleteFunc(slices.Clone(rows), func(r contrasted) bool { return r.Same || r.Ratio.N == 0 })
	order := func(a, b contrasted) int { return cmp.Compare(a.Ratio.Center, b.Ratio.Center) }
	for _, r := range rows {
		if r.Same {
			same++
		}
	}
	if len(differ) == 0 && same < len(rows) {
		differ = slices.DeleteFunc(slices.Clone(rows), func(r contrasted) bool { return r.Same })
		order = func(a, b contrasted) int { return cmp.Compare(a.Difference.Center, b.Difference.Center) }
	}
	if len(differ) == 0 {
		return lo, hi, 0, same
	}
	return slices.MinFunc(differ, order), slices.MaxFunc(differ, order), len(differ), same
}

// noDifference says so, with the word shown unless the verb is to show.
func noDifference(rows []contrasted, shown bool) string {
	lo, hi := math.Inf(1), 0.0
	for _, r := range rows {
		if r.Ratio.N > 0 {
			lo, hi = min(lo, r.Ratio.Lo), max(hi, r.Ratio.Hi)
		}
	}
	if !shown {
		return say("no difference ~ under any of %d conditions (intervals within [%s, %s])", len(rows), prose.Fixed(lo, 2), prose.Fixed(hi, 2))
	}
	return say("no difference shown ~ under any of %d conditions (intervals within [%s, %s])", len(rows), prose.Fixed(lo, 2), prose.Fixed(hi, 2))
}

// someSame says how many of the conditions show no difference, and how many have no ratio.
func someSame(shown, same, of int) (text string) {
	if same > 0 {
		text = say(", ~ under %d of %d conditions", same, of)
	}
	if without := of - shown - same; without > 0 {
		text += say(", without a ratio under %d of %d", without, of)
	}
	return text
}

// verbs sums up rows of one probe as the predicate of a sentence: "costs 48 % [46, 51] of throughput
// (host)", "takes 3.12× [2.90, 3.41] as long, 120 µs more [110, 131] (vm-vxlan)".
func (c comparison) verbs(rows []contrasted) string {
	if len(rows) > mostListed+1 {
		return c.span(rows)
	}
	var said doc.Groups[verb, string]
	for _, r := range rows {
		verb := verbOf(r)
		said.Add(verb, withMore(amountOf(verb, r, len(said.Of[verb]) == 0), more(r))+c.at(r))
	}
	var parts []string
	for _, verb := range said.Keys {
		parts = append(parts, verb.of(prose.List(said.Of[verb])))
	}
	return prose.Alternatives(parts)
}

// A verb of the sentence about a comparison.
type verb int

const (
	costs verb = iota
	gives
	takes
	has
	shows // no difference
)

func (v verb) of(object string) string {
	switch v {
	case costs:
		return say("costs %s", object)
	case gives:
		return say("gives %s", object)
	case takes:
		return say("takes %s", object)
	case has:
		return say("has %s", object)
	}
	return say("shows no difference %s", object)
}

func verbOf(r contrasted) verb {
	switch lower := r.Metric.LowerIsBetter(r.Unit); {
	case r.Ratio.N == 0:
		return has
	case r.Same:
		return shows
	case r.Unit == "s":
		return takes
	case lower || r.Unit == "1":
		return has
	case r.Ratio.Center < 1:
		return costs
	}
	return gives
}

// amountOf returns the object of a verb. The first one is whole: it says of what.
func amountOf(v verb, r contrasted, whole bool) string {
	amount := factorOf(r)
	switch {
	case v == shows:
		return "~" + prose.RatioInterval(r.Ratio)
	case v == has && r.Ratio.N == 0:
		return MetricName(r.Metric)
	case v == costs:
		amount = cost(r.Ratio)
	}
	switch {
	case !whole:
		return amount
	case v == takes:
		return say("%s as long", amount)
	case v == costs:
		return say("%s of %s", amount, MetricName(r.Metric))
	}
	return say("%s the %s", amount, MetricName(r.Metric))
}

// span is verbs for many rows: the extremes.
func (c comparison) span(rows []contrasted) string {
	lo, hi, shown, same := extremes(rows)
	if same == len(rows) {
		return say("shows %s", noDifference(rows, false))
	}
	verb := verbOf(hi)
	switch {
	case verb == costs: // from the smallest cost to the largest
		lo, hi = hi, lo
	case verbOf(lo) == costs:
		verb = gives
	}
	return verb.of(c.between(amountOf(verb, lo, false), lo, amountOf(verb, hi, true), hi, shown) + someSame(shown, same, len(rows)))
}
