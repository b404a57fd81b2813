// Package lang prints sentences in the reader's language. Code says lang.T("%d of %d runs", n, of), and keeps the
// result, a Text, wherever it kept a string. A Text holds the English format and its formatted arguments, so the
// edge that writes a page chooses the language; rules and sections know nothing of it. English needs no catalog:
// its sentences are the keys of all others.
//
// The package must not format numbers by locale: a measured number reads the same in every language.
package lang

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-bench/weir/record"
)

// A Text is a sentence, or several with plain text between them. It concatenates, compares and is empty as a
// string does; String and In make it readable. A string without marks is a Text that all languages share.
type Text string

// A Teller tells people what work does while it goes on, a line at a time and in their language.
type Teller interface {
	Say(Text)     // what happens
	Warn(...Text) // what is wrong, although the work goes on
	Note(Text)    // what differs from what they can expect
}

// Marks frame a sentence in a Text: open, format, then sep and an argument for each argument, close. Unicode
// reserves these code points for use inside a program (noncharacters, The Unicode Standard 23.7).
const (
	open  = "\uFDD0"
	sep   = "\uFDD1"
	shut  = "\uFDD2"
	upper = "\uFDD3" // the format of Capital
	width = len(open)
)

// T is a sentence with arguments, as fmt.Sprintf formats them. An argument that is a Text is translated too.
// Without arguments, the format is the sentence, percent signs included. A test collects the formats of all calls,
// so a format is a constant.
func T(format string, args ...any) Text {
	var b strings.Builder
	b.WriteString(open + format)
	formatted := make([]string, len(args))
	for _, v := range verbs(format, len(args)) {
		if v.arg < len(args) && formatted[v.arg] == "" {
			formatted[v.arg] = text(v.verb, args[v.arg])
		}
	}
	for _, a := range formatted {
		b.WriteString(sep + a)
	}
	return Text(b.String() + shut)
}

// Stored is a sentence that was stored in English, or is a word of the data, such as the name of a value. It stays
// English where the catalog lacks it.
func Stored(s string) Text {
	if s == "" || strings.Contains(s, open[:2]) {
		return Text(s)
	}
	return Text(open + s + shut)
}

// Note is a note of a trial.
func Note(n record.Note) Text {
	format, args := n.Format()
	return T(format, args...)
}

// Quantity names what a number measures.
func Quantity(q record.Quantity) Text {
	d, _ := q.Defined()
	return Stored(d.Word)
}

// text formats one argument and keeps the marks of a Text.
func text(verb string, arg any) string {
	if t, ok := arg.(Text); ok {
		return string(t)
	}
	return fmt.Sprintf(verb, arg)
}

// Join joins texts as strings.Join does.
func Join(all []Text, between Text) Text {
	var b strings.Builder
	for i, t := range all {
		if i > 0 {
			b.WriteString(string(between))
		}
		b.WriteString(string(t))
	}
	return Text(b.String())
}

// Texts are strings that all languages share.
func Texts(ss []string) (all []Text) {
	for _, s := range ss {
		all = append(all, Text(s))
	}
	return all
}

// Capital makes the first letter of a text a capital, in languages that have them.
func Capital(t Text) Text {
	if !t.Marked() {
		return Text(capital(string(t)))
	}
	return Text(open + upper + sep + string(t) + shut)
}

// BeginsWithName reports whether a text begins with an argument that is the same in all languages: a name of a device, a
// program or a network, which keeps its case at the beginning of a sentence.
func BeginsWithName(t Text) bool {
	rest, marked := strings.CutPrefix(string(t), open)
	if !marked {
		return false
	}
	message, _ := balanced(rest)
	parts := split(message)
	vs := verbs(parts[0], len(parts)-1)
	switch {
	case parts[0] == upper && len(parts) == 2:
		return BeginsWithName(Text(parts[1]))
	case len(vs) == 0 || vs[0].at > 0 || vs[0].arg >= len(parts)-1:
		return false
	}
	first := parts[1+vs[0].arg]
	return !strings.HasPrefix(first, open) || BeginsWithName(Text(first))
}

