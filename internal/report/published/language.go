package published

import "github.com/weir-bench/weir/internal/lang"

// say is a sentence in the reader's language; see lang.T.
func say(format string, args ...any) string { return string(lang.T(format, args...)) }

// word is a word or sentence of the data, which is English: the name of a value, a probe's description.
func word(s string) string { return string(lang.Stored(s)) }
