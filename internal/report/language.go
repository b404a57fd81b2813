package report

import (
	"strings"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
)

// The strings of a document that people read are lang.Texts until a renderer prints the document in its language.
// Inside the package they are plain strings, so that sections join, compare and pass them as such.

// say is a sentence in the reader's language; see lang.T.
func say(format string, args ...any) string { return string(lang.T(format, args...)) }

// word is a word or sentence of the data, which is English: the name of a value, a probe's description.
func word(s string) string { return string(lang.Stored(s)) }

// warnings are those of an interval.
func warnings(i stat.Interval) []string { return marked(i.Warnings) }

// marked are texts of other packages as strings of this one.
func marked(all []lang.Text) (out []string) {
	for _, t := range all {
		out = append(out, string(t))
	}
	return out
}

// english is the text of IDs, orders and comparisons.
func english(s string) string { return lang.Text(s).String() }

func capital(s string) string { return string(lang.Capital(lang.Text(s))) }

// list joins the parts of a sentence; alternatives joins parts that have commas of their own.
func list(parts []string) string         { return strings.Join(parts, say(", ")) }
func alternatives(parts []string) string { return strings.Join(parts, say("; ")) }

// sentences joins whole sentences; empty ones leave no gap.
func sentences(parts ...string) string { return strings.Join(nonEmpty(parts...), say(" ")) }

// printed is the document in its language. Its numbers and findings are those of the original.
func (d *Document) printed() *Document { return d.in(d.Lang) }

func (d *Document) in(l *lang.Language) *Document {
	out := lang.In(l, *d)
	return &out
}
