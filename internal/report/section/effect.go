package section

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// An Effect is one ratio of a network to the baseline, as a sentence tells it: in percent, and in the unit of the value
// where people feel that. Tables have the ratio itself.
type Effect struct {
	Network    string
	Of         string // the value: "TCP throughput"
	At         string // the condition, where there are several
	Metric     record.Quantity
	Unit       string
	Ratio      stat.Interval
	Difference stat.Interval // N is 0 if unknown
	Detectable float64       // the smallest difference that would have shown
}

// shown reports whether a run shows a difference, and none whether it shows that none is there.
func (e Effect) shown() bool { return e.Ratio.Bounded() && !e.Ratio.Contains(1) }

// size is how far a ratio is from 1, in either direction.
func (e Effect) size() float64 {
	if e.Ratio.Center <= 0 {
		return math.Inf(1)
	}
	return math.Abs(math.Log(e.Ratio.Center))
}

// manyTimes is the ratio from which people count in times, not in percent.
const manyTimes = 3

// percents formats shares: "71 % [67, 75]". Narrow intervals and small shares have a digit more. A plus stands before
// differences.
func percents(i stat.Interval, difference bool) string {
	d := 0
	if wide := i.Hi - i.Lo; i.Bounded() && wide < 0.03 || math.Abs(i.Center) < 0.05 && wide < 0.1 {
		d = 1
	}
	number := func(v float64, signed bool) string {
		s := prose.Fixed(math.Abs(100*v), d)
		switch {
		case v < 0 && strings.Trim(s, "0.") != "":
			return "−" + s
		case signed && difference:
			return "+" + s
		}
		return s
	}
	text := number(i.Center, true) + " %"
	if i.Bounded() {
		text += " " + prose.Brackets(i, func(v float64) string { return number(v, false) })
	}
	return text
}

// change formats a ratio as people say it: "+30 % [26, 35]", "4.4 times [3.9, 4.9]".
func change(i stat.Interval) string {
	if i.Center >= manyTimes {
		return timesOf(i)
	}
	i.Center, i.Lo, i.Hi = i.Center-1, i.Lo-1, i.Hi-1
	return percents(i, true)
}

// Whole is a ratio with its interval, or the words that it has none: "1.54× (no interval)".
func Whole(i stat.Interval) string {
	if !i.Bounded() {
		return say("%s (no interval)", prose.Ratio(i))
	}
	return prose.Times(i)
}

// Change is change for other documents.
func Change(i stat.Interval) string { return change(i) }

// An action is the verb for a ratio.
type action int

const (
	keepsShare action = iota // less of a rate
	gainsRate                // more of a rate
	manyOf                   // many times of a rate, or a ratio of anything else
	addsTime                 // to a time
	savesTime                // of a time
)

func (a action) of(objects string) string {
	switch a {
	case keepsShare:
		return say("keeps %s", objects)
	case addsTime:
		return say("adds %s", objects)
	case savesTime:
		return say("saves %s", objects)
	case gainsRate:
		return say("gains %s", objects)
	}
	return say("has %s", objects)
}

func (e Effect) action() action {
	lower := e.Metric.LowerIsBetter(e.Unit)
	switch {
	case e.Unit == "s" && e.Ratio.Center >= manyTimes && !e.differs():
		return manyOf // "adds 5 times" would be one too many
	case e.Unit == "s" && e.Ratio.Center > 1:
		return addsTime
	case e.Unit == "s":
		return savesTime
	case !lower && e.Unit != "1" && e.Ratio.Center < 1:
		return keepsShare
	case !lower && e.Unit != "1" && e.Ratio.Center < manyTimes:
		return gainsRate
	}
	return manyOf
}

