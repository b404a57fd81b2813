package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/record"
)

// slicesOf returns n blocks of two networks, one trial every 80 ms, each modified by change.
func slicesOf(n int, change func(i int, r *record.Result)) []record.Result {
	var out []record.Result
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 2 * n {
		network := []string{"host", "vxlan"}[i%2]
		r := record.Result{
			Trial: fmt.Sprintf("t%03d", i), Block: i/2 + 1, Status: record.OK,
			Start: start.Add(time.Duration(i) * 80 * time.Millisecond), Elapsed: 0.075,
			Config: map[string]string{Network: network, Probe: "tcp-stream"},
			Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: float64(100 - 50*(i%2) + i%5)},
				// Ticks: a short trial on a quiet machine can show any of these.
				{Name: "others.user", Unit: "core", Value: 0.14 * float64(i%3-1)},
				{Name: "others.system", Unit: "core", Value: -0.5 - 0.2*float64(i%2)}},
		}
		change(i, &r)
		out = append(out, r)
	}
	return out
}

func set(r *record.Result, name record.Quantity, v float64) {
	for i := range r.Values {
		if r.Values[i].Key() == name.Whole() {
			r.Values[i].Value = v
			return
		}
	}
	r.Values = append(r.Values, record.Value{Name: name, Value: v})
}

func TestDisturbed(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(i int, r *record.Result)
		least     int // disturbed among trials 20 to 39
		elsewhere int // at most, among the others
		why       string
	}{
		{"quiet", func(int, *record.Result) {}, 0, 0, ""},
		{"a program computes", func(i int, r *record.Result) {
			if i/20 == 1 {
				set(r, "others.user", 0.9)
			}
		}, 20, 6, "programs outside the run"},
		{"a program in the kernel", func(i int, r *record.Result) {
			if i/20 == 1 {
				set(r, "others.system", 0.1)
			}
		}, 18, 6, "programs outside the run"},
		{"steal", func(i int, r *record.Result) {
			if i/20 == 1 {
				set(r, "cpu.steal", 0.3)
			} else {
				set(r, "cpu.steal", 0)
			}
		}, 20, 6, "hypervisor"},
		{"clock", func(i int, r *record.Result) {
			set(r, "cpu.frequency", 3e9-6e8*float64(i/20%2))
			if i >= 60 {
				set(r, "cpu.frequency", 3.1e9)
			}
		}, 20, 0, "clock frequency"},
		{"one tick too many", func(i int, r *record.Result) {
			if i == 30 {
				set(r, "others.user", 1)
			}
		}, 0, 0, ""},
		{"nothing is known", func(_ int, r *record.Result) { r.Values = r.Values[:1] }, 0, 0, ""},
		{"failed trials keep their reason", func(i int, r *record.Result) {
			set(r, "others.user", 5)
			r.Status, r.Reason = record.Failed, "died"
		}, 0, 0, "died"},
	} {
		in, elsewhere := 0, 0
		for i, r := range New(slicesOf(50, c.change), Options{}).trials { // by block, which is by time
			if r.status != record.Disturbed {
				continue
			}
			if !strings.Contains(r.reason, c.why) {
				t.Errorf("%s: trial %d: reason %q", c.name, i, r.reason)
			}
			if i/20 == 1 {
				in++
			} else {
				elsewhere++
			}
		}
		if in < c.least || c.least == 0 && in > 0 || elsewhere > c.elsewhere {
			t.Errorf("%s: %d of its 20 trials are disturbed and %d others, want at least %d, and at most %d", c.name, in, elsewhere, c.least, c.elsewhere)
		}
	}
}

