package doc

import (
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
)

// The strings of a document that people read are lang.Texts until a renderer prints the document in its language.
// Inside the package they are plain strings, so that sections join, compare and pass them as such.

// say is a sentence in the reader's language; see lang.T.
func say(format string, args ...any) string { return string(lang.T(format, args...)) }

// word is a word or sentence of the data, which is English: the name of a value, a probe's description.
func word(s string) string { return string(lang.Stored(s)) }

// Warnings are those of an interval.
func Warnings(i stat.Interval) []string { return Marked(i.Warnings) }

// Marked are texts of other packages as strings of this one.
func Marked(all []lang.Text) (out []string) {
	for _, t := range all {
		out = append(out, string(t))
	}
	return out
}

// English is the text of IDs, orders and comparisons.
func English(s string) string { return lang.Text(s).String() }

// Printed is the document in its language. Its numbers and findings are those of the original.
func (d *Document) Printed() *Document { return d.In(d.Lang) }

// In is the document in a language.
func (d *Document) In(l *lang.Language) *Document {
	out := lang.In(l, *d)
	return &out
}