// object is what the verb acts on: "71 % [67, 75] of TCP throughput", "16 µs (+30 % [26, 35]) to the UDP response time".
func (e Effect) object() string {
	text := ""
	switch e.action() {
	case keepsShare:
		share := percents(e.Ratio, false)
		if i := e.Ratio; i.Bounded() && i.Lo == 0 { // trials stalled: the estimate is hardly a share
			share = say("at most %s", percents(stat.Interval{Center: i.Hi}, false))
		}
		text = say("%s of %s", share, e.Of)
	case gainsRate:
		i := e.Ratio
		i.Center, i.Lo, i.Hi = i.Center-1, i.Lo-1, i.Hi-1
		text = say("%s of %s", percents(i, false), e.Of)
	case addsTime:
		text = say("%s to the %s", e.amount(), e.Of)
	case savesTime:
		text = say("%s of the %s", e.amount(), e.Of)
	default:
		text = say("%s the %s", timesOf(e.Ratio), e.Of)
	}
	return under(text, e.At)
}

// amount is a time that a network adds or savesTime: "16 µs (+30 % [26, 35])".
func (e Effect) amount() string {
	if !e.differs() {
		return strings.TrimLeft(change(e.Ratio), "+−")
	}
	return say("%s (%s)", unit.Format(math.Abs(e.Difference.Center), e.Unit), change(e.Ratio))
}

// differs reports whether there is a difference that agrees with the ratio.
func (e Effect) differs() bool {
	i := e.Difference
	return i.Bounded() && !i.Contains(0) && i.Center > 0 == (e.Ratio.Center > 1)
}

// Above mostTold, a sentence gives the largest effects and counts the others.
const mostTold = 4

// predicate tells the effects on one network, the largest of more than most: "keeps 65 % [62, 68] of TCP throughput, and
// adds …".
func predicate(all []Effect, most int) string {
	all = slices.Clone(all)
	more := 0
	if len(all) > most {
		order := slices.Clone(all)
		slices.SortStableFunc(order, func(a, b Effect) int { return cmp.Compare(b.size(), a.size()) })
		least := order[most-1].size()
		all = slices.DeleteFunc(all, func(e Effect) bool { return e.size() < least })
		more = len(order) - len(all)
	}
	var by doc.Groups[action, string]
	for _, e := range all {
		by.Add(e.action(), e.object())
	}
	slices.Sort(by.Keys)
	var parts []string
	for _, a := range by.Keys {
		parts = append(parts, a.of(prose.And(by.Of[a])))
	}
	if more > 0 {
		parts = append(parts, say("differs in %d more", more))
	}
	if len(parts) == 2 {
		return say("%s, and %s", parts[0], parts[1])
	}
	return prose.And(parts)
}

// Tell answers what networks cost, in sentences: the largest effects first, then how many comparisons show none. At is what
// the networks are compared with, few says why no ratio has an interval, and noun names a network in a sentence.
func Tell(all []Effect, against, few string, noun func(string) string) (out []string) {
	var by doc.Groups[string, Effect]
	var none []Effect
	var none0 doc.Groups[string, bool] // networks
	unknown := 0
	for _, e := range all {
		none0.Add(e.Network, true)
		switch {
		case e.shown():
			by.Add(e.Network, e)
		case e.Ratio.Bounded():
			none = append(none, e)
		default:
			unknown++
		}
	}
	if len(all) == 0 {
		return nil
	}
	if unknown == len(all) {
		return []string{few}
	}
	most := func(n string) float64 {
		return slices.MaxFunc(by.Of[n], func(a, b Effect) int { return cmp.Compare(a.size(), b.size()) }).size()
	}
	slices.SortStableFunc(by.Keys, func(a, b string) int { return cmp.Compare(most(b), most(a)) })
	against = noun(against)
	switch n := len(by.Keys); {
	case n == 0:
	case n <= mostNetworks:
		for i, name := range by.Keys {
			text := shortest(mostTold, func(n int) string {
				text := lang.T("%s %s.", noun(name), predicate(by.Of[name], n))
				if i == 0 {
					text = lang.T("Compared with %s, %s", against, text)
				}
				return string(prose.Sentence(text))
			})
			out = append(out, text)
		}
	default:
		var parts []string
		for _, name := range by.Keys[:mostNetworks] {
			largest := slices.MaxFunc(by.Of[name], func(a, b Effect) int { return cmp.Compare(a.size(), b.size()) })
			parts = append(parts, fmt.Sprintf("%s %s", noun(name), predicate([]Effect{largest}, 1)))
		}
		out = append(out, shortest(mostNetworks, func(most int) string {
			parts := prose.Alternatives(parts[:most])
			if all := len(none0.Keys); n < all {
				return say("Of %d networks, %d differ from %s. The largest effects: %s.", all, n, against, parts)
			}
			return say("All %d networks differ from %s. The largest effects: %s.", n, against, parts)
		}))
		var same []string
		for _, name := range none0.Keys {
			if by.Of[name] == nil && slices.ContainsFunc(none, func(e Effect) bool { return e.Network == name && !e.noisy() }) {
				same = append(same, noun(name))
			}
		}
		if len(same) > 0 && len(same) <= 2*mostNetworks {
			out = append(out, say("No difference was seen of %s.", prose.And(same)))
		}
	}
	return append(out, others(none, len(all)-len(none)-unknown, len(all), unknown, against, noun)...)
}

