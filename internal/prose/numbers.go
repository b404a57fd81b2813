// Package prose writes numbers and lists as people read them: intervals with the digits that they support, shares,
// ratios, units, counts, sentences. Every room that words a result uses it, so one number reads the same everywhere.
//
// It must not know what a number means, or choose a language: lists and counts are texts of package lang.
package prose

import (
	"math"
	"strconv"

	"github.com/weir-bench/weir/internal/stat"
)

// Digits returns the decimals that the intervals support and their ends need.
func Digits(is ...stat.Interval) int {
	d := 2
	for _, i := range is {
		if i.N > 0 && (math.Abs(i.Center) < 0.1 || i.Bounded() && i.Hi-i.Lo < 0.03) {
			d = 3
		}
	}
	return d
}

// Fixed has a fixed number of decimals.
func Fixed(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) { // scaling overflowed
		return "n/a"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Bracket is the interval of a number: "[1.32, 1.98]".
func Bracket(i stat.Interval, digits int) string {
	return "[" + Fixed(i.Lo, digits) + ", " + Fixed(i.Hi, digits) + "]"
}

// Percent is a share with the decimals that its size deserves.
func Percent(v float64) string {
	p := 100 * v
	switch {
	case p == 0:
		return "0 %"
	case math.Abs(p) < 0.01:
		return "<0.01 %"
	case math.Abs(p) < 1:
		return Fixed(p, 2) + " %"
	}
	return Fixed(p, 1) + " %"
}

// Coarse is a share of which the size alone matters.
func Coarse(v float64) string {
	if v >= 0.1 {
		return Fixed(100*v, 0) + " %"
	}
	return Fixed(100*v, 1) + " %"
}

// RatioInterval formats the interval of a ratio; "" if there is none.
func RatioInterval(i stat.Interval) string {
	if !i.Bounded() {
		return ""
	}
	return " " + Bracket(i, Digits(i))
}

// Trim has at most five digits, and no trailing zeros.
func Trim(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }
