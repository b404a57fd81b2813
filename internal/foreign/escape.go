package foreign

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names in results come from files, machines and users that anyone can be. Each function makes a text harmless in one
// format, and every writer of that format uses it. Pages escape by html/template, which knows where a text stands.

// Line is a text that ends no line of a file of lines: what would is a space, and bytes that are not UTF-8 are U+FFFD.
func Line(s string) string {
	return Text(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// Field is a Line without spaces, which end fields.
func Field(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, Line(s))
}

// Plain keeps a string from moving the cursor, breaking a line or reversing what follows.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, s)
}

// Printable reports whether texts have no characters that a terminal obeys.
func Printable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	})
}

// XML is a text, or an attribute in quotes, of XML such as SVG. It has no control characters, which XML forbids, and no
// overrides of the writing direction.
func XML(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, Text(strings.ToValidUTF8(s, "\uFFFD"))))
}

var markdown = strings.NewReplacer(`\`, `\\`, `|`, `\|`, "`", "\\`", `*`, `\*`, `_`, `\_`, `<`, `&lt;`, `~`, `\~`, "\n", " ", "\r", " ")

// Markdown is a text within a line or a cell of GitHub's Markdown.
func Markdown(s string) string { return markdown.Replace(s) }

var tex = strings.NewReplacer(`\`, `\textbackslash{}`, `{`, `\textbraceleft{}`, `}`, `\textbraceright{}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`,
	`_`, `\_`, `^`, `\textasciicircum{}`, `~`, `\textasciitilde{}`, `@`, `\symbol{64}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`, `\textbar{}`,
	`"`, `\symbol{34}`, "`", `\symbol{96}`, `µ`, `\ensuremath{\mu}`, `×`, `\ensuremath{\times}`, `÷`, `\ensuremath{\div}`,
	`−`, `\ensuremath{-}`, `∞`, `\ensuremath{\infty}`, `≤`, `\ensuremath{\leq}`, `≥`, `\ensuremath{\geq}`)

// TeX is a text within a line of LaTeX, or in braces of BibTeX: its braces are commands' and balanced, and it has no @, which
// BibTeX obeys also behind a backslash. Letters beyond ASCII stay: a paper with such names chooses an engine that has them.
func TeX(s string) string {
	return tex.Replace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, Line(s)))
}

// Cell is a field of CSV that a spreadsheet takes for text, and never for a formula: one that would be begins with an
// apostrophe (https://owasp.org/www-community/attacks/CSV_Injection). Numbers stay, and no character acts on a terminal.
func Cell(s string) string {
	s = Text(s)
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

var (
	// As the toolkit of GitHub's own actions does, packages/core/src/command.ts.
	command  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Command is the text of a workflow command of GitHub Actions, and Property one of its properties.
func Command(s string) string  { return command.Replace(Text(s)) }
func Property(s string) string { return property.Replace(Text(s)) }

var label = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Label is the value of a label in OpenMetrics, within its quotes.
func Label(s string) string { return label.Replace(Text(strings.ToValidUTF8(s, "\uFFFD"))) }
