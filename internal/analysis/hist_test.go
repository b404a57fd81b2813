package analysis

import (
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms of every shape are merged; what does not fit is counted.
func TestMerged(t *testing.T) {
	coarse, long := hdrhistogram.New(1, 1e9, 2), hdrhistogram.New(1, 1e14, 3)
	_ = coarse.RecordValue(500_000)
	_ = long.RecordValues(1e13, 7)
	rs := drifting(5)
	for i, hist := range []string{histogram(t, 100), encodeHist(t, coarse), encodeHist(t, long), "damaged"} {
		rs[2*i].Values[0].Hist = hist
	}
	r := New(rs, Options{}).Tables[0].Rows
	i := slices.IndexFunc(r, func(r Row) bool { return r.Hist != nil })
	if h := r[i].Hist; h.TotalCount() != 2 || h.Min() != 100 || h.Max() < 495_000 || h.Max() > 505_000 || r[i].TooLong != 7 || r[i].Unreadable != 1 {
		t.Errorf("%d responses from %d to %d, %d too long, %d unreadable", h.TotalCount(), h.Min(), h.Max(), r[i].TooLong, r[i].Unreadable)
	}
}
