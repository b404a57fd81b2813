package analysis

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// onLine returns a trial between two pods of a line of hosts, counted from 1.
func onLine(block int, network, probe string, from, to int, values ...record.Value) record.Result {
	hosts := ""
	for h := from; h <= to; h++ {
		hosts += fmt.Sprintf(" h%d", h)
	}
	pair := fmt.Sprintf("pod%d-pod%d", from, to)
	return record.Result{Trial: fmt.Sprint(block, network, probe, pair), Block: block, Status: record.OK, Values: values,
		Config: map[string]string{"network": network, "probe": probe, "ends": pair}, Observed: map[string]string{"path.hosts": hosts[1:]}}
}

// times returns a response time with its histogram.
func times(t *testing.T, name record.Quantity, ns ...int64) record.Value {
	t.Helper()
	h := hdrhistogram.New(1, int64(60e9), 3)
	for _, v := range ns {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	return record.Value{Name: name, Unit: "s", Value: float64(h.ValueAtQuantile(50)) / 1e9, Hist: encodeHist(t, h)}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-3*b } // histogram precision

func TestChain(t *testing.T) {
	var rs []record.Result
	for b := 1; b <= 8; b++ {
		drift := int64(b) // the machine slows down; pairing cancels it
		for _, s := range []struct {
			from, to int
			ns       int64 // nine requests in ten
		}{{1, 2, 1000}, {2, 3, 2000}, {3, 4, 3000}, {1, 3, 1500}, {1, 4, 3000}} {
			v := drift * s.ns
			rs = append(rs, onLine(b, "n", "udp-rr", s.from, s.to,
				times(t, "rtt", v, v, v, v, v, v, v, v, v, 11*v), // the median is v, the mean 2v
				times(t, "rtt.path", v/10, v/10)))
		}
		for _, s := range []struct {
			from, to int
			rate     float64
		}{{1, 2, 100}, {1, 3, 50}, {1, 4, 40}} {
			rs = append(rs, onLine(b, "n", "tcp-stream", s.from, s.to, record.Value{Name: "throughput", Unit: "bit/s", Value: s.rate / float64(drift)}))
		}
	}
	p := New(rs, Options{Baseline: "n"})
	if p.Comparisons != 6 || len(p.Chains) != 3 {
		t.Fatalf("%d comparisons, %d chains", p.Comparisons, len(p.Chains))
	}
	for i, want := range []struct {
		metric     record.Quantity
		adds, mean bool
		ratios     []float64 // over 2 and 3 segments
	}{
		{"throughput", false, false, []float64{0.5, 0.4}},
		{"rtt", true, true, []float64{0.5, 0.5}},
		{"rtt.path", true, true, []float64{0.5, 0.5}},
	} {
		c := p.Chains[i]
		if c.Metric != want.metric || c.Adds != want.adds || c.Mean != want.mean || len(c.Spans) != 3 || len(c.Levels) != 0 {
			t.Fatalf("%+v, want %+v", c, want)
		}
		if s := c.Spans[0]; s.Segments != 1 || s.Ratio.N != 0 || s.Parts.N != 0 || s.Value.N != 8 {
			t.Errorf("%s over one segment: %+v", c.Metric, s)
		}
		for n, ratio := range want.ratios {
			if s := c.Spans[n+1]; s.Segments != n+2 || !near(s.Ratio.Center, ratio) || !s.Ratio.Bounded() || s.Same || s.Ratio.N != 8 {
				t.Errorf("%s over %d segments: %+v, want %g", c.Metric, s.Segments, s, ratio)
			}
		}
	}
	if s := p.Chains[1].Spans[2]; s.Hosts != "h1 h2 h3 h4" || !near(s.Parts.Center, 4.5*2*6e-6) || !near(s.Value.Center, 4.5*2*3e-6) {
		t.Errorf("medians over blocks of means: %+v", s)
	}
	if rs[0].Values[0].Hist = ""; New(rs, Options{}).Chains[1].Mean {
		t.Error("a trial without a histogram has no mean")
	}
	for _, r := range rs {
		if v := &r.Values[0]; v.Name == record.RTT {
			v.Name = record.RTTMean
		}
	}
	if c := New(rs, Options{}).Chains[1]; c.Metric != "rtt.mean" || !c.Mean {
		t.Errorf("a tool's own mean counts as a mean: %+v", c)
	}
}

// A chain needs all segments and one kind of ends. Too many disturbed blocks mark the ratio.
func TestNoChain(t *testing.T) {
	var rs []record.Result
	rtt := record.Value{Name: "rtt", Unit: "s", Value: 1e-6}
	for b := 1; b <= 6; b++ {
		rs = append(rs, onLine(b, "n", "ping", 1, 2, rtt), onLine(b, "n", "ping", 2, 3, rtt), onLine(b, "n", "ping", 1, 3, rtt))
	}
	for name, edit := range map[string]func(*record.Result){
		"a segment was not measured": func(r *record.Result) {
			if r.Config["ends"] == "pod2-pod3" {
				r.Status = record.Failed
			}
		},
		"a segment is another network's": func(r *record.Result) {
			if r.Config["ends"] == "pod2-pod3" {
				r.Config["network"] = "m"
			}
		},
		"a segment is between hosts": func(r *record.Result) {
			if r.Config["ends"] == "pod2-pod3" {
				r.Config["ends"] = "host2-host3"
			}
		},
		"another level": func(r *record.Result) {
			if r.Config["size"] = "64"; r.Config["ends"] == "pod2-pod3" {
				r.Config["size"] = "1400"
			}
		},
		"no line": func(r *record.Result) { delete(r.Observed, "path.hosts") },
	} {
		var edited []record.Result
		for _, r := range rs {
			x := onLine(r.Block, "n", "ping", 1, 2)
			x.Config["ends"], x.Observed["path.hosts"], x.Trial, x.Values = r.Config["ends"], r.Observed["path.hosts"], r.Trial, r.Values
			edit(&x)
			edited = append(edited, x)
		}
		if p := New(edited, Options{Baseline: "n"}); len(p.Chains) != 0 {
			t.Errorf("%s: %+v", name, p.Chains)
		}
	}
	p := New(rs, Options{Baseline: "n"})
	if len(p.Chains) != 1 || p.Chains[0].Mean || !p.Chains[0].Spans[1].Ratio.Bounded() {
		t.Fatalf("%+v", p.Chains)
	}
	for i := range rs {
		if rs[i].Block <= 3 && rs[i].Config["ends"] == "pod2-pod3" {
			rs[i].Status = record.Disturbed
		}
	}
	if s := New(rs, Options{Baseline: "n"}).Chains[0].Spans[1]; s.Busy == nil || s.Busy.Blocks != 3 || s.Ratio.N != 6 {
		t.Errorf("half of the blocks were disturbed, and all count: %+v", s)
	}
	slices.Reverse(rs)
	if len(New(rs, Options{}).Chains) != 1 {
		t.Error("it depends on the order of the results")
	}
}
