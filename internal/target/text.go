package target

import (
	"strings"
	"unicode"
)

// Printable returns text of another machine without anything that could control a terminal. Line breaks
// stay.
func Printable(s string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || unicode.IsPrint(r) && r != unicode.ReplacementChar:
			return r
		case r == '\r':
			return -1
		case r == '\t':
			return ' '
		}
		return '?'
	}, s)
	return strings.TrimSpace(clean)
}
