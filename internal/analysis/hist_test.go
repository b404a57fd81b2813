package analysis

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

func checkCounts(t *testing.T, hist string) (own bool) {
	t.Helper()
	var c counts
	if !c.add(hist) {
		if slices.ContainsFunc(c.of, func(n int64) bool { return n != 0 }) {
			t.Fatalf("%q: a histogram that was refused was added", hist)
		}
		return false
	}
	h, err := hdrhistogram.Decode([]byte(hist))
	if err != nil {
		t.Fatalf("%q: accepted, but the library says: %v", hist, err)
	}
	all := hdrhistogram.New(1, LongestTime, 3)
	lost := all.Merge(h)
	got := hdrhistogram.Import(&hdrhistogram.Snapshot{LowestTrackableValue: 1, HighestTrackableValue: LongestTime, SignificantFigures: 3, Counts: c.of})
	if lost != 0 || !got.Equals(all) || got.TotalCount() != h.TotalCount() {
		t.Fatalf("%q: %d responses, the library counts %d and leaves out %d", hist, got.TotalCount(), all.TotalCount(), lost)
	}
	return true
}

func TestCounts(t *testing.T) {
	for name, ns := range map[string][]int64{"none": nil, "one": {1}, "many": {1, 2, 3, 900, 1e6, 1e6, 1e6 + 1e3, 1e9}} {
		if !checkCounts(t, histogram(t, ns...)) {
			t.Errorf("%s: left to the library", name)
		}
	}
	coarse := hdrhistogram.New(1, 1e9, 2)
	_ = coarse.RecordValue(500_000)
	if checkCounts(t, encodeHist(t, coarse)) {
		t.Error("two digits are another shape")
	}
}

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

// Percentiles come from the requests without stamps where a trial tells them apart.
func TestMergedPlain(t *testing.T) {
	rs := drifting(5)
	for i := range rs {
		rs[i].Values[0].Hist = histogram(t, 100, 9000)
		if i >= 4 { // an older version measured the others
			rs[i].Values = append(rs[i].Values, record.Value{Name: plainValue, Unit: "s", Hist: histogram(t, 100)})
		}
	}
	for _, r := range New(rs, Options{}).Tables[0].Rows {
		if n := r.Hist.TotalCount(); n != 2*2+3 {
			t.Errorf("%s: %d responses", r.Network, n)
		}
	}
}

func FuzzCounts(f *testing.F) {
	h := hdrhistogram.New(1, 1e9, 3)
	for _, v := range []int64{1, 5, 1e5, 1e5, 1e8} {
		_ = h.RecordValues(v, v)
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(b))
	f.Add(strings.Repeat("A", 20))
	raw, _ := base64.StdEncoding.DecodeString(string(b))
	raw[20] ^= 1
	f.Add(base64.StdEncoding.EncodeToString(raw))
	f.Fuzz(func(t *testing.T, hist string) { checkCounts(t, hist) })
}
