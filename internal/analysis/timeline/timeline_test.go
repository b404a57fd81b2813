package timeline

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// watched returns the results of blocks trials of one cell, and what they sampled: a thread of 0.9 CPU, a lesser
// one of the same name, and 1000 bytes per 100 ms, from the begin of a window of 2 s after 300 ms. Samples
// are 100 ms apart and begin shift ns before their place.
func watched(blocks int, shift int64) ([]record.Result, map[string][]sample.Series) {
	var rs []record.Result
	inside := map[string][]sample.Series{}
	for b := 1; b <= blocks; b++ {
		r := record.Result{Trial: fmt.Sprintf("b%d", b), Block: b, Status: record.OK, Start: time.Unix(int64(b), 0),
			Config: map[string]string{"network": "vx", "probe": "tcp-stream"},
			Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: 80000}, {Name: "window", Unit: "s", Value: 2}}}
		s := sample.Series{Format: 1, Host: "m", CPUs: 2, Begin: 3e8 + shift, End: 23e8 + shift, At: []int64{0}}
		column := func(on int) (v []int) {
			for i := range 25 {
				v = append(v, 0)
				if i >= 3 && i < 23 {
					v[i] = on
				}
			}
			return v
		}
		for i := range 25 {
			s.At = append(s.At, int64(i+1)*1e8)
		}
		idle := column(-14)
		for i := range idle {
			idle[i] += 20
		}
		s.Modes = []sample.Mode{{CPU: "cpu0", Mode: "user", Ticks: column(2)}, {CPU: "cpu1", Mode: "nice", Ticks: column(2)},
			{CPU: "cpu1", Mode: "softirq", Ticks: column(8)}, {CPU: "cpu0", Mode: "idle", Ticks: idle}}
		s.Threads = []sample.Thread{{PID: 5, TID: 5, Place: "h2", Name: "iperf3", Used: column(90000)},
			{PID: 5, TID: 6, Place: "h2", Name: "iperf3", Used: column(30000)}, {TID: 7, Name: "ksoftirqd/1", Used: column(100)}}
		s.Devices = []sample.Device{{End: "server", Place: "h2", Dev: "eth0", Dir: "rx", Bytes: column(1000), Packets: column(1)},
			{End: "client", Place: "h1", Dev: "eth0", Dir: "rx", Bytes: column(10), Packets: column(1)}}
		rs = append(rs, r)
		inside[r.Trial] = []sample.Series{s}
	}
	return rs, inside
}

func TestTimeline(t *testing.T) {
	rs, inside := watched(3, 0)
	all := Of(analysis.New(rs, analysis.Options{Inside: inside}))
	if len(all) != 1 {
		t.Fatalf("%d cells, want 1", len(all))
	}
	o := all[0]
	if o.Trials != 3 || o.Of != 3 || o.CPUs != 2 || !about(o.Step, 0.1) || !about(o.Window, 2) || o.Network != "vx" || o.Host != "" {
		t.Errorf("%+v", o)
	}
	if len(o.Times) != 25 || !about(o.Times[0], -0.25) || !about(o.Times[24], 2.15) {
		t.Errorf("times %v", o.Times)
	}
	check := func(c *Course, name, unit string, on float64) {
		t.Helper()
		if c == nil || c.Name != name || c.Unit != unit || !about(c.Mean, on) {
			t.Fatalf("%+v, want %s of %v %s", c, name, on, unit)
		}
		for i, at := range o.Times {
			want := on
			if at < 0 || at > 2 {
				want = 0
			}
			if !about(c.Median[i], want) || !about(c.Low[i], want) || !about(c.High[i], want) {
				t.Errorf("%s at %v s: %v [%v, %v], want %v", name, at, c.Median[i], c.Low[i], c.High[i], want)
			}
		}
	}
	// The modes saw 12 of the 14 ticks that were not idle.
	check(o.Used, "in use", "core", 1.4)
	if len(o.Modes) != 2 || len(o.Threads) != 1 {
		t.Fatalf("modes %+v, threads %+v", o.Modes, o.Threads)
	}
	check(&o.Modes[0], "user", "core", 1.4/3)
	check(&o.Modes[1], "softirq", "core", 1.4*2/3)
	check(&o.Threads[0], "iperf3", "core", 0.9)
	check(o.Throughput, "eth0", "bit/s", 80000)
	check(o.Packets, "eth0", "packet/s", 10)
	if o.Throughput.Place != "h2" || o.Threads[0].Place != "h2" {
		t.Errorf("at %q and in %q, want h2", o.Throughput.Place, o.Threads[0].Place)
	}
	if _, err := json.Marshal(all); err != nil {
		t.Error(err)
	}
}

