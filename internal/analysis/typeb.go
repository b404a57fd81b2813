package analysis

import "math"

// A typeBSource gives the standard uncertainty of one value that repetition cannot show, because it is
// the same in every repetition or is hidden by rounding. Each resolution is the width of a rectangular
// distribution, whose standard deviation is width/√12 (GUM, JCGM 100:2008, 4.3.7). It is an upper bound:
// the part that varies from trial to trial is in type A too.
type typeBSource struct {
	step   float64 // resolution of the value, in its unit
	count  float64 // units of work that can fall on either side of each edge of the window
	cpu    float64 // s of CPU time that can fall on either side of each edge, of one busy CPU
	share  float64 // resolution relative to the value, such as a histogram's
	source string
}

// typeBs maps units to their sources. Errors of the clock's frequency (an NTP slew is at most 500 ppm,
// adjtimex(2)) are missing: they are the same for both sides of a ratio and cancel.
var typeBs = map[string]typeBSource{
	// The engine reads a stream in pieces of up to 128 KiB, and a piece counts when it has been read.
	"bit/s":    {count: 8 * 128 << 10, source: "window edges: one read of 128 KiB each"},
	"packet/s": {count: 1, source: "window edges: one datagram each"},
	"1/s":      {count: 1, source: "window edges: one transaction each"},
	// CLOCK_MONOTONIC counts ns, but a read of it takes 20 to 60 ns (vdso(7)); histograms keep three
	// significant digits (HdrHistogram): a bucket is at most 1/1000 of its value wide.
	"s": {step: 60e-9, share: 1e-3, source: "clock 60 ns, histogram of 3 digits"},
	// A tick is 1/USER_HZ (proc_stat(5)).
	"s/bit":         {cpu: 0.010, source: ticks},
	"s/packet":      {cpu: 0.010, source: ticks},
	"s/transaction": {cpu: 0.010, source: ticks},
	"core":          {count: 0.010, source: ticks},
	// 0, because a share of counts is exact.
	"1": {source: "none: counts are exact"},
}

const (
	ticks = "window edges: one tick of 10 ms each"
	// shortWindow stands for an unknown window: the shortest of the shipped studies, in s.
	shortWindow = 0.050
)

// typeB returns the standard uncertainty of a value relative to it, 0 if none is known. window is the
// length of the measurement in s, 0 if unknown.
func typeB(unit string, value, window float64) float64 {
	if !(value > 0) {
		return 0
	}
	if !(window > 0) {
		window = shortWindow
	}
	b := typeBs[unit]
	edges := math.Sqrt2 * (b.count/value + b.cpu) / window
	return math.Hypot(math.Hypot(b.step/value, b.share), edges) / math.Sqrt(12)
}
