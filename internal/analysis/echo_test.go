package analysis

import (
	"math"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// The line of ping is that of all requests, not the median of those of the trials.
func TestEcho(t *testing.T) {
	var rs []record.Result
	var all []float64
	for block := range 5 {
		h := hdrhistogram.New(1, LongestTime, 3)
		for i := range 20 {
			us := 40 + 10*float64(block) + float64(i)
			all = append(all, us*1e-6)
			if err := h.RecordValue(int64(us * 1e3)); err != nil {
				t.Fatal(err)
			}
		}
		hist, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		x := result(block, "host", "ping", 0)
		x.Values = []record.Value{{Name: "rtt", Unit: "s", Value: 5e-5, Hist: string(hist)}, {Name: "rtt.mdev", Unit: "s", Value: 6e-6}}
		rs = append(rs, x)
	}
	sum, squares := 0.0, 0.0
	for _, s := range all {
		sum, squares = sum+s, squares+s*s
	}
	n := float64(len(all))
	mean, mdev := sum/n, math.Sqrt(squares/n-sum/n*sum/n)
	e := row(t, New(rs, Options{}), 0, "host").Echo
	if e == nil || e.N != 100 || math.Abs(e.Min/40e-6-1) > 1e-3 || math.Abs(e.Max/99e-6-1) > 1e-3 || math.Abs(e.Mean/mean-1) > 1e-3 || math.Abs(e.Mdev/mdev-1) > 2e-3 {
		t.Errorf("%+v, want 40 to 99 µs, mean %g, mdev %g", e, mean, mdev)
	}
	if e := row(t, New(drifting(3), Options{}), 0, "host").Echo; e != nil {
		t.Errorf("a stream has %+v", e)
	}
}