// A few disturbed trials are shown and left out. If too few others remain, all count, with a mark.
func TestDisturbedCount(t *testing.T) {
	hog := func(from, to int) func(int, *record.Result) {
		return func(i int, r *record.Result) {
			if i >= from && i < to {
				set(r, "others.user", 0.9)
				if i%2 == 1 {
					r.Values[0].Value = 1 // a CPU hog slows the second network
				}
			}
		}
	}
	clean := New(slicesOf(50, hog(0, 0)), Options{Baseline: "host"}).Tables[0].Rows[1]
	some := New(slicesOf(50, hog(10, 20)), Options{Baseline: "host"}).Tables[0].Rows[1]
	if some.Disturbed == 0 || some.OK+some.Disturbed != 50 || some.Busy != nil || some.Counted() != some.OK || len(some.Points) != 50 || some.Trials() != 50 {
		t.Errorf("%d ok, %d disturbed, %d points, busy %+v", some.OK, some.Disturbed, len(some.Points), some.Busy)
	}
	if r := some.Ratio; r.Lo > clean.Ratio.Center || r.Hi < clean.Ratio.Center {
		t.Errorf("ratio %v, without the hog %v", r, clean.Ratio)
	}
	busy := New(slicesOf(50, hog(10, 70)), Options{Baseline: "host"})
	kept := New(slicesOf(50, hog(10, 70)), Options{Baseline: "host", KeepDisturbed: true})
	if row := kept.Tables[0].Rows[1]; row.Ratio.N == 0 || row.OK != 50 || !kept.Kept || kept.Disturbed < 60 {
		t.Errorf("kept: ratio of %d blocks, %d ok, %d disturbed", row.Ratio.N, row.OK, kept.Disturbed)
	}
	much := busy.Tables[0].Rows[1]
	if d := much.Busy; d == nil || d.Blocks < 30 || d.Of != 50 || d.Others < 0.5 || d.Others > 0.6 || much.Shared != 50 || much.Counted() != 50 {
		t.Fatalf("%+v, ratio of %d blocks, %d trials; want all 50 blocks, and the load", d, much.Shared, much.Counted())
	}
	if busy.Busy == nil || busy.Kept {
		t.Errorf("the run is not marked: %+v", busy.Busy)
	}
	plain := kept.Tables[0].Rows[1].Ratio
	if r := much.Ratio; r.Center != plain.Center || r.Lo >= plain.Lo || r.Hi <= plain.Hi {
		t.Errorf("%v, and %v without an allowance: want the same center in a wider interval", r, plain)
	}
}

// Disturbed blocks are left out only while enough others remain for an interval.
func TestSteady(t *testing.T) {
	for _, c := range []struct {
		blocks, disturbed int
		confidence        float64
		counted           int
	}{
		{10, 0, 0.95, 10},
		{10, 3, 0.95, 7},   // 7 suffice for an interval
		{10, 3, 0.99, 10},  // 7 do not, 10 do
		{10, 3, 0.999, 7},  // nor do 10
		{10, 4, 0.95, 10},  // 6 suffice, but are fewer than two thirds
		{60, 20, 0.95, 40}, // exactly a third
		{60, 21, 0.95, 60},
		{1, 1, 0, 1},
	} {
		rs := slicesOf(c.blocks, func(i int, r *record.Result) {
			if i%2 == 1 && i/2 < c.disturbed {
				r.Status = record.Disturbed
			}
		})
		samples, busy := Steady(c.confidence, New(rs, Options{}).samples...)
		if got := shared(samples); got != c.counted || (busy != nil) != (got == c.blocks && c.disturbed > 0) {
			t.Errorf("%+v: %d blocks count, %+v", c, got, busy)
		}
	}
}

// The bounds grow with the machine, from what ticks resolve to what any machine shares.
func TestTolerated(t *testing.T) {
	for cpus, want := range map[float64][2]float64{0: {0.3, 0.1}, 1: {0.3, 0.1}, 2: {0.3, 0.1}, 4: {0.6, 0.2}, 64: {1, 0.3}} {
		if others, steal := tolerated(cpus); math.Abs(others-want[0]) > 1e-9 || math.Abs(steal-want[1]) > 1e-9 {
			t.Errorf("%g CPUs: %g and %g, want %v", cpus, others, steal, want)
		}
	}
}

