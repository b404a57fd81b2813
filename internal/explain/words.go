package explain

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// quantity names a value of a trial in a sentence.
func quantity(metric string) lang.Text {
	switch metric {
	case "cpu.own.per.packet":
		return lang.T("CPU time per packet")
	case "cpu.own.per.transaction":
		return lang.T("CPU time per transaction")
	case "cpu.own.per.bit":
		return lang.T("CPU time per bit")
	}
	return lang.Stored(figure.ValueName(metric))
}

// times formats a ratio with its interval: "2.22× [2.15, 2.30]".
func times(i stat.Interval) string {
	d := 2
	if i.Bounded() && i.Hi-i.Lo < 0.03 {
		d = 3
	}
	text := fixed(i.Center, d) + "×"
	if i.Bounded() {
		text += fmt.Sprintf(" [%s, %s]", fixed(i.Lo, d), fixed(i.Hi, d))
	}
	return text
}

// measured formats a value in a base unit with its interval: "1.57 [1.32, 1.98] µs". Both have as many
// digits as the interval supports.
func measured(i stat.Interval, base string) string {
	factor, label := scale(math.Max(math.Abs(i.Center), math.Abs(i.Hi)), base)
	d := decimals(i, factor)
	text := fixed(i.Center*factor, d)
	if i.Bounded() {
		text += fmt.Sprintf(" [%s, %s]", fixed(i.Lo*factor, d), fixed(i.Hi*factor, d))
	}
	return strings.TrimSpace(text + " " + label)
}

// value formats an estimate without its interval, which is elsewhere.
func value(v float64, base string) string { return unit.Format(v, base) }

// scale is unit.Scale without what the sentence says anyway: a cost per packet is in µs.
func scale(most float64, base string) (factor float64, label string) {
	if per, ok := strings.CutPrefix(base, "s/"); ok && per != "" {
		base = "s"
	}
	return unit.Scale(most, base)
}

// decimals returns the decimals that an interval supports: the first digit of its half width, or the first
// two if the first is a 1 or 2. Without an interval, a value has three digits.
func decimals(i stat.Interval, factor float64) int {
	half := (i.Hi - i.Lo) / 2 * factor
	if !i.Bounded() || !(half > 0) || math.IsInf(half, 1) {
		return unit.Decimals(3, factor, i.Center)
	}
	return min(3, max(0, -int(math.Floor(math.Log10(half/3)))))
}

func fixed(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "n/a"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// sentence ends a text with a full stop and begins it with a capital, unless it begins with a name: eth0 is no Eth0.
func sentence(s lang.Text) lang.Text {
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

// sentences puts sentences after each other: English needs a space between them.
func sentences(all ...lang.Text) lang.Text { return lang.Join(all, lang.T(" ")) }

// Printable reports whether texts of others have no characters that a terminal obeys.
func Printable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	})
}

// list joins parts as prose does: "a, b and c".
func list(parts []lang.Text) lang.Text {
	if n := len(parts); n > 1 {
		return lang.Join(parts[:n-1], lang.T(", ")) + lang.T(" and ") + parts[n-1]
	}
	return lang.Join(parts, "")
}

// levels formats factor levels: "offload off, size 1400".
func levels(of map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, k+" "+of[k])
	}
	return strings.Join(parts, ", ")
}
