// Package stat compares samples. What a reader must know about a number travels
// with it, in Warnings.
//
// It must not know what the numbers measure, and never draws a random number.
package stat

// An Interval is an estimate and the interval around it.
//
// N is 0 when nothing is known. Lo, Hi and Confidence are 0 when there is an
// estimate but no interval; a warning then says what is missing.
type Interval struct {
	Center, Lo, Hi float64
	Confidence     float64 // that was asked for, in 0..1; the interval holds at least this
	N              int     // pairs or values that were used
	Warnings       []string
}

// Bounded reports whether there is an interval.
func (i Interval) Bounded() bool { return i.Confidence > 0 }

// Contains reports whether x is in the interval; false when there is none.
func (i Interval) Contains(x float64) bool { return i.Bounded() && i.Lo <= x && x <= i.Hi }

// Ratio estimates the paired ratio other/base.
func Ratio(base, other []float64, confidence float64) Interval { return Interval{} }

// Median estimates the median of one cell.
func Median(v []float64, confidence float64) Interval { return Interval{} }

// Shift estimates the unpaired ratio b/a.
func Shift(a, b []float64, confidence float64) Interval { return Interval{} }

// Adjust returns the confidence that each of several intervals needs so that
// all hold together with the given one.
func Adjust(confidence float64, comparisons int) float64 { return 0 }

// MinPairs returns the fewest pairs that Ratio can bound.
func MinPairs(confidence float64) int { return 0 }

// Detectable returns the smallest relative difference that these pairs could
// have shown with a power of 80 %: 0.05 is 5 %. It is 0 when that is not known.
func Detectable(base, other []float64, confidence float64) float64 { return 0 }

// SteinPairs returns how many pairs an interval of the given relative half width needs.
func SteinPairs(base, other []float64, halfWidth, confidence float64) int { return 0 }

// Outliers returns the indices of pairs whose log ratio is far from the others.
func Outliers(base, other []float64) []int { return nil }
