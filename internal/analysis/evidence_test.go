package analysis

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// evident returns a run of two networks whose trials have evidence, except in block 2, and whose trial of vx in
// block 1 failed.
func evident(blocks int) *Run {
	var rs []record.Result
	o := Options{Baseline: "host", Evidence: map[string]*evidence.Trial{}, Settings: map[string]*evidence.Settings{"b003-vx": {}}}
	for b := 1; b <= blocks; b++ {
		for _, n := range []string{"host", "vx"} {
			r := record.Result{Trial: fmt.Sprintf("b%03d-%s", b, n), Block: b, Status: record.OK, Start: time.Unix(int64(b), 0),
				Config: map[string]string{"network": n, "probe": "p"}, Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1}}}
			if b == 1 && n == "vx" {
				r.Status = record.Failed
			}
			if rs = append(rs, r); b != 2 {
				o.Evidence[r.Trial] = &evidence.Trial{Seconds: float64(b), Settings: "b003-vx"}
			}
		}
	}
	return New(rs, o)
}

// Evidence is that of trials that count, with the settings of their condition; the baseline's is of the same
// blocks.
func TestEvidence(t *testing.T) {
	r, _ := evident(5).Tables[0].Row("vx")
	blocks := func(all []Observed) (of string) {
		for _, o := range all {
			of += fmt.Sprint(o.Block, o.Config["network"], " ")
		}
		return of
	}
	if got := blocks(r.Evidence()); got != "3vx 4vx 5vx " {
		t.Errorf("evidence of %q", got)
	}
	if got := blocks(r.BaseEvidence()); got != "3host 4host 5host " {
		t.Errorf("the baseline's evidence is of %q", got)
	}
	if s := r.Evidence()[2].Settings; s == nil {
		t.Error("the settings of the condition are missing")
	}
	if all := (Row{}).Evidence(); all != nil {
		t.Errorf("a row without trials has %v", all)
	}
}

// A share of a whole is at most 1, and so is its interval, even where a clock counted more than the whole; neither
// is below 0.
func TestShareExceeds(t *testing.T) {
	var all []Observed
	for i, p := range []float64{60, 20, 60, 60, 20, 60, 60, 20, 60, 60, 20, 60} {
		all = append(all, Observed{&record.Result{Block: i}, &evidence.Trial{Seconds: p}, nil})
	}
	of := func(o Observed) (float64, float64) { return o.Evidence.Seconds, 50 }
	if v, ok := ShareExceeds(all, 0.5, of); !ok || v.Center != 0.8 || v.Hi != 1 || v.Lo < 0 {
		t.Errorf("%v, %+v", ok, v)
	}
	if v, ok := Exceeds(all, 0.5, of); !ok || v.Center <= 0.9 || v.Hi <= 1 {
		t.Errorf("a ratio above 1: %v, %+v", ok, v)
	}
	if v, ok := Exceeds(all, 0.5, func(o Observed) (float64, float64) { return max(0, o.Evidence.Seconds-59), 1 }); !ok || v.Lo <= 0 {
		t.Errorf("%v, %+v", ok, v)
	}
	if v, ok := Mostly(all[1:3], func(Observed) bool { return true }); ok || v.Center != 1 {
		t.Errorf("two blocks: %v, %+v", ok, v)
	}
}

// A majority of blocks decides, of three or more, and only with an interval that excludes 0.
func TestExceeds(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []float64
		want  bool
	}{
		{"most", []float64{3, 3, 1, 3, 3, 3}, true},
		{"half", []float64{3, 1, 3, 1, 3, 1}, false},
		{"two blocks", []float64{3, 3}, false},
		{"none of the others", []float64{3, 900, 3, 3}, false},
		{"all, some far more", []float64{3, 900, 3, 3, 3, 3, 3}, true},
		{"all but one, some far more", []float64{1, 900, 3, 3, 3, 3, 3}, false},
	} {
		var all []Observed
		for i, p := range c.parts {
			for range 2 { // trials of one block add up
				all = append(all, Observed{&record.Result{Block: i}, &evidence.Trial{Seconds: p / 2}, nil})
			}
		}
		all = append(all, Observed{&record.Result{Block: 99}, &evidence.Trial{}, nil}) // a block that says nothing
		v, ok := Exceeds(all, 0.02, func(o Observed) (float64, float64) {
			if o.Block == 99 {
				return 0, 0
			}
			return o.Evidence.Seconds, 50
		})
		if ok != c.want || v.N != len(c.parts) {
			t.Errorf("%s: %v, %+v", c.name, ok, v)
		}
	}
}
