// Package prose writes numbers and lists as people read them: intervals with the digits that they support, shares,
// ratios, units, counts, sentences. Every room that words a result uses it, so one number reads the same everywhere.
//
// It must not know what a number means, or choose a language: lists and counts are texts of package lang.
package prose

import (
	"math"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// Digits returns the decimals of a column of ratios: as many as the one that needs most of them.
func Digits(is ...stat.Interval) int {
	most := 0
	for _, i := range is {
		if i.N > 0 {
			most = max(most, digitsOf(i))
		}
	}
	return most
}

// digitsOf returns the decimals of a ratio: three digits of it, but no more than the first digit of its half width, or the
// first two below a 6. An end that excludes 1 shows it with two.
func digitsOf(i stat.Interval) int {
	d := 2
	switch {
	case i.Center >= 100:
		d = 0
	case i.Center >= 10:
		d = 1
	case math.Abs(i.Center) < 0.1 || i.Bounded() && i.Hi-i.Lo < 0.03:
		d = 3
	}
	if half := halfOf(i); i.Center >= 0.1 && half > 0 && !math.IsInf(half, 1) {
		d = min(d, max(0, -int(math.Floor(math.Log10(half/6)))))
	}
	hides := func(end float64) bool { return end != 1 && Fixed(end, d) == Fixed(1, d) }
	for i.Bounded() && !i.Contains(1) && d < 2 && (hides(i.Lo) || hides(i.Hi)) {
		d++
	}
	return d
}

// halfOf is half the width of an interval; 0 without two ends.
func halfOf(i stat.Interval) float64 {
	if !i.Bounded() || i.Open() {
		return 0
	}
	return (i.Hi - i.Lo) / 2
}

// Centered is the estimate of a ratio with digits decimals. Without decimals it is rounded as the interval supports, but keeps
// two digits, and so are the ends: "1000" and "[7, 150000]" of 1045 between 7.2 and 152348.
func Centered(i stat.Interval, digits int) string { return rounded(i.Center, i, digits) }

func rounded(v float64, i stat.Interval, digits int) string {
	half := halfOf(i)
	if digits > 0 || math.Abs(v) >= endless || !(half > 0) || half >= endless {
		return Fixed(v, digits)
	}
	place := func(x float64) float64 { return math.Pow(10, math.Floor(math.Log10(x))) }
	if step := min(place(half/6), place(math.Abs(v))/10); step > 1 {
		v = math.Round(v/step) * step
	}
	return Fixed(v, 0)
}

// Fixed has a fixed number of decimals.
func Fixed(v float64, digits int) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0): // scaling overflowed
		return "n/a"
	case v > endless:
		return "∞"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// endless is above every number that is measured: an interval that ends there has no end (stat.Interval), in any unit.
const endless = 1e290

// Bracket is the interval of a number: "[1.32, 1.98]".
func Bracket(i stat.Interval, digits int) string {
	return Brackets(i, func(v float64) string { return Fixed(v, digits) })
}

// Brackets is an interval whose ends are written by format: "[1.32, 1.98]", or "[1.32, ∞)" without an upper end.
func Brackets(i stat.Interval, format func(v float64) string) string {
	return ended(i, format).brackets()
}

// A Number is a number as people read it, in parts.
type Number struct {
	Center    string // "1.57"
	Low, High string // "1.32" and "1.98"; "−∞" and "∞" where the interval has no end; both "" without an interval
	Unit      string // "µs"; "" of plain numbers and ratios
}

// ended returns the ends of an interval.
func ended(i stat.Interval, format func(v float64) string) Number {
	n := Number{Low: format(i.Lo), High: format(i.Hi)}
	if i.Lo < -endless && !math.IsInf(i.Lo, -1) {
		n.Low = "−∞"
	}
	if i.Hi > endless && !math.IsInf(i.Lo, 1) {
		n.High = "∞"
	}
	return n
}

func (n Number) brackets() string {
	least, most := "["+n.Low, n.High+"]"
	if n.Low == "−∞" {
		least = "(−∞"
	}
	if n.High == "∞" {
		most = "∞)"
	}
	return least + ", " + most
}

// inTimes is the difference from which people count in times: nobody reads 1822 %.
const inTimes = 10