// A load that slows both networks by a random factor leaves the ratio unbiased and widens its
// interval. The choice of the trials depends on the load alone.
func TestBusyRatio(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	const runs = 200
	for range runs {
		rs := slicesOf(30, func(i int, r *record.Result) {
			set(r, "others.user", 0.8)
			r.Values[0].Value = []float64{100, 50}[i%2] * math.Exp(0.3*random.NormFloat64())
		})
		row := New(rs, Options{Baseline: "host"}).Tables[0].Rows[1]
		if row.Busy == nil || !row.Ratio.Bounded() {
			t.Fatalf("%+v", row.Ratio)
		}
		if row.Ratio.Contains(0.5) {
			covered++
		}
	}
	if covered < runs*93/100 {
		t.Errorf("%d of %d intervals cover the ratio", covered, runs)
	}
}

// Only what a comparison lost is measured again, and only if that is worth its time.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		blocks   int
		disturb  func(i int) bool // a trial: two per block
		baseline string
		want     []int
	}{
		{20, func(int) bool { return false }, "host", nil},
		{40, func(i int) bool { return i == 8 }, "host", nil}, // one of 40 blocks
		{20, func(i int) bool { return i == 8 }, "host", []int{5}},
		{20, func(i int) bool { return i == 8 || i == 12 || i == 13 }, "host", []int{7, 5}},
		{20, func(i int) bool { return i == 8 || i == 13 }, "host", []int{5, 7}},
		{20, func(i int) bool { return i == 8 || i == 13 }, "", []int{5}}, // nothing is compared
	} {
		rs := slicesOf(c.blocks, func(i int, r *record.Result) {
			if c.disturb(i) {
				r.Status = record.Disturbed
			}
		})
		if got := BlocksToRepeat(rs, Options{Baseline: c.baseline}); !slices.Equal(got, c.want) {
			t.Errorf("%d blocks: %v, want %v", c.blocks, got, c.want)
		}
		// A contrast compares the same cells.
		stated := Contrast{Of: map[string][]string{Network: {"bridge", "vxlan"}}, To: map[string]string{Network: "host"}}
		if got := BlocksToRepeat(rs, Options{Contrasts: []Contrast{stated}}); c.baseline != "" && !slices.Equal(got, c.want) {
			t.Errorf("%d blocks, stated: %v, want %v", c.blocks, got, c.want)
		}
		if share := DisturbedShare(rs, 7); share != map[bool]float64{true: 1, false: 0.5}[c.disturb(12)] && c.disturb(13) {
			t.Errorf("share of block 7: %g", share)
		}
	}
}

// Each machine is judged by itself, with its own CPUs and clock: a program on one of them disturbs its
// trials alone, however near the others are in time.
func TestDisturbedMachine(t *testing.T) {
	change := func(i int, r *record.Result) {
		r.Values = r.Values[:1]
		machine := []string{"a", "b.example"}[i/2%2] // whatever the network
		add := func(q record.Quantity, v float64) { r.Values = append(r.Values, q.On(machine).Value("", v)) }
		add("cpus", 4)
		add("cpu.steal", 0)
		add("others.system", 0.1)
		if machine == "a" {
			add("cpu.frequency", 3e9)
			add("others.user", 0.2)
		} else {
			add("cpu.frequency", 2e9)
			add("others.user", 0.9)
		}
		set(r, "cpus", 8)
		set(r, "others.user", 0)
	}
	rs := slicesOf(50, change)
	var loads []record.Result
	for _, r := range rs {
		loads = append(loads, Loads(r))
	}
	run := New(rs, Options{Baseline: "host"})
	for i, r := range run.trials {
		if all, some, want := DisturbedShare(rs, r.Block), DisturbedShare(loads, r.Block), float64(i/2%2); all != want || some != want {
			t.Fatalf("block %d: a share of %g is disturbed by all values, %g by Loads, want %g", r.Block, all, some, want)
		}
		if hog := i/2%2 == 1; hog != (r.status == record.Disturbed) {
			t.Fatalf("trial %d is %s: %s", i, r.status, r.reason)
		} else if want := "programs outside the run used more than 0.6 of a core on b.example"; hog && r.reason != want {
			t.Fatalf("reason %q, want %q", r.reason, want)
		}
	}
	busy := run.Tables[0].Rows[0].Busy
	if busy == nil || !slices.Equal(busy.Machines, []string{"b.example"}) || busy.CPUs != 4 {
		t.Errorf("%+v", busy)
	}
}
