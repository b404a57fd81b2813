package analysis

import (
	"math"
	"testing"

	"github.com/weir-bench/weir/record"
)

// files returns results of files: one block each, or all in common ones.
func files(common bool, host, vx []float64) (out []record.Result) {
	for network, values := range map[string][]float64{"host": host, "vx": vx} {
		for i, v := range values {
			block := i + 1
			if !common && network == "vx" {
				block += len(host)
			}
			out = append(out, record.Result{Trial: network + string(rune('a'+i)), Block: block, Status: record.OK,
				Config: map[string]string{Network: network, Probe: "iperf3-tcp"}, Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: v}}})
		}
	}
	return out
}

func TestUnpaired(t *testing.T) {
	host, vx := []float64{9e9, 10e9, 11e9}, []float64{4.4e9, 5e9, 5.6e9}
	options := Options{Baseline: "host", Unpaired: true}
	apart := New(files(false, host, vx), options)
	row, _ := apart.Tables[0].Row("vx")
	want := math.Cbrt(4.4*5*5.6) / math.Cbrt(9*10*11)
	if math.Abs(row.Ratio.Center-want) > 1e-9 || !row.Ratio.Bounded() || row.Ratio.N != 6 || apart.Comparisons != 1 || row.Same {
		t.Errorf("%+v, %d comparisons, want %g", row.Ratio, apart.Comparisons, want)
	}
	base, _ := apart.Tables[0].Row("host")
	if ratio := row.Value.Center / base.Value.Center; math.Abs(ratio-want) > 1e-9 {
		t.Errorf("the printed values make %g, the ratio is %g", ratio, want)
	}

	// Numbers of files that look like blocks pair nothing.
	together := New(files(true, host, vx), options)
	if same, _ := together.Tables[0].Row("vx"); same.Ratio.Center != row.Ratio.Center || same.Ratio.Lo != row.Ratio.Lo {
		t.Errorf("in common blocks %+v, in blocks of their own %+v", same.Ratio, row.Ratio)
	}
	// A version that does not know imports finds no ratio.
	if old, _ := New(files(false, host, vx), Options{Baseline: "host"}).Tables[0].Row("vx"); old.Ratio.N != 0 {
		t.Errorf("a ratio of results without a common block: %+v", old.Ratio)
	}
	// One file says nothing about its spread.
	if one, _ := New(files(false, host, vx[:1]), options).Tables[0].Row("vx"); one.Ratio.Bounded() || one.Ratio.N == 0 {
		t.Errorf("one file: %+v", one.Ratio)
	}
}

func TestCompareUnpaired(t *testing.T) {
	host := []float64{9.9e9, 10e9, 10.1e9}
	options := Options{Baseline: "host", Unpaired: true}
	a := New(files(false, host, []float64{4.9e9, 5e9, 5.1e9}), options)
	b := New(files(false, host, []float64{2.4e9, 2.5e9, 2.6e9}), options)
	c := Compare([]*Run{a}, []*Run{b}, 0)
	if !c.Unpaired || len(c.Changes) != 1 || !c.Changes[0].Worse || c.Changes[0].Needed != 0 || math.Abs(c.Changes[0].Ratio.Center-0.5) > 0.01 {
		t.Errorf("%+v", c)
	}
	if len(c.Absolute) != 2 || !c.Absolute[1].Ratio.Bounded() {
		t.Errorf("%+v", c.Absolute)
	}
	if same := Compare([]*Run{a}, []*Run{a}, 0); same.Worse() || !same.Changes[0].Same {
		t.Errorf("%+v", same.Changes)
	}
	// With a measured run on one side, how much runs differ is unknown again.
	measured := New(files(true, host, []float64{4.9e9, 5e9, 5.1e9}), Options{Baseline: "host"})
	if mixed := Compare([]*Run{measured}, []*Run{b}, 0); mixed.Unpaired || mixed.Changes[0].Ratio.Bounded() {
		t.Errorf("%+v", mixed.Changes)
	}
}

// The geometric mean of a group leaves 0 out and says so, also in a row that has no ratio.
func TestUnpairedZero(t *testing.T) {
	r := New(files(false, []float64{0, 10e9, 11e9}, []float64{5e9, 6e9}), Options{Baseline: "host", Unpaired: true})
	if row, _ := r.Tables[0].Row("host"); row.Value.N != 2 || len(row.Notes) != 1 || row.Notes[0].Trials != 1 {
		t.Errorf("%+v, %+v", row.Value, row.Notes)
	}
}
