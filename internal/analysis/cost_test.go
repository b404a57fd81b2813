package analysis

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// owned returns a run on a machine that a neighbor keeps busy: packet rates vary by 2, and the
// packets of the bridge cost 1.4 times those of the host by the clock of the threads.
func owned(blocks int) (rs []record.Result) {
	for b := 1; b <= blocks; b++ {
		for network, cost := range map[string]float64{"host": 2e-6, "bridge": 2.8e-6} {
			r := result(b, network, "udp-stream", 1e9/float64(1+b%2))
			r.Elapsed = 0.05
			for name, v := range map[record.Quantity]float64{"delivered": 1, "others.user": 1, "cpu.own.per.packet": cost * (1 + 0.01*float64(b%3)), "cpu.own.per.bit": 1} {
				r.Values = append(r.Values, record.Value{Name: name, Unit: "s/packet", Value: v})
			}
			rs = append(rs, r)
		}
	}
	return rs
}

// The threads' own clocks compare networks where every trial was disturbed.
func TestOwnCostOfABusyMachine(t *testing.T) {
	p := New(owned(12), Options{Baseline: "host"})
	r := row(t, p, 0, "bridge")
	if r.Busy == nil || r.Disturbed != 12 {
		t.Fatalf("%d disturbed trials: the machine is not busy", r.Disturbed)
	}
	if i, ok := r.OwnCost(); !ok || i.N != 12 || !i.Bounded() || i.Lo < 1.37 || i.Hi > 1.43 || i.Confidence != p.Each {
		t.Errorf("ratio %+v, %v", i, ok)
	}
	if r.Own.Name != "cpu.own.per.packet" || r.Own.Unit != "s/packet" || r.Own.Value.Center < 2.8e-6 || r.Own.Value.Center > 2.86e-6 {
		t.Errorf("cost %+v", r.Own)
	}
	if _, ok := row(t, p, 0, "host").OwnCost(); ok {
		t.Error("the baseline has a ratio")
	}
}

// TCP does not choose its packets, and impossible costs are none.
func TestOwnCostOfAStream(t *testing.T) {
	rs := drifting(8)
	for i := range rs {
		cost := 1e-10
		if rs[i].Block == 3 {
			cost = -1
		}
		rs[i].Values = append(rs[i].Values, record.Value{Name: record.CPUOwnPerPacket, Unit: "s/packet", Value: 1e-6},
			record.Value{Name: "cpu.own.per.bit", Unit: "s/bit", Value: cost})
	}
	r := row(t, New(rs, Options{Baseline: "host"}), 0, "bridge")
	if i, ok := r.OwnCost(); !ok || i.N != 7 || r.Own.Name != "cpu.own.per.bit" {
		t.Errorf("%s: %+v, %v", r.Own.Name, i, ok)
	}
	if _, ok := row(t, New(drifting(8), Options{Baseline: "host"}), 0, "bridge").OwnCost(); ok {
		t.Error("a cost without a clock")
	}
}

// ticked returns trials of a cell whose machine uses some cores beyond a baseline, and which old
// programs stored as the sum of the modes only.
func ticked(blocks int, used, baseline float64, old bool) (rs []record.Result) {
	for b := 1; b <= blocks; b++ {
		r := result(b, "host", "udp-rr", 1)
		now := used + 0.1*float64(b%3-1) // by the steps of /proc/stat
		values := map[record.Quantity]float64{"transactions": 2e4, "cpu.per.transaction": 1, "cpu.busy": 0.6 * now, "cpu.idle-baseline": 0.8 * baseline,
			"cpu.used": now + baseline, "cpu.used.baseline": baseline}
		if old {
			delete(values, "cpu.used")
			delete(values, "cpu.used.baseline")
		}
		for name, v := range values {
			r.Values = append(r.Values, record.Value{Name: name, Unit: "core", Value: v})
		}
		rs = append(rs, r)
	}
	return rs
}

// A trial's cost has no number if it is from less CPU time than one step of the kernel's counters.
func TestResolved(t *testing.T) {
	r := result(1, "host", "udp-rate", 1)
	r.Values = append(r.Values, record.Value{Name: "packet.rate", Unit: "packet/s", Value: 9e5}, record.Value{Name: "window", Unit: "s", Value: 0.2})
	for _, c := range []struct {
		name record.Quantity
		unit string
		v    float64
		want bool
	}{
		{"cpu.per.packet", "s/packet", 0.32e-9, false}, {"cpu.per.packet", "s/packet", 1e-6, true}, {"cpu.user", "core", -0.1, false},
		{"cpu.own.per.packet", "s/packet", 0.32e-9, true}, {"cpu.per.transaction", "s/transaction", 1e-12, true}, // no rate to judge by
	} {
		if got := Resolved(&r, record.Value{Name: c.name, Unit: c.unit, Value: c.v}); got != c.want {
			t.Errorf("%s of %g %s: %v", c.name, c.v, c.unit, got)
		}
	}
}

func TestCostByIdle(t *testing.T) {
	for _, tc := range []struct {
		name           string
		used, baseline float64
		old            bool
		want           float64
		unresolved     bool
	}{
		{"new", 0.8, 0.1, false, 4e-5, false},
		{"old", 0.8, 0.1, true, 2.4e-5, false},
		{"nearly idle", 0.02, 0.1, false, 1e-6, true},
		{"idle", -0.01, 0.1, false, -5e-7, true},
		{"within the steps", 0.03, 0, false, 1.5e-6, true},
	} {
		r := row(t, New(ticked(12, tc.used, tc.baseline, tc.old), Options{}), 0, "host")
		c, ok := r.CostPer("cpu.per.transaction")
		if !ok || math.Abs(c.Total-tc.want) > 1e-12 || c.ByIdle == tc.old || c.Unresolved != tc.unresolved || c.Unit != "s/transaction" {
			t.Errorf("%s: %+v, %v", tc.name, c, ok)
		}
		if !c.Interval.Bounded() || c.Interval.Lo < 0 || c.Interval.Hi < c.Total || c.Interval.N != 12 {
			t.Errorf("%s: interval %+v", tc.name, c.Interval)
		}
		if _, _, printed := r.Per("cpu.per.transaction"); printed == tc.unresolved {
			t.Errorf("%s: Per gives a number: %v", tc.name, printed)
		}
		s, _ := r.Get("cpu.per.transaction")
		if b, err := json.Marshal(s); err != nil || strings.Contains(string(b), "median") == tc.unresolved || strings.Contains(string(b), BelowSteps) != tc.unresolved {
			t.Errorf("%s: JSON %s, %v", tc.name, b, err)
		}
	}
}

// Trials of older versions stored the cost of a datagram per one that was delivered. Their loss is no cost here, either.
func TestOwnCostOfOldTrials(t *testing.T) {
	r := &record.Result{Values: []record.Value{{Name: record.Sent, Value: 2e5}, {Name: record.Received, Value: 1e5}, record.CPUOwn.At("client").Value("core", 1), record.CPUOwn.At("server").Value("core", 0.4)}}
	v := record.Value{Name: record.CPUOwnPerPacket, Value: 1.4e-4}
	if got := ownCostOf(r, v); math.Abs(got-9e-6) > 1e-12 {
		t.Errorf("%g, want 9 µs", got)
	}
	if got := ownCostOf(&record.Result{}, v); got != v.Value {
		t.Errorf("%g, want what was stored", got)
	}
}