// capital leaves a name such as gRPC as it is written.
func capital(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	if second, _ := utf8.DecodeRuneInString(s[n:]); unicode.IsUpper(second) {
		return s
	}
	return strings.ToUpper(s[:n]) + s[n:]
}

// Mark reports whether a code point is one of a Text's marks, which filters of what people can read must keep.
func Mark(r rune) bool { return '\uFDD0' <= r && r <= '\uFDD3' }

// Marked reports whether a text differs between languages.
func (t Text) Marked() bool { return strings.Contains(string(t), open) }

// String is the text in English.
func (t Text) String() string { return t.In(nil) }

// MarshalText keeps exports in English.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// In is the text in a language; English if that is nil. A sentence that the catalog lacks stays English.
func (t Text) In(l *Language) string {
	s := string(t)
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(s, open)
		b.WriteString(plain)
		if !found {
			if l != nil {
				return spaced(clean(b.String()))
			}
			return clean(b.String())
		}
		message, after := balanced(rest)
		b.WriteString(l.sentence(message))
		s = after
	}
}

// clean removes marks that frame nothing: they come from foreign text.
func clean(s string) string {
	if !strings.Contains(s, open[:2]) {
		return s
	}
	return marks.Replace(s)
}

var marks = strings.NewReplacer(open, "", sep, "", shut, "", upper, "")

// balanced returns what precedes the mark that shuts an open sentence, and what follows it.
func balanced(s string) (message, after string) {
	depth := 1
	for i := 0; i+width <= len(s); i++ {
		switch s[i : i+width] {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return s[:i], s[i+width:]
			}
		}
	}
	return s, ""
}

// split cuts a message at the separators that belong to it, not to sentences inside.
func split(s string) (parts []string) {
	depth, from := 0, 0
	for i := 0; i+width <= len(s); i++ {
		switch s[i : i+width] {
		case open:
			depth++
		case shut:
			depth--
		case sep:
			if depth == 0 {
				parts, from = append(parts, s[from:i]), i+width
			}
		}
	}
	return append(parts, s[from:])
}

func (l *Language) sentence(message string) string {
	parts := split(message)
	format, args := parts[0], parts[1:]
	for i, a := range args {
		args[i] = Text(a).In(l)
	}
	if format == upper && len(args) == 1 {
		if l != nil { // a Latin name at its beginning stays as it is
			return args[0]
		}
		return capital(args[0])
	}
	format, known := l.translate(format)
	if !known && len(args) == 0 {
		return l.stored(format)
	}
	if len(args) == 0 {
		return format
	}
	var b strings.Builder
	end := 0
	for _, v := range verbs(format, len(args)) {
		b.WriteString(strings.ReplaceAll(format[end:v.at], "%%", "%"))
		if v.arg < len(args) {
			b.WriteString(args[v.arg])
		}
		end = v.at + v.length
	}
	return b.String() + strings.ReplaceAll(format[end:], "%%", "%")
}

// A verb is a place in a format: "%.1f" or "%[2]s".
type verb struct {
	at, length, arg int
	verb            string // without the argument's number
}

// verbs finds the verbs of a format with n arguments. Formats have no * widths.
func verbs(format string, n int) (out []verb) {
	if n == 0 {
		return nil
	}
	next := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		at := i
		flags := at + 1 + spanOf(format[at+1:], "+-# 0123456789.")
		i = flags
		if i < len(format) && format[i] == '[' {
			number, _, _ := strings.Cut(format[i+1:], "]")
			if _, err := fmt.Sscanf(number, "%d", &next); err == nil {
				next--
			}
			i += len(number) + 2
		}
		if i >= len(format) {
			return out
		}
		if format[i] == '%' {
			continue
		}
		out = append(out, verb{at, i + 1 - at, max(next, 0), format[at:flags] + format[i:i+1]})
		next++
	}
	return out
}

// spanOf counts the leading bytes of s that are in set.
func spanOf(s, set string) int { return len(s) - len(strings.TrimLeft(s, set)) }
