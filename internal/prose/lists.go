package prose

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
)

// List joins the parts of a sentence; alternatives joins parts that have commas of their own.
func List(parts []string) string         { return strings.Join(parts, string(lang.T(", "))) }
func Alternatives(parts []string) string { return strings.Join(parts, string(lang.T("; "))) }

// Levels formats factor levels: "offload off, size 1400".
func Levels(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+" "+m[k])
	}
	return List(parts)
}

// Comma appends a qualifier, such as a unit, to a name.
func Comma(name, more string) string {
	if more == "" {
		return name
	}
	return string(lang.T("%s, %s", name, more))
}

// Count is a number of things: "1 block", "12 blocks". The nouns are those of its table.
func Count(n int, noun string) string {
	forms, ok := nouns[noun]
	switch {
	case !ok:
		return string(lang.T("%d %s", n, noun))
	case n == 1:
		return string(forms.one)
	}
	return string(forms.many(n))
}

var nouns = map[string]struct {
	one  lang.Text
	many func(n int) lang.Text
}{
	"block":           {lang.T("1 block"), func(n int) lang.Text { return lang.T("%d blocks", n) }},
	"trial":           {lang.T("1 trial"), func(n int) lang.Text { return lang.T("%d trials", n) }},
	"imported result": {lang.T("1 imported result"), func(n int) lang.Text { return lang.T("%d imported results", n) }},
	"CPU":             {lang.T("1 CPU"), func(n int) lang.Text { return lang.T("%d CPUs", n) }},
	"run":             {lang.T("1 run"), func(n int) lang.Text { return lang.T("%d runs", n) }},
	"cell":            {lang.T("1 cell"), func(n int) lang.Text { return lang.T("%d cells", n) }},
	"claim":           {lang.T("1 claim"), func(n int) lang.Text { return lang.T("%d claims", n) }},
	"hop":             {lang.T("1 hop"), func(n int) lang.Text { return lang.T("%d hops", n) }},
	"machine":         {lang.T("1 machine"), func(n int) lang.Text { return lang.T("%d machines", n) }},
	"period":          {lang.T("1 period"), func(n int) lang.Text { return lang.T("%d periods", n) }},
	"pair":            {lang.T("1 pair"), func(n int) lang.Text { return lang.T("%d pairs", n) }},
}

// Sentences joins whole sentences; empty ones leave no gap.
func Sentences(parts ...string) string { return strings.Join(NonEmpty(parts...), string(lang.T(" "))) }

func Capital(s string) string { return string(lang.Capital(lang.Text(s))) }

func NonEmpty(all ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" })
}

// And joins names: "a and b", "a, b and c", and "50 machines" if they are too many for a sentence.
func And(all []string) string {
	switch n := len(all); {
	case n == 0:
		return string(lang.T("machines"))
	case n == 1:
		return all[0]
	case n > 6:
		return Count(n, "machine")
	default:
		return string(lang.T("%s and %s", List(all[:n-1]), all[n-1]))
	}
}
