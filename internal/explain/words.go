package explain

import (
	"slices"
	"strings"
	"unicode"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// quantity names a value of a trial in a sentence.
func quantity(metric record.Quantity) lang.Text {
	switch metric {
	case record.CPUOwnPerPacket:
		return lang.T("CPU time per packet")
	case record.CPUOwnPerTransaction:
		return lang.T("CPU time per transaction")
	case record.CPUOwnPerBit:
		return lang.T("CPU time per bit")
	}
	return lang.Quantity(metric)
}

// Printable reports whether texts of others have no characters that a terminal obeys.
func Printable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	})
}
