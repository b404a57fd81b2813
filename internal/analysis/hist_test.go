package analysis

import (
	"encoding/base64"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

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
	if h := r[i].Hist; h.TotalCount() != 2 || h.Min() != 100 || h.Max() < 495_000 || h.Max() > 505_000 || r[i].TooLong != 7 || len(r[i].Unreadable) != 1 {
		t.Errorf("%d responses from %d to %d, %d too long, %q unreadable", h.TotalCount(), h.Min(), h.Max(), r[i].TooLong, r[i].Unreadable)
	}
}

// Percentiles come from the requests without stamps where a trial tells them apart.
func TestMergedPlain(t *testing.T) {
	rs := drifting(5)
	for i := range rs {
		rs[i].Values[0].Hist = histogram(t, 100, 9000)
		if i >= 4 { // an older version measured the others
			rs[i].Values = append(rs[i].Values, record.Value{Name: record.RTTPlain, Unit: "s", Hist: histogram(t, 100)})
		}
	}
	for _, r := range New(rs, Options{}).Tables[0].Rows {
		if n := r.Hist.TotalCount(); n != 2*2+3 {
			t.Errorf("%s: %d responses", r.Network, n)
		}
	}
}

// A trimmed result has the histograms that percentiles and chains of hosts come from.
func TestTrim(t *testing.T) {
	for _, c := range []struct{ ends, want string }{{"", "  plain "}, {"h1-h2", "metric path plain "}} {
		r := record.Result{Config: map[string]string{ends: c.ends}, Values: []record.Value{{Name: record.RTT, Hist: "metric"},
			{Name: record.RTTPath, Hist: "path"}, {Name: record.RTTPlain, Hist: "plain"}, {Name: record.RTTWake, Hist: "wake"}}}
		Trim(&r)
		if v := r.Values; v[0].Hist+" "+v[1].Hist+" "+v[2].Hist+" "+v[3].Hist != c.want {
			t.Errorf("ends %q: %+v", c.ends, v)
		}
	}
	r := record.Result{Values: []record.Value{{Name: record.Throughput}, {Name: record.RTT, Hist: "first"}, {Name: record.RTTWake, Hist: "other"}}}
	Trim(&r)
	if v := r.Values; v[1].Hist != "first" || v[2].Hist != "" {
		t.Errorf("%+v", v)
	}
}

// The interval of a percentile covers the one that more blocks would show, for independent and
// correlated blocks, and is far wider where few blocks hold the tail.
func TestPercentileIntervals(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const blocks, requests, runs = 24, 400, 150
	rng := rand.New(rand.NewPCG(3, 4))
	for _, rho := range []float64{0, 0.5} {
		covered := 0
		for range runs {
			r, level := Row{}, rng.NormFloat64()
			all, bs := hdrhistogram.New(1, LongestTime, 3), []block(nil)
			for b := range blocks {
				h := hdrhistogram.NewPacked(1, 1e6, 3)
				for range requests { // log-normal, with a level of its own for each block
					_ = h.RecordValue(int64(20_000 * math.Exp(0.1*level+0.3*rng.NormFloat64())))
				}
				level = rho*level + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				h.MergeInto(all)
				bs = append(bs, block{b, bucketsOf(h)})
			}
			r.Hist = all
			r.tails(bs)
			truth := 20_000e-9 * math.Exp(math.Hypot(0.1, 0.3)*2.3263)
			i := r.PercentileInterval(0.99)
			if i.Contains(truth) {
				covered++
			}
			if !i.Contains(i.Center) || r.PercentileInterval(0.999).N != 0 { // 9.6 responses exceed it
				t.Fatalf("%+v", r.Percentiles)
			}
		}
		t.Logf("correlation %g: %d of %d", rho, covered, runs)
		if share := float64(covered) / runs; share < 0.88 || share == 1 {
			t.Errorf("correlation %g: %.3f of the intervals cover p99", rho, share)
		}
	}
}

func TestPercentileOfFewBlocks(t *testing.T) {
	var rs []record.Result
	for b := range 12 {
		r := result(b+1, "host", "udp-rr", 1)
		ns := slices.Repeat([]int64{10_000}, 1000)
		if b == 3 || b == 8 { // hold the tail
			copy(ns, slices.Repeat([]int64{1_000_000}, 150))
		}
		r.Values[0].Hist = histogram(t, ns...)
		rs = append(rs, r)
	}
	r := row(t, New(rs, Options{}), 0, "host")
	if i := r.PercentileInterval(0.99); i.Center < 1e-3 || !i.Bounded() || i.Lo > 11e-6 || i.N != 12 {
		t.Errorf("%+v", i)
	}
	if i := row(t, New(rs[:5], Options{}), 0, "host").PercentileInterval(0.99); i.N != 5 || i.Bounded() {
		t.Errorf("five blocks: %+v", i)
	}
}

func bucketsOf(h *hdrhistogram.PackedHistogram) (all []bucket) {
	for time, count := range h.ForEachBucket {
		all = append(all, bucket{time, count})
	}
	return all
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
	for _, other := range []*hdrhistogram.Histogram{hdrhistogram.New(1000, 1e9, 5), hdrhistogram.New(1, math.MaxInt64, 1)} {
		_ = other.RecordValues(2047, 1<<40)
		_ = other.RecordValue(math.MaxInt64)
		f.Add(encodeHist(f, other))
	}
	f.Add(strings.Repeat("A", 20))
	raw, _ := base64.StdEncoding.DecodeString(string(b))
	raw[20] ^= 1
	f.Add(base64.StdEncoding.EncodeToString(raw))
	var d decoder
	f.Fuzz(func(t *testing.T, hist string) {
		packed, err := hdrhistogram.DecodePacked([]byte(hist))
		got, mine := d.decode(hist)
		if (err == nil) != (mine == nil) || err == nil && !slices.Equal(got, bucketsOf(packed)) {
			t.Errorf("%q: %v, %v; the library: %v, %v", hist, got, mine, packed, err)
		}
		s := Sample{ok: []*record.Result{{Block: 1, Values: []record.Value{{Name: "rtt", Unit: "s", Hist: hist}}}}}
		all, blocks, unreadable, _ := s.merged()
		if known := hist != "" && len(unreadable) == 0; (all != nil) != known || (len(blocks) == 1) != known {
			t.Errorf("%q: a histogram %v, %d blocks, %q unreadable", hist, all != nil, len(blocks), unreadable)
		}
		r := Row{Hist: all}
		r.tails(blocks)
	})
}
