package analysis

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// result returns an ok trial with one value; levels are pairs of factor and level.
func result(block int, network, probe string, value float64, levels ...string) record.Result {
	r := record.Result{
		Trial: network + probe + strings.Join(levels, "") + string(rune('a'+block)), Block: block, Status: record.OK,
		Config: map[string]string{Network: network, Probe: probe},
		Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: value}},
	}
	for i := 0; i < len(levels); i += 2 {
		r.Config[levels[i]] = levels[i+1]
	}
	return r
}

// drifting returns host and bridge at 1:0.8 on a machine whose speed changes between blocks.
func drifting(blocks int) []record.Result {
	var out []record.Result
	for b := 1; b <= blocks; b++ {
		speed := 1e9 * float64(b)
		out = append(out, result(b, "bridge", "tcp-stream", 0.8*speed*(1+0.001*float64(b%3))), result(b, "host", "tcp-stream", speed))
	}
	return out
}

func row(t *testing.T, p *Run, table int, network string) Row {
	t.Helper()
	for _, r := range p.Tables[table].Rows {
		if r.Network == network {
			return r
		}
	}
	t.Fatalf("table %d has no row %q", table, network)
	return Row{}
}

func TestRatioIsPairedByBlock(t *testing.T) {
	p := New(drifting(12), Options{Baseline: "host"})
	r := row(t, p, 0, "bridge")
	if !r.Ratio.Bounded() || r.Ratio.Lo < 0.79 || r.Ratio.Hi > 0.81 {
		t.Errorf("ratio %+v: the drift between blocks is not canceled", r.Ratio)
	}
	if r.Same || r.Ratio.N != 12 {
		t.Errorf("Same %v, N %d", r.Same, r.Ratio.N)
	}
	if h := row(t, p, 0, "host"); !h.Baseline || h.Ratio.N != 0 || p.Networks[0] != "host" {
		t.Errorf("baseline row %+v, order %v", h, p.Networks)
	}
}

// The network's part of a response time has its own ratio, which counts as one more comparison.
func TestPathRatio(t *testing.T) {
	results := drifting(12)
	plain := New(results, Options{Baseline: "host"})
	for i := range results {
		x := &results[i]
		path := 1e-6 * float64(x.Block)
		if x.Config["network"] == "bridge" {
			path *= 7
		}
		x.Values = append(x.Values, record.Value{Name: "rtt.path", Unit: "s", Value: path},
			record.Value{Name: "rtt.wake", Unit: "s", Value: 4e-5}, record.Value{Name: "rtt.app", Unit: "s", Value: 5e-6})
	}
	p := New(results, Options{Baseline: "host"})
	r := row(t, p, 0, "bridge")
	if math.Abs(r.Path.Center-7) > 1e-9 || r.Path.N != 12 || p.Comparisons != 2*plain.Comparisons || p.Each <= plain.Each {
		t.Errorf("path %+v; %d comparisons, were %d", r.Path, p.Comparisons, plain.Comparisons)
	}
	if s, ok := r.Split(); !ok || s.Wake != 4e-5 || s.App != 5e-6 || s.Path != 6.5*7e-6 {
		t.Errorf("split %+v, %v", s, ok)
	}
	if h := row(t, p, 0, "host"); h.Path.N != 0 {
		t.Errorf("the baseline has a ratio: %+v", h.Path)
	}
	if _, ok := row(t, plain, 0, "bridge").Split(); ok {
		t.Error("a split without parts")
	}
}

func TestABlockWithoutAnOKPairIsNoPair(t *testing.T) {
	rs := drifting(12)
	rs[0].Status, rs[0].Reason = record.Invalid, "MTU"
	rs[3].Status = record.Failed
	rs = append(rs, record.Result{Trial: "z", Block: 13, Status: record.Skipped, Config: map[string]string{Network: "bridge", Probe: "tcp-stream"}})
	r := row(t, New(rs, Options{Baseline: "host"}), 0, "bridge")
	if r.Ratio.N != 10 || r.OK != 11 || r.Invalid != 1 || r.Skipped != 1 || r.Trials() != 13 || len(r.Points) != 13 {
		t.Errorf("pairs %d, ok %d, invalid %d, skipped %d, points %d", r.Ratio.N, r.OK, r.Invalid, r.Skipped, len(r.Points))
	}
	if p := r.Points[0]; p.Status != record.Invalid || !p.Has || p.Reason != "MTU" {
		t.Errorf("the invalid trial is shown as %+v", p)
	}
}

