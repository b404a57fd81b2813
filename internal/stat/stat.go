// Package stat compares samples. An interval carries what its reader must know about
// it, in Warnings.
//
// All intervals are distribution-free: throughput has heavy tails, and a mean
// with its normal interval would follow one stalled trial. It must not know what
// the numbers measure, and it never draws a random number.
package stat

import (
	"fmt"
	"math"
	"strconv"
)

// An Interval is an estimate and the interval around it.
//
// N is 0 when nothing is known. Lo, Hi and Confidence are 0 when there is an
// estimate but no interval; a warning then says what is missing.
type Interval struct {
	Center, Lo, Hi float64
	Confidence     float64 // requested, in 0..1; the interval holds with at least this
	N              int     // pairs or values used
	Warnings       []string
}

// Bounded reports whether there is an interval.
func (i Interval) Bounded() bool { return i.Confidence > 0 }

// Contains reports whether x is in the interval; false when there is none.
func (i Interval) Contains(x float64) bool { return i.Bounded() && i.Lo <= x && x <= i.Hi }

// Adjust returns the confidence that each of several intervals needs so that
// all hold together with the given one (Bonferroni). It assumes nothing about how
// the intervals depend on each other, which suits ratios to one baseline.
func Adjust(confidence float64, comparisons int) float64 {
	if comparisons <= 1 {
		return confidence
	}
	return 1 - (1-confidence)/float64(comparisons)
}

// MinPairs returns the fewest pairs that Ratio can bound, and the fewest values
// that Median can: the smallest n with 2^-n <= (1-confidence)/2. No number is
// enough for a confidence of 1 or more; it then returns the largest int.
func MinPairs(confidence float64) int {
	if !(confidence < 1) {
		return math.MaxInt
	}
	n := 1
	for !within(math.Exp2(-float64(n)), tail(confidence)) {
		n++
	}
	return n
}

// tail is the probability left on either side.
func tail(confidence float64) float64 { return (1 - confidence) / 2 }

// within is p <= bound, except for rounding: 1-0.95 is not 0.05 in binary.
func within(p, bound float64) bool { return p <= bound*(1+1e-9) }

// ranked is a sorted list of candidate values that need not be held in memory.
type ranked struct {
	len int
	at  func(k int) float64 // the k-th smallest, counted from 1
}

// interval takes the median of r and, when rank is at least 1, the values that
// are rank places from both ends. n is the number of pairs or values behind r.
func (r ranked) interval(n, rank int, confidence float64) Interval {
	i := Interval{N: n}
	if r.len == 0 {
		return i
	}
	low, high := r.at((r.len+1)/2), r.at(r.len/2+1)
	i.Center = low
	if low != high {
		i.Center = low/2 + high/2 // the sum can overflow
	}
	if rank >= 1 {
		i.Lo, i.Hi, i.Confidence = r.at(rank), r.at(r.len+1-rank), confidence
	}
	return i
}

// exp turns an interval of logarithms into one of values.
func (i Interval) exp() Interval {
	if i.N == 0 {
		return i
	}
	i.Center = antilog(i.Center)
	if i.Bounded() {
		i.Lo, i.Hi = antilog(i.Lo), antilog(i.Hi)
	}
	return i
}

// Inverse returns the interval of the reciprocal, base/other of a ratio other/base.
func (i Interval) Inverse() Interval {
	if i.Center > 0 {
		i.Center = 1 / i.Center
	}
	if i.Bounded() && i.Lo > 0 {
		i.Lo, i.Hi = 1/i.Hi, 1/i.Lo
	}
	return i
}

func antilog(x float64) float64 { return math.Min(math.Exp(x), math.MaxFloat64) }

func (i *Interval) warn(format string, args ...any) {
	i.Warnings = append(i.Warnings, fmt.Sprintf(format, args...))
}

// proper reports whether confidence is inside 0..1, where an interval exists.
func proper(confidence float64) bool { return confidence > 0 && confidence < 1 }

// percent prints a confidence with two digits of what is missing to 100 %:
// 0.99375 is "99.38 %", never "100 %".
func percent(confidence float64) string {
	missing := 100 * (1 - confidence)
	decimals := 0
	for scaled := missing; scaled < 9.95 && decimals < 12; decimals++ {
		scaled *= 10
	}
	s := strconv.FormatFloat(100*confidence, 'f', decimals, 64)
	v, _ := strconv.ParseFloat(s, 64)
	return strconv.FormatFloat(v, 'f', -1, 64) + " %"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
