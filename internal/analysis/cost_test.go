package analysis

import (
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
			for name, v := range map[string]float64{"delivered": 1, "others.user": 1, "cpu.own.per.packet": cost * (1 + 0.01*float64(b%3)), "cpu.own.per.bit": 1} {
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
		rs[i].Values = append(rs[i].Values, record.Value{Name: "cpu.own.per.packet", Unit: "s/packet", Value: 1e-6},
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
