package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// asking returns a trial of a closed loop that stops at its first loss, as a window shorter than the timeout
// makes it: the requests of a geometric distribution, the last of them lost.
func asking(r *rand.Rand, block int, drop float64, requests bool) record.Result {
	n := 1.0
	for n < 4000 && r.Float64() >= drop {
		n++
	}
	x := result(block, "host", "udp-rr", 0)
	x.Values = []record.Value{{Name: "rtt", Unit: "s", Value: 50e-6}, {Name: "transactions", Unit: "1/s", Value: (n - 1) / 0.5},
		{Name: "loss", Unit: "1", Value: 1 / n}, {Name: "window", Unit: "s", Value: 0.5}}
	if requests {
		x.Values = append(x.Values, record.Value{Name: "requests", Unit: "1", Value: n})
	}
	return x
}

// Loss is the share of all requests, however few of them a trial with a loss asked.
func TestLossIsOfAll(t *testing.T) {
	for _, requests := range []bool{true, false} { // results of older versions do not store them
		r := rand.New(rand.NewPCG(3, 4))
		var rs []record.Result
		for block := range 400 {
			rs = append(rs, asking(r, block, 0.03, requests))
		}
		host := row(t, New(rs, Options{}), 0, "host")
		mean, _ := host.Get("loss")
		loss, ok := host.Loss()
		// The standard error of a share of 13,333 independent requests is 0.15 %.
		if !ok || loss < 0.025 || loss > 0.035 || !host.Lost.Contains(0.03) || mean.Mean < 0.09 {
			t.Errorf("loss %v %+v of a path that loses 3 %%; the mean of the shares is %.3f", loss, host.Lost, mean.Mean)
		}
	}
}

func TestLossOfStreams(t *testing.T) {
	var rs []record.Result
	for block := range 12 {
		x := result(block, "host", "udp-stream", 1e9)
		sent := 1000 + 100*float64(block)
		x.Values = append(x.Values, record.Value{Name: "sent", Unit: "packet/s", Value: sent},
			record.Value{Name: "delivered", Unit: "packet/s", Value: sent - 10*float64(block)}, record.Value{Name: "loss", Unit: "1", Value: 0.9})
		rs = append(rs, x)
	}
	host := row(t, New(rs, Options{}), 0, "host")
	if want := 660. / (12000 + 6600); math.Abs(host.Lost.Center-want) > 1e-12 || !host.Lost.Bounded() {
		t.Errorf("%+v, want %g", host.Lost, want)
	}
	if host := row(t, New(drifting(8), Options{}), 0, "host"); host.Lost.N != 0 {
		t.Errorf("TCP lost %+v", host.Lost)
	}
}

// stalling sets the throughput of a network to 0 in some blocks.
func stalling(rs []record.Result, network string, blocks ...int) []record.Result {
	for i := range rs {
		for _, b := range blocks {
			if rs[i].Block == b && rs[i].Config["network"] == network {
				rs[i].Values[0].Value = 0
			}
		}
	}
	return rs
}

// A network that stalls in a tenth of the trials is not flattered: the zeros count in the ratio and in its
// interval, the row counts them, and the ratio of means falls by a tenth.
func TestStallsCount(t *testing.T) {
	without := row(t, New(drifting(30), Options{Baseline: "host"}), 0, "bridge")
	if without.Stalled != nil || without.MeanRatio.N != 0 {
		t.Errorf("without a stall: %v, %+v", without.Stalled, without.MeanRatio)
	}
	r := row(t, New(stalling(drifting(30), "bridge", 5, 15, 25), Options{Baseline: "host"}), 0, "bridge")
	if r.Ratio.N != 30 || r.Shared != 30 || r.Stalled == nil || *r.Stalled != (Stalls{3, 30}) || r.Ratio.Center > without.Ratio.Center || r.Ratio.Lo >= without.Ratio.Lo {
		t.Errorf("stalled %v, %+v; without %+v", r.Stalled, r.Ratio, without.Ratio)
	}
	if m := r.MeanRatio; !m.Bounded() || m.Center < 0.70 || m.Center > 0.74 || !m.Contains(0.72) {
		t.Errorf("ratio of means %+v, want 0.9 of 0.8", m)
	}
	for _, f := range r.Far {
		if f.Ratio == 0 {
			t.Errorf("a stall is far from the others: %+v", r.Far)
		}
	}
	half := row(t, New(stalling(drifting(30), "bridge", 1, 3, 5, 7, 9, 11, 13, 15, 17, 19), Options{Baseline: "host"}), 0, "bridge")
	if half.Ratio.Center != 0 || half.Ratio.Lo != 0 || !half.Ratio.Bounded() || half.Same {
		t.Errorf("a third of the trials stalled: %+v", half.Ratio)
	}
	none := row(t, New(stalling(drifting(8), "host", 1, 2, 3, 4, 5, 6, 7, 8), Options{Baseline: "host"}), 0, "bridge")
	if none.Ratio.N != 0 || !strings.Contains(lang.Join(none.Ratio.Warnings, ";").String(), "no ratio: 8 of 8 ratios are infinite") {
		t.Errorf("a baseline that carries nothing: %+v", none.Ratio)
	}
	for _, x := range []Row{r, half, none} {
		if _, err := json.Marshal(x); err != nil {
			t.Error(err)
		}
	}
}

// A trial without any reply is not a fast trial.
func TestNoReplyIsSlow(t *testing.T) {
	var rs []record.Result
	for block := range 30 {
		for _, n := range []string{"host", "bridge"} {
			x := result(block, n, "udp-rr", 0)
			x.Values = []record.Value{{Name: "rtt", Unit: "s", Value: 50e-6 * (1 + 0.01*float64(block%5))},
				{Name: "transactions", Unit: "1/s", Value: 2e4}, {Name: "loss", Unit: "1", Value: 0}, {Name: "requests", Unit: "1", Value: 4000}}
			if n == "bridge" {
				x.Values[0].Value *= 1.1 + 0.001*float64(block%3)
				if block%10 == 3 {
					x.Values = []record.Value{{Name: "transactions", Unit: "1/s"}, {Name: "loss", Unit: "1", Value: 1}, {Name: "requests", Unit: "1", Value: 5}}
				}
			}
			rs = append(rs, x)
		}
	}
	p := New(rs, Options{Baseline: "host"})
	b := row(t, p, 0, "bridge")
	if p.Tables[0].Metric != "rtt" || b.Stalled == nil || *b.Stalled != (Stalls{3, 30}) || b.Unlike != 0 || b.Value.N != 30 || b.Ratio.N != 30 || b.MeanRatio.N != 0 {
		t.Errorf("metric %s, stalled %v, unlike %d, value %+v, ratio %+v", p.Tables[0].Metric, b.Stalled, b.Unlike, b.Value, b.Ratio)
	}
	for i := range rs {
		if b, ok := rs[i].Get("loss"); ok && b.Value == 1 {
			rs[i].Status = record.Failed
		}
	}
	if fewer := row(t, New(rs, Options{Baseline: "host"}), 0, "bridge"); b.Ratio.Hi <= fewer.Ratio.Hi || b.Ratio.Center < fewer.Ratio.Center {
		t.Errorf("ratio %+v, without the trials %+v", b.Ratio, fewer.Ratio)
	}
	if want := 15. / (27*4000 + 15); math.Abs(b.Lost.Center/want-1) > 1e-9 {
		t.Errorf("lost %+v, want %g", b.Lost, want)
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
	if s := fmt.Sprint(b.Values); strings.Contains(s, "Inf") || strings.Contains(s, "NaN") {
		t.Errorf("values %s", s)
	}
}
