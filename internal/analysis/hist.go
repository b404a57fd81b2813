package analysis

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// LongestTime is the largest response time that a merged histogram holds, ns.
const LongestTime = int64(3600e9)

// beyond is how many responses must be slower than a percentile for it to be more
// than the story of one of them.
const beyond = 10

// Percentile returns the response time in seconds that a share p in 0..1 of all
// responses of the ok trials did not exceed. It reports false when there is no
// histogram, or when fewer than ten responses lie beyond p.
func (r Row) Percentile(p float64) (float64, bool) {
	if r.Hist == nil || float64(r.Hist.TotalCount())*(1-p) < beyond-1e-6 {
		return 0, false
	}
	return float64(r.Hist.ValueAtQuantile(100*p)) / 1e9, true
}

// merged returns the first histogram of every ok trial in one, and what it lacks:
// trials whose histogram is damaged, and response times above LongestTime. It decodes
// them packed, which takes a quarter of the time that the counts of each would take.
func (s *Sample) merged() (all *hdrhistogram.Histogram, unreadable int, tooLong int64) {
	for _, t := range s.ok {
		i := slices.IndexFunc(t.Values, func(v record.Value) bool { return v.Hist != "" })
		if i < 0 {
			continue
		}
		h, err := hdrhistogram.DecodePacked([]byte(t.Values[i].Hist))
		if err != nil {
			unreadable++
			continue
		}
		if all == nil {
			all = hdrhistogram.New(1, LongestTime, 3)
		}
		tooLong += h.MergeInto(all)
	}
	return all, unreadable, tooLong
}