func TestTrialsOfOneBlockAreOneSample(t *testing.T) {
	rs := append(drifting(3), result(1, "bridge", "tcp-stream", 1.6e9), result(1, "bridge", "tcp-stream", 1.6e9))
	if r := row(t, New(rs, Options{Baseline: "host"}), 0, "bridge"); r.Ratio.N != 3 || r.Value.N != 3 || r.OK != 5 {
		t.Errorf("pairs %d, values %d, ok %d; want 3, 3, 5", r.Ratio.N, r.Value.N, r.OK)
	}
}

func TestConfidenceIsShared(t *testing.T) {
	rs := drifting(12)
	for _, n := range []string{"a", "b", "c"} {
		for b := 1; b <= 12; b++ {
			rs = append(rs, result(b, n, "tcp-stream", 1e9), result(b, n, "udp-stream", 1e9), result(b, "host", "udp-stream", 1e9))
		}
	}
	p := New(rs, Options{Baseline: "host"})
	if p.Comparisons != 7 || p.Each != stat.Adjust(0.95, 7) || row(t, p, 0, "a").Ratio.Confidence != p.Each {
		t.Errorf("%d comparisons at %v, the first at %v", p.Comparisons, p.Each, row(t, p, 0, "a").Ratio.Confidence)
	}
}