// Samples need not lie at the edges of the steps: the time between is shared out.
func TestTimelineBetweenSamples(t *testing.T) {
	rs, inside := watched(1, 5e7)
	o := Of(analysis.New(rs, analysis.Options{Inside: inside}))[0]
	for i, at := range o.Times {
		want := 0.9
		switch {
		case about(at, -0.05), about(at, 1.95): // half of it
			want = 0.45
		case at < 0 || at > 2:
			want = 0
		}
		if !about(o.Threads[0].Median[i], want) {
			t.Errorf("at %v s: %v, want %v", at, o.Threads[0].Median[i], want)
		}
	}
}

// What trials lack is left out: no samples, too few, unknown parts, the other direction.
func TestTimelineWithout(t *testing.T) {
	of := func(change func(*sample.Series)) []Timeline {
		rs, inside := watched(2, 0)
		for k := range inside {
			change(&inside[k][0])
		}
		return Of(analysis.New(rs, analysis.Options{Inside: inside}))
	}
	if all := of(func(s *sample.Series) { s.End = s.Begin + 9e8 - 1 }); all != nil {
		t.Errorf("a short window: %+v", all)
	}
	o := of(func(s *sample.Series) { s.CPUs, s.Devices, s.Threads, s.Modes = 0, nil, nil, nil })[0]
	if o.CPUs != 0 || o.Used != nil || o.Throughput != nil || o.Packets != nil || o.Modes != nil || o.Threads != nil {
		t.Errorf("nothing: %+v", o)
	}
	o = of(func(s *sample.Series) {
		s.Devices[0].Bytes, s.Devices[1].Bytes = s.Devices[1].Bytes, s.Devices[0].Bytes
	})[0]
	if o.Throughput.Place != "h1" {
		t.Errorf("the client receives, but %s is taken", o.Throughput.Place)
	}
	o = of(func(s *sample.Series) { s.Devices[0].Dir, s.Devices = "tx", s.Devices[:1]; s.Devices[0].End = "client" })[0]
	if o.Throughput.Name != "eth0" || !about(o.Throughput.Mean, 80000) {
		t.Errorf("to the own host: %+v", o.Throughput)
	}
	o = of(func(s *sample.Series) {
		for i := range 5 {
			s.Threads[0].Used[i] = -1 // found late
		}
	})[0]
	if c := o.Threads[0]; !about(c.Median[10], 0.9) || slices.ContainsFunc(c.Median, math.IsNaN) {
		t.Errorf("%+v", c)
	}
}

// A machine of its own has CPUs and threads of its own.
func TestTimelineOfTwoMachines(t *testing.T) {
	rs, inside := watched(2, 0)
	for k, all := range inside {
		other := all[0]
		other.Host, other.CPUs = "n", 8
		inside[k] = append(all, other)
	}
	all := Of(analysis.New(rs, analysis.Options{Inside: inside}))
	if len(all) != 2 || all[0].Host != "m" || all[1].Host != "n" || all[1].CPUs != 8 || all[0].Trials != 2 {
		t.Errorf("%+v", all)
	}
}

func about(a, b float64) bool { return math.Abs(a-b) < 1e-6*(1+math.Abs(b)) }

// A trial that recorded no device is not a trial without traffic.
func TestTimelineUnknownDevice(t *testing.T) {
	rs, inside := watched(3, 0)
	inside["b1"][0].Devices = nil
	inside["b2"][0].Devices = nil
	o := Of(analysis.New(rs, analysis.Options{Inside: inside}))[0]
	if o.Throughput == nil || !about(o.Throughput.Mean, 80000) {
		t.Errorf("throughput %+v, want 80000 bit/s of the trial that recorded it", o.Throughput)
	}
}
