package section

import (
	"cmp"
	"strings"

	"github.com/weir-bench/weir/internal/bisect/group"
	"github.com/weir-bench/weir/internal/bisect/settings"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// Settings is what a bisection of settings found, or, listed, only what differs.
func Settings(r settings.Result, listed bool) *doc.Document {
	d := &doc.Document{}
	if !listed {
		d.Sections = []doc.Section{{ID: "cause", Title: say("Which setting explains the change"), Notes: settingsAnswer(r)}}
	}
	if len(r.Steps) > 0 {
		d.Sections = append(d.Sections, settingsRuns(r))
	}
	if len(r.Differences.Settings) > 0 {
		x := doc.Section{ID: "settings", Title: say("What differs, and can be applied to a lab")}
		for i, s := range r.Differences.Settings {
			x.Facts = append(x.Facts, doc.Fact{Key: say("%d: %s", i+1, s.String()), Value: beforeAfter(s.Before, s.After)})
		}
		d.Sections = append(d.Sections, x)
	}
	if len(r.Unapplied) > 0 {
		x := doc.Section{ID: "unapplied", Title: say("What differs, and cannot be applied")}
		for _, u := range r.Unapplied {
			x.Facts = append(x.Facts, doc.Fact{Key: u.Key, Value: say("%s (%s)", beforeAfter(u.Before, u.After), u.Reason)})
		}
		d.Sections = append(d.Sections, x)
	}
	d.Identify()
	return d
}

func beforeAfter(before, after string) string {
	return cmp.Or(before, say("(not set)")) + " → " + cmp.Or(after, say("(not set)"))
}

// settingsAnswer says what the cause is, or why none is named.
func settingsAnswer(r settings.Result) []string {
	before, after := cmp.Or(r.Before, say("the kernel's defaults")), cmp.Or(r.After, say("this machine"))
	under := prose.Comma(r.Network, prose.Comma(r.Probe, prose.Levels(r.Levels)))
	names := make([]string, len(r.Cause))
	for i, s := range r.Cause {
		names[i] = s.String() + ": " + beforeAfter(s.Before, s.After)
	}
	all := strings.Join(names, "; ")
	switch group.Kind(r.Kind) {
	case "":
		return []string{say("Nothing that weir records differs between %s and %s.", before, after)}
	case settings.CannotApply:
		return []string{say("Nothing that differs between %s and %s can be applied to a lab here, so no setting was tested. The cause, if there is one, is among what was not applied, or noise.", before, after)}
	case group.NoCause:
		return append([]string{say("None found: with all settings of %s that can be applied, %s is %s times what it is with those of %s.", after, under, effectOf(r.Effect), before)}, elsewhere(r)...)
	case settings.Open:
		if r.Missing != "" {
			return []string{say("Open: the settings together make %s %s times what it was, but some of them do not work without the others: %s has a comparison without a ratio (%s).", under, effectOf(r.Effect), r.Steps[len(r.Steps)-1].Dir, r.Missing)}
		}
		return []string{say("Open: the settings together make %s %s times what it was, and %d comparisons did not decide which of them. Give it more --max-time, or --blocks.", under, effectOf(r.Effect), r.Comparisons)}
	case group.Spread:
		return []string{say("No one setting and no two explain it: all together make %s %s times what it was, and groups of them in proportion to their size.", under, effectOf(r.Effect))}
	}
	out := []string{all}
	if r.Share != nil {
		out = append(out, say("This explains %s of the change of %s. All settings together make it %s times what it is with those of %s, this alone %s times, and this on top of all others %s times.", shareOf(*r.Share), under, effectOf(r.Effect), before, effectOf(r.Only), effectOf(r.Without)))
	} else {
		out = append(out, say("This is all that could be applied. It makes %s %s times what it is with the settings of %s, and in a run of its own %s times.", under, effectOf(r.Effect), before, effectOf(r.Only)))
	}
	if len(r.Alone) == 2 {
		out = append(out, pairSentence(r))
	}
	return append(out, say("In at most 5 of 100 bisections without a cause, one is named. The last run could have refuted it: %s.", r.Steps[len(r.Steps)-1].Dir))
}

// pairSentence says how two settings work.
func pairSentence(r settings.Result) string {
	first, second := effectOf(&r.Alone[0]), effectOf(&r.Alone[1])
	switch group.Kind(r.Kind) {
	case group.Both:
		return say("The two work only together: the first alone makes it %s times that, the second alone %s times.", first, second)
	case group.Sum:
		return say("Each of the two has a part: the first alone makes it %s times that, the second alone %s times.", first, second)
	}
	return say("Each of the two is enough: the first alone makes it %s times that, the second alone %s times.", first, second)
}

// elsewhere says what the lab cannot know when it shows no effect.
func elsewhere(r settings.Result) []string {
	if r.Recorded > 0 && r.Effect != nil && r.Effect.Lo <= r.Recorded && r.Recorded <= r.Effect.Hi {
		return []string{say("The runs themselves differ by %s times, which this does not exclude: whether the settings make that cannot be known from these comparisons.", prose.Short(r.Recorded))}
	}
	if len(r.Unapplied) == 0 {
		return []string{say("The lab takes over all that differs, so the difference between the runs is noise, or comes from something that weir does not record.")}
	}
	return []string{say("The difference between the runs is then noise, or comes from what was not applied or from something that weir does not record; these runs do not tell which.")}
}

// settingsRuns lists the comparisons.
func settingsRuns(r settings.Result) doc.Section {
	type row struct {
		dir      string
		from, to string
		ratio    *settings.Ratio
	}
	var rows []row
	for _, s := range r.Steps {
		for i, c := range s.Compared {
			x := row{from: setOf(c.From, len(r.Differences.Settings)), to: setOf(c.To, len(r.Differences.Settings)), ratio: c.Ratio}
			if i == 0 {
				x.dir = s.Dir
			}
			rows = append(rows, x)
		}
	}
	text := func(head string, keep int, of func(row) string) doc.Filled {
		return doc.Layout(doc.Column{Head: head, Left: true, Keep: keep}, rows, func(x row) doc.Cell { return doc.Cell{Text: of(x)} })
	}
	cs := []doc.Filled{doc.Names(word("run"), rows, func(x row) string { return x.dir }),
		text(say("with AFTER's"), 7, func(x row) string { return x.to }),
		text(say("÷ with AFTER's"), 7, func(x row) string { return x.from })}
	cs = append(cs, doc.Ratios(rows, say("ratio"), func(x row) (stat.Interval, bool) {
		i := intervalOf(x.ratio)
		return i, i.Contains(1)
	})...)
	return doc.Section{ID: "comparisons", Title: say("Comparisons in the lab: %d", r.Comparisons), Tables: []doc.Table{doc.Tabulate("comparisons table", cs...)},
		Notes: []string{say("Numbers are those of the settings below; the others have BEFORE's values. Each interval holds by itself with 95 % confidence.")}}
}

// setOf names settings by their numbers; many by how many they are.
func setOf(members []int, of int) string {
	const most = 6
	switch {
	case len(members) == 0:
		return say("none")
	case len(members) == of:
		return say("all")
	case len(members) == of-1:
		missing := of * (of + 1) / 2
		for _, m := range members {
			missing -= m + 1
		}
		return say("all but %d", missing)
	case len(members) > most:
		return say("%d of %d", len(members), of)
	}
	var names []string
	for _, m := range members {
		names = append(names, prose.Fixed(float64(m+1), 0))
	}
	return strings.Join(names, ", ")
}

func intervalOf(r *settings.Ratio) stat.Interval {
	if r == nil {
		return stat.Interval{}
	}
	return stat.Interval{Center: r.Ratio, Lo: r.Lo, Hi: r.Hi, Confidence: 0.95, N: 1}
}

// effectOf writes a ratio with its interval.
func effectOf(r *settings.Ratio) string {
	i := intervalOf(r)
	if i.N == 0 {
		return say("not measured")
	}
	return prose.Quotient(i).String()
}

// shareOf writes a share of the effect with its interval.
func shareOf(s settings.Share) string {
	return prose.PercentWithin(stat.Interval{Center: s.Share, Lo: s.Lo, Hi: s.Hi, Confidence: 0.95, N: 1})
}
