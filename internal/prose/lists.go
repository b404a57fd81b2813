package prose

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
)

// List joins the parts of a sentence; Alternatives joins parts that have commas of their own.
func List[T ~string](parts []T) T         { return join(parts, lang.T(", ")) }
func Alternatives[T ~string](parts []T) T { return join(parts, lang.T("; ")) }

// Sentences joins whole sentences; empty ones leave no gap.
func Sentences[T ~string](parts ...T) T { return join(NonEmpty(parts...), lang.T(" ")) }

// And joins parts as prose does: "a, b and c".
func And[T ~string](parts []T) T {
	if n := len(parts); n > 1 {
		return T(lang.T("%s and %s", lang.Text(List(parts[:n-1])), lang.Text(parts[n-1])))
	}
	return List(parts)
}

func join[T ~string](parts []T, between lang.Text) T {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(string(between))
		}
		b.WriteString(string(p))
	}
	return T(b.String())
}

// NonEmpty leaves out empty parts.
func NonEmpty[T ~string](all ...T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(s T) bool { return s == "" })
}

// Sentence ends a text with a full stop and begins it with a capital, unless it begins with a name: eth0 is no Eth0.
func Sentence(s lang.Text) lang.Text {
	s = lang.Text(strings.TrimSpace(string(s)))
	begun := s
	if !lang.BeginsWithName(s) {
		begun = lang.Capital(s)
	}
	if english := s.String(); english == "" || strings.HasSuffix(english, ".") {
		return begun
	}
	return lang.T("%s.", begun)
}

// Capital makes the first letter a capital, in languages that have them.
func Capital(s string) string { return string(lang.Capital(lang.Text(s))) }

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

// Machines joins names: "a and b", "a, b and c", and "50 machines" if they are too many for a sentence.
func Machines(all []string) string {
	const most = 6
	switch n := len(all); {
	case n == 0:
		return string(lang.T("machines"))
	case n > most:
		return Count(n, "machine")
	}
	return And(all)
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
	"hop":             {lang.T("1 hop"), func(n int) lang.Text { return lang.T("%d hops", n) }},
	"machine":         {lang.T("1 machine"), func(n int) lang.Text { return lang.T("%d machines", n) }},
	"period":          {lang.T("1 period"), func(n int) lang.Text { return lang.T("%d periods", n) }},
	"comparison":      {lang.T("1 comparison"), func(n int) lang.Text { return lang.T("%d comparisons", n) }},
	"pair":            {lang.T("1 pair"), func(n int) lang.Text { return lang.T("%d pairs", n) }},
}
