package lang

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A pattern finds the arguments of a sentence that another process said in English, with its numbers in it.
type pattern struct {
	format string
	of     *regexp.Regexp
}

// patterns are those of what runs and checks say about the machine.
var patterns = sync.OnceValue(func() (all []pattern) {
	formats := catalog(files, "zh/words-terminal.yaml", true)
	for _, format := range slices.Sorted(maps.Keys(formats)) {
		var b strings.Builder
		end := 0
		for _, v := range verbs(format, len(format)) {
			b.WriteString(regexp.QuoteMeta(strings.ReplaceAll(format[end:v.at], "%%", "%")) + "(.+?)")
			end = v.at + v.length
		}
		b.WriteString(regexp.QuoteMeta(strings.ReplaceAll(format[end:], "%%", "%")))
		all = append(all, pattern{format, regexp.MustCompile("^" + b.String() + "$")})
	}
	// The format with the most text of its own wins: "%s is part of %s" also finds "%s is part
	// of %s (%s)".
	slices.SortStableFunc(all, func(a, b pattern) int { return len(b.format) - len(a.format) })
	return all
})

// stored translates a sentence by the format that it was made with; it stays as it is if none is known.
func (l *Language) stored(s string) string {
	for _, p := range patterns() {
		if m := p.of.FindStringSubmatch(s); len(m) > 1 {
			return l.sentence(p.format + sep + strings.Join(m[1:], sep))
		}
	}
	return s
}
