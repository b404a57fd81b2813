package explain

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// change alters the results of one network.
func change(rs []record.Result, network string, of func(*record.Result)) {
	for i := range rs {
		if rs[i].Config["network"] == network {
			of(&rs[i])
		}
	}
}

func said(r Premises, network string) string {
	var all []string
	for _, n := range New(r).Networks {
		if n.Name == network {
			for _, s := range append(n.Statements, n.More...) {
				all = append(all, s.Say().String())
			}
		}
	}
	return strings.Join(all, "\n")
}

// "No difference" and "the same limit" need intervals that would have shown one.
func TestNoiseIsNoSameness(t *testing.T) {
	for factor, want := range map[float64]string{0: "No difference from host shown: TCP", 1.5: "The run is too noisy to say whether it differs from host: TCP, UDP."} {
		rs, o := built("host", "macvlan")
		change(rs, "macvlan", func(r *record.Result) {
			r.Values[0].Value *= math.Exp(factor * math.Sin(2.4*float64(r.Block)))
			r.Values = r.Values[:1]
		})
		got := said(run(rs, o, full("host"), full("macvlan")), "macvlan")
		if !strings.HasPrefix(got, want) || strings.Contains(got, "the same limit") != (factor == 0) {
			t.Errorf("noise %g: %q, want %q", factor, got, want)
		}
	}
}

// A path that differs is the statement, whatever the run cannot resolve.
func TestPathOfResponses(t *testing.T) {
	rs, o := built("host", "macvlan")
	for i := range rs {
		r := &rs[i]
		path := 17e-6 * (1 + 0.01*float64(r.Block%5))
		if r.Config["network"] == "macvlan" {
			path *= 37
		}
		r.Values = append([]record.Value{{Name: record.RTT, Unit: "s", Value: 60e-6 * math.Exp(math.Sin(float64(i)))}}, record.Value{Name: record.RTTPath, Unit: "s", Value: path},
			record.Value{Name: record.RTTWake, Unit: "s", Value: 30e-6}, record.Value{Name: record.RTTApp, Unit: "s", Value: 12e-6})
	}
	got := said(run(rs, o), "macvlan")
	if !strings.Contains(got, "A response spends 642 µs on the path (median) instead of host's 17.3 µs, 37.0") || strings.Contains(got, "too noisy") || strings.Contains(got, "o difference") {
		t.Errorf("%q", got)
	}
}

// One number never stands for several cells, and sentences about different things never merge.
func TestClausesOfCells(t *testing.T) {
	of := func(probe string, micros float64, text string) finding.Finding {
		f := lost()
		f.Cells, f.Text, f.Test = cellsOf("lost", probe), lang.Text(text), nil
		f.Number = one("CPU time per packet", "s/packet", micros*1e-6, micros*1e-6)
		return f
	}
	rs, o := built("host", "lost")
	r := run(rs, o, of("tcp-stream", 5.5, "5.5 µs"), of("udp-stream", 19.5, "19.5 µs"))
	if own, _ := r.causes("lost"); len(own) != 1 || own[0].Text.String() != "5.5 µs (TCP); 19.5 µs (UDP)" {
		t.Errorf("%v", own)
	}
	none := of("udp-stream", 0, "carried")
	none.Number, none.Cells[0].Levels = nil, map[string]string{"size": "9000"}
	r.Findings = append(r.Findings, none)
	if own, _ := r.causes("lost"); len(own) != 1 || !strings.HasPrefix(own[0].Text.String(), "5.5 µs (TCP); 19.5 µs (UDP") {
		t.Errorf("one number is no range: %v", own)
	}
	r.Findings = r.Findings[:2]
	third := of("udp-stream", 7, "7 µs")
	third.Cells[0].Levels = map[string]string{"size": "64"}
	r.Findings = append(r.Findings, third)
	if own, _ := r.causes("lost"); len(own) != 1 || !strings.HasPrefix(own[0].Text.String(), "5.5 µs (TCP); CPU time per packet 7.00 µs to 19.5 µs (UDP") {
		t.Errorf("%v", own)
	}
	bare := of("udp-stream", 0, "carried")
	bare.Number, bare.Cells[0].Levels = nil, map[string]string{"size": "9000"}
	fourth := of("udp-stream", 9, "9 µs")
	fourth.Cells[0].Levels = map[string]string{"size": "128"}
	r.Findings = append(r.Findings, bare, fourth)
	if own, _ := r.causes("lost"); len(own) != 1 || strings.Contains(own[0].Text.String(), "9 µs") || !strings.HasSuffix(strings.SplitAfter(own[0].Text.String(), "carried")[0], "; carried") {
		t.Errorf("a clause without a number brings back all the others: %v", own)
	}
	a, b := full("host"), full("host")
	a.Cells, b.Cells = a.Cells[:1], b.Cells[1:]
	b.Subject = "iperf3 in h2"
	if own, _ := run(rs, o, a, b).causes("host"); len(own) != 2 {
		t.Errorf("threads of different programs are one statement: %v", own)
	}
}

