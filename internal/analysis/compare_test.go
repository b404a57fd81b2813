package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// A machine makes runs of host and vxlan that differ by 5 %, and whose speed wanders by 30 %.
type machine struct {
	*rand.Rand
	unit string
}

func (m machine) run(cost float64) *Run {
	speed, state := math.Exp(0.3*m.NormFloat64()), math.Exp(0.05*m.NormFloat64())
	var out []record.Result
	for b := 1; b <= 12; b++ {
		out = append(out, result(b, "host", "x", speed), result(b, "vxlan", "x", speed*cost*state*math.Exp(0.02*m.NormFloat64())))
	}
	for _, r := range out {
		if r.Values[0].Unit = m.unit; m.unit == "s" {
			r.Values[0].Name = record.RTT
		}
	}
	return New(out, Options{Baseline: "host"})
}

func (m machine) runs(n int, cost float64) (out []*Run) {
	for range n {
		out = append(out, m.run(cost))
	}
	return out
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		cost          float64
		unit          string
		worse, better bool
	}{
		{0.4, "bit/s", true, false}, {0.9, "bit/s", false, true}, {0.6, "bit/s", false, false},
		{0.4, "s", false, true}, {0.9, "s", true, false}, {0.6, "s", false, false},
	} {
		m := machine{rand.New(rand.NewPCG(1, 2)), c.unit}
		got := Compare(m.runs(5, 0.6), m.runs(5, c.cost), 0.05)
		if len(got.Changes) != 1 || got.Baseline() != "host" || got.Worse() != c.worse {
			t.Fatalf("%v %s: %+v", c.cost, c.unit, got)
		}
		x := got.Changes[0]
		if x.Worse != c.worse || x.Better != c.better || x.Same != (c.cost == 0.6) || !x.Ratio.Contains(c.cost/0.6) || x.Needed != 0 || x.Detectable == 0 {
			t.Errorf("%v %s: %+v", c.cost, c.unit, x)
		}
		if len(got.Absolute) != 2 || got.Absolute[0].Worse || got.Absolute[0].Better || math.Abs(got.Absolute[0].A.Center/got.Absolute[0].B.Center-1) < 1e-6 {
			t.Errorf("%v %s: absolute values %+v", c.cost, c.unit, got.Absolute)
		}
	}
}

// One run a side cannot tell; a spread that earlier runs have shown can.
func TestCompareOneRunASide(t *testing.T) {
	m := machine{rand.New(rand.NewPCG(3, 4)), "bit/s"}
	a, b := m.runs(1, 0.6), m.runs(1, 0.3)
	got := Compare(a, b, 0)
	if x := got.Changes[0]; got.Worse() || x.Better || x.Same || x.Ratio.Bounded() || x.Needed < 5 || x.Needed > 12 || math.Abs(x.Ratio.Center-0.5) > 0.15 {
		t.Errorf("%+v", x)
	}
	a[0].Learn(func(_ *Table, row *Row) (Spread, bool) { return Spread{Tau: 0.05, Runs: 10}, row.Network == "vxlan" }, nil)
	b[0].Learn(func(*Table, *Row) (Spread, bool) { return Spread{Tau: 0.01, Runs: 20}, true }, nil)
	got = Compare(a, b, 0)
	if x := got.Changes[0]; !x.Worse || x.Known == nil || x.Ratio.DF < 9 || x.Ratio.Tau != 0.05 || x.Needed < 5 || x.Needed > 12 {
		t.Errorf("with a known spread: %+v", x)
	}
	if got.Absolute[0].Ratio.Bounded() {
		t.Error("the spread of ratios says nothing about absolute values")
	}
}

// What cannot be compared is listed with the reason, and never worse.
func TestCompareUnlike(t *testing.T) {
	m := machine{rand.New(rand.NewPCG(5, 6)), "bit/s"}
	a := m.runs(3, 0.6)
	change := func(edit func(*record.Result) bool, o Options) (out []*Run) {
		for _, r := range m.runs(3, 0.1) {
			var rs []record.Result
			for x := range r.Results() {
				x.Values = []record.Value{x.Values[0]}
				if edit(x) {
					rs = append(rs, *x)
				}
			}
			out = append(out, New(rs, o))
		}
		return out
	}
	all := func(*record.Result) bool { return true }
	host := Options{Baseline: "host"}
	for _, c := range []struct {
		name    string
		b       []*Run
		want    string // of OnlyA, OnlyB, Apart, baselines
		absolut int
	}{
		{"another baseline", change(all, Options{Baseline: "vxlan"}), "[] [] [] [host vxlan]", 2},
		{"no baseline", change(all, Options{}), "[] [] [] [host ]", 2},
		{"the baseline is not measured", change(func(r *record.Result) bool { return r.Config[Network] != "host" }, host), "[host, x] [] [] [host ]", 1},
		{"another network", change(func(r *record.Result) bool {
			if r.Config[Network] == "vxlan" {
				r.Config[Network] = "bridge"
			}
			return true
		}, host), "[vxlan, x] [bridge, x] [] [host]", 1},
		{"another unit", change(func(r *record.Result) bool { r.Values[0].Unit = "s"; return true }, host),
			"[] [] [host, x: measures throughput in s, in B vxlan, x: measures throughput in s, in B] [host]", 0},
		{"no ok trial", change(func(r *record.Result) bool {
			if r.Config[Network] == "vxlan" {
				r.Status = record.Failed
			}
			return true
		}, host), "[] [] [vxlan, x: no ok trial, in B] [host]", 1},
		{"nothing", []*Run{New(nil, host)}, "[host, x vxlan, x] [] [] [host ]", 0},
	} {
		got := Compare(a, c.b, 0)
		reasons := []string{}
		for _, x := range got.Uncompared {
			reasons = append(reasons, x.String()+": "+x.Reason)
		}
		if s := fmt.Sprintf("%v %v %v %v", got.OnlyA, got.OnlyB, reasons, got.Baselines); s != c.want || len(got.Absolute) != c.absolut || len(got.Changes) != 0 {
			t.Errorf("%s:\n got %s and %d values, %d changes\nwant %s and %d", c.name, s, len(got.Absolute), len(got.Changes), c.want, c.absolut)
		}
	}
	if got := Compare(nil, nil, 0); got.Worse() || got.Baseline() != "" {
		t.Errorf("nothing: %+v", got)
	}
	if s := fmt.Sprint(Cell{Network: "a", Probe: "b", Levels: map[string]string{"mtu": "9000"}}); !strings.Contains(s, "mtu 9000") {
		t.Error(s)
	}
}

// Runs on a busy machine count, with a mark.
func TestCompareBusy(t *testing.T) {
	m := machine{rand.New(rand.NewPCG(7, 8)), "bit/s"}
	b := m.runs(3, 0.6)
	var rs []record.Result
	for r := range b[2].Results() {
		r.Elapsed, r.Values = 1, append(r.Values, record.Value{Name: "others.user", Unit: "core", Value: 1})
		rs = append(rs, *r)
	}
	b[2] = New(rs, Options{Baseline: "host"})
	got := Compare(m.runs(3, 0.6), b, 0)
	if x := got.Changes[0]; x.Busy != 1 || x.B.N != 3 || !x.Same || len(got.Uncompared) != 0 {
		t.Errorf("busy %d, %d runs, same %v, apart %v", x.Busy, x.B.N, x.Same, got.Uncompared)
	}
}
