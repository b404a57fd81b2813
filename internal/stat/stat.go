// Package stat compares samples. Intervals carry their caveats in Warnings.
//
// All intervals start from distribution-free ones: throughput has heavy tails, and a mean with a
// normal interval would follow one stalled trial. Ratio and Median then widen them for correlation
// between neighbors in time. Share is the exception: a tail is made of its worst blocks, and a robust
// spread would not see them. The package must not know what the numbers measure, and never draws a
// random number.
package stat

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/lang"
)

// An Interval is an estimate and the interval around it. N is 0 without an estimate. Lo, Hi and
// Confidence are 0 without an interval; a warning then says what is missing. Hi is math.MaxFloat64 where nothing bounds
// it from above, as of the ratio to a baseline that stalls in some blocks (JSON has no infinity); Lo is then finite.
type Interval struct {
	Center, Lo, Hi float64
	Confidence     float64 // requested, in 0..1; the interval has at least this
	N              int     // pairs or values used
	// SE is the long-run standard error of Center, which allows for correlation: of the logarithm
	// for ratios, in the values' unit for medians. DF is its effective degrees of freedom. Both are
	// 0 without an interval.
	SE       float64 `json:"se,omitempty"`
	DF       float64 `json:"df,omitempty"`
	Warnings []lang.Text

	exact float64 // confidence of a distribution-free interval of independent values, whose ranks are integers
}

// Scaled is the interval in another unit, of which by make one of this.
func (i Interval) Scaled(by float64) Interval {
	open := i.Open()
	i.Center, i.Lo, i.Hi, i.SE = i.Center*by, i.Lo*by, i.Hi*by, i.SE*by
	if open && by > 0 {
		i.Hi = math.MaxFloat64
	}
	return i
}

// Bounded reports whether there is an interval.
func (i Interval) Bounded() bool { return i.Confidence > 0 }

// Without says why an estimate has no interval. It returns "" if it has one, or if there is no estimate.
func (i Interval) Without() lang.Text {
	switch {
	case i.Bounded() || i.N == 0:
		return ""
	case len(i.Warnings) == 0:
		return lang.T("no interval")
	}
	return lang.Join(i.Warnings, "; ")
}

// Open reports whether an interval has no upper end.
func (i Interval) Open() bool { return i.Bounded() && i.Hi == math.MaxFloat64 }

// Contains reports whether the interval exists and contains x.
func (i Interval) Contains(x float64) bool { return i.Bounded() && i.Lo <= x && x <= i.Hi }

// Adjust returns the confidence of each of several intervals that hold together with the given one
// (Bonferroni). It assumes nothing about their dependence, which suits ratios to one baseline.
func Adjust(confidence float64, comparisons int) float64 {
	if comparisons <= 1 {
		return confidence
	}
	return 1 - (1-confidence)/float64(comparisons)
}

// MinPairs returns the fewest pairs for which Ratio has an interval, and the fewest values for
// Median: the smallest n with 2^-n <= (1-confidence)/2. For a confidence of 1 or more, no number is
// enough and it returns the largest int.
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

// tail returns the probability on each side.
func tail(confidence float64) float64 { return (1 - confidence) / 2 }

// within is p <= bound up to rounding: 1-0.95 is not 0.05 in binary.
func within(p, bound float64) bool { return p <= bound*(1+1e-9) }

// ranked is a sorted list of candidate values that need not be in memory.
type ranked struct {
	len int
	at  func(k int) float64 // the k-th smallest, counted from 1
}

// interval returns the median of r and, if rank > 0, the values rank places from both ends. n is
// the number of pairs or values, exact the confidence that the rank has.
func (r ranked) interval(n, rank int, confidence, exact float64) Interval {
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
		i.Lo, i.Hi, i.Confidence, i.exact = r.at(rank), r.at(r.len+1-rank), confidence, exact
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

// Inverse returns the interval of the reciprocal base/other.
func (i Interval) Inverse() Interval {
	if i.Center > 0 {
		i.Center = 1 / i.Center
	}
	if i.Bounded() {
		least, most := 1/i.Hi, math.MaxFloat64
		if i.Open() {
			least = 0
		}
		if i.Lo > 0 {
			most = 1 / i.Lo
		}
		i.Lo, i.Hi = least, most
	}
	return i
}

func antilog(x float64) float64 { return math.Min(math.Exp(x), math.MaxFloat64) }

func (i *Interval) warn(format string, args ...any) {
	i.Warnings = append(i.Warnings, lang.T(format, args...))
}

func proper(confidence float64) bool { return confidence > 0 && confidence < 1 }

// percent keeps two digits of the distance from 100 %: 0.99375 is "99.38 %", never "100 %".
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

func plural(n int, noun string) lang.Text {
	one, many := lang.Text("1 "+noun), lang.Text(fmt.Sprintf("%d %ss", n, noun))
	switch noun {
	case "value":
		one, many = lang.T("1 value"), lang.T("%d values", n)
	case "pair":
		one, many = lang.T("1 pair"), lang.T("%d pairs", n)
	case "ratio":
		one, many = lang.T("1 ratio"), lang.T("%d ratios", n)
	case "block":
		one, many = lang.T("1 block"), lang.T("%d blocks", n)
	case "run":
		one, many = lang.T("1 run"), lang.T("%d runs", n)
	}
	if n == 1 {
		return one
	}
	return many
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Middle is the median of values, between the two in the middle of an even number of them; 0 without values. Sums of
// large values could overflow, and halves of them do not.
func Middle(v []float64) float64 {
	switch len(v) {
	case 0:
		return 0
	case 1:
		return v[0]/2 + v[0]/2
	}
	v = sorted(v)
	n := len(v)
	return v[(n-1)/2]/2 + v[n/2]/2
}

// sorted returns a sorted copy.
func sorted(v []float64) []float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v
}

// LowerMiddle is the lower of the two values in the middle of an even number: one that was measured. It is 0 without values.
func LowerMiddle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = sorted(v)
	return v[(len(v)-1)/2]
}