// Trials without a value lead, and no network is left out.
func TestFailuresLead(t *testing.T) {
	fail := func(status record.Status, reason string) func(*record.Result) {
		return func(r *record.Result) {
			if r.Config["probe"] == "udp-stream" {
				r.Status, r.Reason, r.Values = status, reason, nil
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*record.Result)
		want   string
	}{
		{"refused", fail(record.Failed, "connection refused"), "12 of 24 trials have no value: 12 of 12 of UDP failed: connection refused."},
		{"invalid", fail(record.Invalid, "fragments"), "12 of 24 trials have no value: 12 of 12 of UDP are invalid: fragments."},
		{"all", func(r *record.Result) { r.Status, r.Reason = record.Failed, "no route to host" },
			"24 of 24 trials have no value: 12 of 12 of TCP and 12 of 12 of UDP failed: no route to host."},
	} {
		rs, o := built("host", "lost")
		change(rs, "lost", c.change)
		if got := said(run(rs, o, lost()), "lost"); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	rs, o := built("host", "lost")
	for i := range rs {
		rs[i].Status, rs[i].Reason, rs[i].Values = record.Failed, "stopped", nil
	}
	x := New(run(rs, o))
	if len(x.Networks) != 2 || len(x.Missing) != 1 || strings.Contains(x.Missing[0].String(), "older version") {
		t.Errorf("a run without a value: %+v", x)
	}
}

// What a datagram costs is not said of a network that loses them: its ends wait and poll.
func TestLossIsNoCost(t *testing.T) {
	for loss, want := range map[float64]bool{0: true, 0.01: true, 0.3: false} {
		rs, o := built("host", "macvlan")
		change(rs, "macvlan", func(r *record.Result) {
			for i, v := range r.Values {
				switch v.Name {
				case record.CPUOwnPerPacket:
					r.Values[i].Value *= 9
				}
			}
		})
		for i := range rs {
			lost := 0.0
			if rs[i].Config["network"] == "macvlan" {
				lost = loss
			}
			rs[i].Values = slices.DeleteFunc(rs[i].Values, func(v record.Value) bool { return v.Name.In(record.Sent, record.Delivered) })
			rs[i].Values = append(rs[i].Values, record.Value{Name: record.Sent, Unit: "packet/s", Value: 1e5}, record.Value{Name: record.Delivered, Unit: "packet/s", Value: 1e5 * (1 - lost)})
		}
		if got := said(run(rs, o), "macvlan"); strings.Contains(got, "A datagram costs") != want {
			t.Errorf("loss %g: %q", loss, got)
		}
	}
}

// CPU time explains a lower rate only as far as it grew: what is left is not explained.
func TestCostExplainsItsPart(t *testing.T) {
	const want = "The run does not show why it differs from host: TCP 0.08"
	for left, unexplained := range map[float64]bool{0.6: false, 0.08: true} {
		rs, o := built("host", "macvlan")
		change(rs, "macvlan", func(r *record.Result) {
			for i := range r.Values {
				switch r.Values[i].Name {
				case record.Throughput:
					r.Values[i].Value *= left
				case record.CPUOwnPerBit:
					r.Values[i].Value *= 1.7
				}
			}
		})
		got := said(run(rs, o), "macvlan")
		if !strings.Contains(got, "A KiB costs") || strings.Contains(got, want) != unexplained {
			t.Errorf("%g of the rate: %q", left, got)
		}
	}
}

// CPU time explains a longer response only as far as it grew.
func TestCostExplainsItsPartOfAResponse(t *testing.T) {
	for longer, unexplained := range map[float64]bool{2: false, 140: true} {
		rs, o := built("host", "macvlan")
		for i := range rs {
			r := &rs[i]
			r.Config["probe"] = "http-rr"
			own, rtt := 5e-5, 1e-4*(1+0.001*float64(i%7))
			if r.Config["network"] == "macvlan" {
				own, rtt = own*1.7, rtt*longer
			}
			r.Values = []record.Value{record.RTT.Whole().Value("s", rtt), record.CPUOwnPerTransaction.Whole().Value("s/transaction", own)}
		}
		got := said(run(rs, o), "macvlan")
		if !strings.Contains(got, "A request costs") || strings.Contains(got, "does not show why") != unexplained {
			t.Errorf("%g of the response time: %q", longer, got)
		}
	}
}
