package section

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// mostListed is the number of ratios that a sentence gives one by one. Of more, it gives the extremes.
const mostListed = 3

// sentences answers the comparisons that the study states. Those without an answer are missing.
func (s source) sentences() (out, missing []string) {
	few := s.few()
	for _, c := range s.comparisons() {
		switch {
		case !c.answered():
			missing = append(missing, say("%s.", c.begin(c.nothing())))
		case c.bounded():
			for _, text := range clausesOf(s.Words, c) {
				out = append(out, say("%s.", c.begin(text)))
			}
		case !slices.Contains(out, few): // once
			out = append(out, few)
		}
	}
	return out, missing
}

// begin has a capital, unless the text begins with the name of a factor.
func (c comparison) begin(text string) string {
	if c.text == "" {
		return text
	}
	return prose.Capital(text)
}

// answered reports whether a comparison has a ratio, bounded whether one has an interval.
func (c comparison) answered() bool { return slices.ContainsFunc(c.rows, contrasted.known) }
func (c comparison) bounded() bool {
	return slices.ContainsFunc(c.rows, func(r contrasted) bool { return r.Ratio.Bounded() || r.Difference.Bounded() })
}

// known reports whether a row has something to say.
func (r contrasted) known() bool { return r.Ratio.N > 0 || r.Difference.Bounded() }

// clausesOf answer a comparison, in sentences without their full stop. Each ratio has its interval. What does not fit one
// sentence is in the next.
func clausesOf(w account.Words, c comparison) (out []string) {
	c.rows = slices.DeleteFunc(slices.Clone(c.rows), func(r contrasted) bool { return !r.known() })
	rows, probes, text := c.rows, c.byProbe(), c.subject()
	switch {
	case len(c.of[0].Per) > 0 && len(rows) == 1 && rows[0].Ratio.Bounded() && c.of[0].Per[analysis.Network] != "":
		return []string{say("%s is %s as large on %s as on %s (%s)", text, factorOf(rows[0]), rows[0].Network, c.relative(), w.Short(rows[0].Probe))}
	case c.text != "" && len(probes.Keys) == 1 && len(c.of[0].Per) == 0:
		whole := say("%s %s", text, c.verbs(rows))
		if long(whole) && len(rows) > 1 {
			whole = say("%s %s", text, c.span(rows))
		}
		return []string{whole}
	}
	told := largestProbes(probes)
	var parts []string
	for _, p := range told {
		amounts := c.amounts(probes.Of[p])
		if rows[0].by.To[analysis.Probe] == "" {
			amounts = say("%s %s", Value(w, p, probes.Of[p][0].Metric), amounts)
		}
		parts = append(parts, amounts)
	}
	if len(told) < len(probes.Keys) {
		parts = append(parts, say("the others below"))
	}
	about := func(parts []string) string {
		return say("%s: %s", prose.Comma(text, c.relativeText()), prose.Alternatives(parts))
	}
	for len(parts) > 0 {
		n := len(parts)
		for n > 1 && long(about(parts[:n])) {
			n--
		}
		out, parts = append(out, about(parts[:n])), parts[n:]
	}
	return out
}

// largestProbes are at most mostTold, those with the largest effects, in the order of the study.
func largestProbes(probes doc.Groups[string, contrasted]) []string {
	if len(probes.Keys) <= mostTold {
		return probes.Keys
	}
	most := func(p string) (size float64) {
		for _, r := range probes.Of[p] {
			if !r.Same && r.Ratio.Bounded() {
				size = max(size, Effect{Ratio: r.Ratio}.size())
			}
		}
		return size
	}
	order := slices.Clone(probes.Keys)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(most(b), most(a)) })
	order = order[:mostTold]
	return slices.DeleteFunc(slices.Clone(probes.Keys), func(p string) bool { return !slices.Contains(order, p) })
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

// withMore joins a ratio and a difference.
func withMore(ratio, difference string) string {
	return prose.List(prose.NonEmpty(ratio, difference))
}

// amounts sums up the rows of one probe: each, or the extremes.
func (c comparison) amounts(rows []contrasted) string {
	switch noisy := count(rows, tellsNothingOf); {
	case len(rows) == 1:
	case noisy == len(rows):
		return say("too noisy to tell under %d conditions", len(rows))
	case noisy == 0 && count(rows, func(r contrasted) bool { return r.Same }) == len(rows):
		return noDifference(rows, true)
	}
	if len(rows) <= mostListed {
		var parts []string
		for _, r := range rows {
			parts = append(parts, withMore(changeOf(r), more(r))+c.at(r))
		}
		return prose.List(parts)
	}
	lo, hi, shown, same := extremes(rows)
	if same == len(rows) {
		return noDifference(rows, true)
	}
	return c.between(changeOf(lo), lo, changeOf(hi), hi, shown) + someSame(rows, shown, same)
}

func count(rows []contrasted, is func(contrasted) bool) (n int) {
	for _, r := range rows {
		if is(r) {
			n++
		}
	}
	return n
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
	noisy // a factor of two could hide
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
	case noisy:
		return say("is too noisy to tell: %s", object)
	}
	return say("shows no difference: %s", object)
}

func verbOf(r contrasted) verb {
	switch lower := r.Metric.LowerIsBetter(r.Unit); {
	case r.Ratio.N == 0:
		return has
	case tellsNothingOf(r):
		return noisy
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
	more := r.Ratio
	more.Center, more.Lo, more.Hi = more.Center-1, more.Lo-1, more.Hi-1
	of := func(format func(amount string) string, amount string) string {
		if amount += stallsOf(r); whole {
			return format(amount)
		}
		return amount
	}
	the := func(amount string) string { return say("%s the %s", amount, MetricName(r.Metric)) }
	share := func(amount string) string { return say("%s of %s", amount, MetricName(r.Metric)) }
	times := timesOf(r.Ratio)
	switch {
	case v == shows || v == noisy:
		return percentRange(r.Ratio)
	case v == has && r.Ratio.N == 0:
		return MetricName(r.Metric)
	case v == costs:
		return of(share, cost(r.Ratio))
	case v == takes && r.Ratio.Center >= manyTimes:
		return of(func(s string) string { return say("%s as long", s) }, times)
	case v == takes && r.Ratio.Center < 1:
		return of(func(s string) string { return say("%s of the time", s) }, percents(r.Ratio, false))
	case v == takes:
		return of(func(s string) string { return say("%s longer", s) }, percents(more, false))
	case v == gives && r.Ratio.Center < 1:
		return of(share, percents(r.Ratio, false))
	case v == gives && r.Ratio.Center < manyTimes:
		return of(func(s string) string { return say("%s more %s", s, MetricName(r.Metric)) }, percents(more, false))
	}
	return of(the, times)
}

// span is verbs for many rows: the extremes.
func (c comparison) span(rows []contrasted) string {
	lo, hi, shown, same := extremes(rows)
	switch {
	case count(rows, tellsNothingOf) == len(rows):
		return say("is too noisy to tell under %d conditions", len(rows))
	case same == len(rows):
		return say("shows %s", noDifference(rows, false))
	}
	verb := verbOf(hi)
	switch {
	case verb == costs: // from the smallest cost to the largest
		lo, hi = hi, lo
	case verbOf(lo) == costs:
		verb = gives
	}
	return verb.of(c.between(amountOf(verb, lo, false), lo, amountOf(verb, hi, true), hi, shown) + someSame(rows, shown, same))
}