func TestTables(t *testing.T) {
	rs := []record.Result{
		result(1, "n10", "udp-stream", 1, "size", "9k", "mtu", "1500"), result(1, "n9", "udp-stream", 1, "size", "9k", "mtu", "1500"),
		result(1, "host", "udp-stream", 1, "size", "64", "mtu", "1500"), result(1, "n9", "udp-stream", 1, "size", "1400", "mtu", "1500"),
		result(1, "host", "ping", 1), result(1, "host", "zz-tool", 1), result(1, "host", "tcp-stream", 1, "mtu", "1500"),
	}
	p := New(rs, Options{Baseline: "host", Probes: []string{"tcp-stream", "udp-stream", "ping"}})
	var got []string
	for _, tb := range p.Tables {
		got = append(got, tb.Probe+" "+tb.Levels["size"])
		if _, ok := tb.Levels["mtu"]; ok {
			t.Errorf("%s: mtu is a level, but never varies", tb.Probe)
		}
	}
	if want := "tcp-stream ,udp-stream 64,udp-stream 1400,udp-stream 9k,ping ,zz-tool "; strings.Join(got, ",") != want {
		t.Errorf("tables %s, want %s", strings.Join(got, ","), want)
	}
	if p.Tables[3].Config["mtu"] != "1500" || !slices.Equal(p.Networks, []string{"host", "n9", "n10"}) {
		t.Errorf("asked %v, networks %v", p.Tables[3].Config, p.Networks)
	}
	p = New(rs, Options{Baseline: "host", Networks: []string{"n10"}, Probes: []string{"zz-tool"}})
	if p.Tables[0].Probe != "zz-tool" || !slices.Equal(p.Networks, []string{"host", "n10", "n9"}) {
		t.Errorf("the given order is not kept: %s, %v", p.Tables[0].Probe, p.Networks)
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOrderDoesNotMatter(t *testing.T) {
	rs := append(drifting(12), result(1, "x", "udp-rr", 3), result(2, "x", "udp-rr", 4))
	a := New(rs, Options{Baseline: "host"})
	slices.Reverse(rs)
	if b := New(rs, Options{Baseline: "host"}); !bytes.Equal(encoded(t, a), encoded(t, b)) {
		t.Error("results in another order give another run")
	}
}

func TestOutlierIsNamed(t *testing.T) {
	rs := drifting(12)
	rs[9].Values[0].Value *= 0.3 // host, block 5
	r := row(t, New(rs, Options{Baseline: "host"}), 0, "bridge")
	if len(r.Far) != 1 || r.Far[0].Block != 5 || math.Abs(r.Far[0].Ratio-r.Ratio.Center/0.3) > 0.1 || r.Shared != 12 {
		t.Errorf("far %v of %d", r.Far, r.Shared)
	}
}

func histogram(t *testing.T, ns ...int64) string {
	t.Helper()
	h := hdrhistogram.New(1, 1e9, 3)
	for _, v := range ns {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	return encodeHist(t, h)
}

func encodeHist(t testing.TB, h *hdrhistogram.Histogram) string {
	t.Helper()
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPercentilesAreMerged(t *testing.T) {
	// 990 fast responses in one trial and 10 slow ones in another: the mean of the two medians
	// would be 505 µs.
	a, b := result(1, "host", "udp-rr", 1), result(2, "host", "udp-rr", 1)
	a.Values[0].Hist = histogram(t, slices.Repeat([]int64{10_000}, 990)...)
	b.Values[0].Hist = histogram(t, slices.Repeat([]int64{1_000_000}, 10)...)
	bad, failed := result(3, "host", "udp-rr", 1), result(4, "host", "udp-rr", 1)
	bad.Values[0].Hist = "HISTnonsense"
	failed.Status, failed.Values[0].Hist = record.Failed, histogram(t, slices.Repeat([]int64{5_000_000}, 5000)...)
	r := row(t, New([]record.Result{a, b, bad, failed}, Options{}), 0, "host")
	if v, ok := r.Percentile(0.5); !ok || math.Abs(v-10e-6) > 1e-7 {
		t.Errorf("median %v, %v; want 10 µs", v, ok)
	}
	if v, ok := r.Percentile(0.99); !ok || v > 1e-3*1.01 {
		t.Errorf("p99 %v, %v", v, ok)
	}
	if v, ok := r.Percentile(0.999); ok {
		t.Errorf("p99.9 of 1000 responses is %v: one response is not a percentile", v)
	}
	if len(r.Unreadable) != 1 || r.TooLong != 0 {
		t.Errorf("%q have unreadable histograms, %d times too long", r.Unreadable, r.TooLong)
	}
}

func TestCost(t *testing.T) {
	r := result(1, "host", "udp-stream", 1)
	for name, v := range map[record.Quantity]float64{"cpu.per.packet": 9, "cpu.per.bit": 9, "cpu.busy": 0.8, "packet.rate": 4e5, "delivered": 4e5, "cpu.user": 0.2, "cpu.system": 0.6, "cpu.softirq": -0.01, "cpu.steal": 5} {
		r.Values = append(r.Values, record.Value{Name: name, Unit: "s/packet", Value: v})
	}
	c, ok := row(t, New([]record.Result{r}, Options{}), 0, "host").Cost()
	if !ok || c.Name != "cpu.per.packet" || c.Total != 2e-6 {
		t.Fatalf("cost %+v, %v", c, ok)
	}
	sum := 0.0
	for _, m := range c.Modes {
		if m.Share < 0 {
			t.Errorf("%s: share %v", m.Name, m.Share)
		}
		sum += m.Share
	}
	if math.Abs(sum-1) > 1e-12 || math.Abs(c.Modes[0].Share-0.25) > 1e-12 {
		t.Errorf("shares %+v", c.Modes)
	}
	if _, ok := (Row{}).Cost(); ok {
		t.Error("a row without CPU values has a cost")
	}
}

func TestWire(t *testing.T) {
	for s, want := range map[string]float64{"9.4e9": 9.4e9, "": 0, "NaN": 0, "Inf": 0, "fast": 0} {
		if got := wire(map[string]string{"ceiling": s}).Ceiling; got != want {
			t.Errorf("ceiling %q is %v, want %v", s, got, want)
		}
	}
}

func TestNatural(t *testing.T) {
	in := []string{"h10", "h2", "h02", "", "a", "9", "10", "1400", "b1c10", "b1c9"}
	slices.SortFunc(in, Natural)
	if want := []string{"", "9", "10", "1400", "a", "b1c9", "b1c10", "h02", "h2", "h10"}; !slices.Equal(in, want) {
		t.Errorf("%q, want %q", in, want)
	}
}

func FuzzNew(f *testing.F) {
	for _, r := range drifting(2) {
		r.Values[0].Hist = "HISTFAAAAA"
		b, _ := json.Marshal(r)
		f.Add(string(b), "host")
	}
	f.Fuzz(func(t *testing.T, line, baseline string) {
		var r record.Result
		if json.Unmarshal([]byte(line), &r) != nil {
			return
		}
		other := r
		other.Config = map[string]string{Network: baseline, Probe: r.Config[Probe]}
		p := New([]record.Result{r, other, r}, Options{Baseline: baseline})
		p.Sweeps(3)
		if _, err := json.Marshal(p); err != nil { // refuses NaN and Inf
			t.Error(err)
		}
		if Compare([]*Run{p}, []*Run{p, p}, 0).Worse() {
			t.Error("a run is worse than itself")
		}
	})
}