// Percent is a share, or a spread, with the decimals that its size deserves: "0.12 %", "12.3 %", "1822 %". It is never a factor:
// "±18×" would be a spread of 1700 %.
func Percent(v float64) string {
	p := 100 * v
	switch {
	case math.Abs(p) >= 99.95: // what rounds to 100 has no decimal either
		return Fixed(p, 0) + " %"
	case p == 0:
		return "0 %"
	case math.Abs(p) < 0.01:
		return "<0.01 %"
	case math.Abs(p) < 1:
		return Fixed(p, 2) + " %"
	}
	return Fixed(p, 1) + " %"
}

// Coarse words a relative difference whose size alone matters: "1.2 %", "45 %", and "11×" for 1000 %.
func Coarse(v float64) string {
	switch {
	case v >= inTimes:
		return Fixed(1+v, 0) + "×"
	case v >= 0.1:
		return Fixed(100*v, 0) + " %"
	}
	return Fixed(100*v, 1) + " %"
}

// RatioInterval is the interval of a ratio behind a space: " [2.15, 2.30]"; "" if there is none.
func RatioInterval(i stat.Interval) string {
	if !i.Bounded() {
		return ""
	}
	return " " + RatioBrackets(i)
}

// RatioBrackets is the interval of a ratio that has one: "[2.15, 2.30]".
func RatioBrackets(i stat.Interval) string { return Quotient(i).brackets() }

// Trim has at most five digits, and no trailing zeros.
func Trim(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// Ratio is a ratio: "2.22×". Times adds its interval: "2.22× [2.15, 2.30]".
func Ratio(i stat.Interval) string { return Centered(i, Digits(i)) + "×" }
func Times(i stat.Interval) string { return Ratio(i) + RatioInterval(i) }

// Quotient is a ratio in parts.
func Quotient(i stat.Interval) (n Number) {
	if i.Bounded() {
		n = ended(i, func(v float64) string { return rounded(v, i, Digits(i)) })
	}
	n.Center = Centered(i, Digits(i))
	return n
}

// Measured is a value in a base unit with its interval: "1.57 [1.32, 1.98] µs". Both have as many digits as the interval
// supports. A cost in seconds per something has the unit of the seconds: the sentence says what it is per.
func Measured(i stat.Interval, base string) string {
	if per, ok := strings.CutPrefix(base, "s/"); ok && per != "" {
		base = "s"
	}
	return Quantity(i, base).String()
}

// String is the whole number: "1.57 [1.32, 1.98] µs".
func (n Number) String() string {
	text := n.Center
	if n.Low != "" {
		text += " " + n.brackets()
	}
	return strings.TrimSpace(text + " " + n.Unit)
}

// Quantity is a value in a base unit in parts.
func Quantity(i stat.Interval, base string) (n Number) {
	most, half := i.Hi, (i.Hi-i.Lo)/2
	if i.Open() {
		most, half = i.Center, i.Center-i.Lo
	}
	factor, label := unit.Scale(math.Max(math.Abs(i.Center), math.Abs(most)), base)
	i, half = i.Scaled(factor), half*factor
	digits := unit.Decimals(3, 1, i.Center)
	if i.Bounded() && half > 0 && !math.IsInf(half, 1) {
		digits = min(3, Supported(half))
	}
	if i.Bounded() {
		n = ended(i, func(v float64) string { return Fixed(v, digits) })
	}
	n.Center, n.Unit = Fixed(i.Center, digits), label
	return n
}

// Supported returns the decimals that an interval's half width supports: its first digit, or its first two if the
// first is a 1 or 2; as many as there are without a width.
func Supported(half float64) int {
	if !(half > 0) || math.IsInf(half, 1) {
		return math.MaxInt
	}
	return max(0, -int(math.Floor(math.Log10(half/3))))
}

// Thousands is a number of things with a comma after every three digits.
func Thousands(n float64) string {
	s := strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// PercentWithin is a share with its interval: "97 % [95, 98]".
func PercentWithin(i stat.Interval) string {
	text := Short(100*i.Center) + " %"
	if i.Bounded() {
		text += " " + Brackets(i.Scaled(100), Short)
	}
	return text
}

// Short is a number with two significant digits, or an integer.
func Short(v float64) string {
	if math.Abs(v) >= 10 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