// Above mostNetworks, the answer names these many networks with the largest effects.
const mostNetworks = 3

// TooNoisy is the smallest difference that a comparison which tells nothing would have shown: a factor of two.
const TooNoisy = 1

func (e Effect) noisy() bool { return e.Detectable > TooNoisy }

// others says what the comparisons without a difference mean. One in which a factor of two could hide is not among those
// where none was seen.
func others(all []Effect, shown, of, unknown int, against string, noun func(string) string) (out []string) {
	var none, noisy []Effect
	would, open, stalled := 0.0, 0, 0
	for _, e := range all {
		switch {
		case e.Ratio.Open():
			open++
		case e.Ratio.Lo == 0:
			stalled++
		case e.noisy():
			noisy = append(noisy, e)
		default:
			would = max(would, e.Detectable)
			none = append(none, e)
		}
	}
	size := prose.Coarse(would)
	seen, in := "", prose.Count(len(none), "comparison")
	if len(none) <= mostTold {
		in = prose.And(namesOf(none, noun))
	}
	switch {
	case len(none) == 0:
	case shown == 0 && would > 0:
		seen = say("No difference from %s was seen in %s; one of %s would have shown.", against, in, size)
	case shown == 0:
		seen = say("No difference from %s was seen in %s.", against, in)
	case would > 0:
		seen = say("No other difference was seen (%d of %d comparisons); one of %s would have shown.", len(none), of, size)
	default:
		seen = say("No other difference was seen (%d of %d comparisons).", len(none), of)
	}
	if seen != "" {
		out = append(out, seen)
	}
	if len(noisy) > 0 {
		out = append(out, tellsNothing(noisy, of, noun))
	}
	if open > 0 {
		out = append(out, say("In %d of %d comparisons, nothing bounds the ratio from above: %s carried nothing in too many trials, or the network had no response.", open, of, against))
	}
	if stalled > 0 {
		out = append(out, say("In %d of %d comparisons, nothing bounds the ratio from below: the network carried nothing in too many trials, or %s had no response.", stalled, of, against))
	}
	if unknown > 0 {
		out = append(out, say("Too few blocks for the other %d of %d comparisons.", unknown, of))
	}
	return out
}

// tellsNothing names the comparisons that are too noisy, or counts them.
func tellsNothing(noisy []Effect, of int, noun func(string) string) string {
	if len(noisy) > mostTold {
		return say("Too noisy to tell, because a factor of two could hide: %d of %d comparisons.", len(noisy), of)
	}
	return say("Too noisy to tell, because a factor of two could hide: %s.", prose.Alternatives(namesOf(noisy, noun)))
}

// namesOf names comparisons by network: "TCP throughput and UDP response time of a bridge".
func namesOf(all []Effect, noun func(string) string) (names []string) {
	var by doc.Groups[string, string]
	for _, e := range all {
		by.Add(e.Network, under(e.Of, e.At))
	}
	for _, n := range by.Keys {
		names = append(names, say("%s of %s", prose.And(by.Of[n]), noun(n)))
	}
	return names
}
