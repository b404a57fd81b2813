package lang

import (
	"strings"
	"unicode"
)

// spaced sets Chinese as its readers expect: a space between Han characters and Latin letters or digits, as sentences
// meet the names and numbers in them, and none between Han characters.
func spaced(s string) string {
	rs := []rune(s)
	var b strings.Builder
	for i, r := range rs {
		if i > 0 {
			before := rs[i-1]
			if r == ' ' && i+1 < len(rs) && han(before) && han(rs[i+1]) {
				continue
			}
			if han(before) && latin(r) || latin(before) && han(r) {
				b.WriteByte(' ')
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func han(r rune) bool { return unicode.Is(unicode.Han, r) }

func latin(r rune) bool { return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
