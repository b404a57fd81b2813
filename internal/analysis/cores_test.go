package analysis

import (
	"math"
	"slices"
	"testing"

	"github.com/weir-bench/weir/record"
)

// A machine whose CPUs are apart in every other block, and move at times, has the ratio that it has in either state: a
// network that is twice as slow, while far CPUs halve the speed of both.
func TestCores(t *testing.T) {
	const nearby, remote = 1e-7, 4e-7
	run := func(saw func(block, i int) (before, after float64)) *Run {
		var rs []record.Result
		for block := 1; block <= 24; block++ {
			for i, network := range []string{"host", "vx"} {
				before, after := saw(block, i)
				r := result(block, network, "tcp-stream", 8e9/float64(1+i)/(1+(before+after-2*nearby)/(2*remote-2*nearby))*(1+0.001*float64(block%5)))
				if before > 0 {
					r.Values = append(r.Values, record.Value{Name: record.CoreToCore, Unit: "s", Value: before}, record.Value{Name: record.CoreToCoreAfter, Unit: "s", Value: after})
				}
				rs = append(rs, r)
			}
		}
		return New(rs, Options{Baseline: "host"})
	}
	at := func(far bool) float64 {
		if far {
			return remote
		}
		return nearby
	}
	type distances func(block, i int) (before, after float64)
	for name, c := range map[string]struct {
		saw                 distances
		close, apart, moved int
		exact               bool
		blocks              int // that the ratio rests on
	}{
		"two distances": {func(block, i int) (float64, float64) { return at(block%2 == 0), at(block%2 == 0) }, 24, 24, 0, true, 24},
		"moves between and during trials": {func(block, i int) (float64, float64) {
			switch {
			case block == 5: // between the two
				return at(i == 1), at(i == 1)
			case block == 6 && i == 0:
				return remote, nearby
			}
			return at(block > 6), at(block > 6)
		}, 10, 37, 1, true, 22},
		"the traffic of one network moves them": {func(block, i int) (float64, float64) {
			return at(block%2 == 0), at(block%2 == 0 != (i == 1 && block%8 == 0))
		}, 24, 21, 3, false, 24},
		"some trials read nothing": {func(block, i int) (float64, float64) {
			if block%8 == i {
				return 0, 0
			}
			return at(block%2 == 0), at(block%2 == 0)
		}, 21, 21, 0, false, 24},
		"one distance":             {func(block, i int) (float64, float64) { return nearby * (1 + float64(block)/50), nearby }, 0, 0, 0, false, 24},
		"one reading was held up":  {func(block, i int) (float64, float64) { return at(block == 9), nearby }, 0, 0, 0, false, 24},
		"results of older version": {func(block, i int) (float64, float64) { return 0, 0 }, 0, 0, 0, false, 24},
		"always on the move":       {func(block, i int) (float64, float64) { return at(i == 0), at(i == 1) }, 0, 0, 48, false, 24},
		"between each two trials":  {func(block, i int) (float64, float64) { return at(i == 0), at(i == 0) }, 24, 24, 0, false, 24},
	} {
		r := run(c.saw)
		got := r.Cores
		if got == nil {
			got = &Cores{}
		}
		if got.NearTrials != c.close || got.FarTrials != c.apart || got.MovedTrials != c.moved {
			t.Errorf("%s: %+v, want %d close, %d apart, %d moved", name, got, c.close, c.apart, c.moved)
		}
		ratio := r.Tables[0].Rows[1].Ratio
		if ratio.N != c.blocks {
			t.Errorf("%s: the ratio rests on %d blocks, want %d", name, ratio.N, c.blocks)
		}
		if c.exact && (math.Abs(ratio.Center-0.5) > 1e-9 || ratio.Hi-ratio.Lo > 1e-9) {
			t.Errorf("%s: the ratio is %v, want 0.5", name, ratio)
		}
		for _, tr := range r.trials {
			far, ok := r.Cores.WereFar(tr.Result)
			before, after, _ := readings(tr.Result)
			if want := r.Cores != nil && before == after && before > 0; ok != want || ok && far != (before == remote) {
				t.Errorf("%s: a trial with %g and %g s is far %v, %v", name, before, after, far, ok)
			}
		}
	}
}

func TestCoresDiffer(t *testing.T) {
	run := func(latency float64) *Run {
		r := result(1, "host", "tcp-stream", 1e9)
		if latency > 0 {
			r.Values = append(r.Values, record.Value{Name: record.CoreToCore, Unit: "s", Value: latency}, record.Value{Name: record.CoreToCoreAfter, Unit: "s", Value: latency})
		}
		return New([]record.Result{r}, Options{})
	}
	if d, ok := CoresDiffer([]*Run{run(1e-7), run(0), run(4e-7)}); !ok || !slices.Equal(d.Values, []string{"100 ns", "", "400 ns"}) {
		t.Errorf("%v, %v", d, ok)
	}
	for _, of := range [][]*Run{{run(0), run(0)}, {run(1e-7), run(1.4e-7)}, {run(4e-7), run(0)}} {
		if d, ok := CoresDiffer(of); ok {
			t.Errorf("%v differ", d)
		}
	}
}

// Both distances leave a chain its spans.
func TestCoresInAChain(t *testing.T) {
	var rs []record.Result
	for b := 1; b <= 12; b++ {
		for _, s := range []struct {
			from, to int
			rate     float64
		}{{1, 2, 100}, {2, 3, 100}, {1, 3, 50}} {
			latency := []float64{1e-7, 4e-7}[b%2]
			rs = append(rs, onLine(b, "n", "tcp-stream", s.from, s.to, record.Value{Name: "throughput", Unit: "bit/s", Value: s.rate / float64(1+b%2)},
				record.Value{Name: record.CoreToCore, Unit: "s", Value: latency}, record.Value{Name: record.CoreToCoreAfter, Unit: "s", Value: latency}))
		}
	}
	r := New(rs, Options{Baseline: "n"})
	if len(r.Chains) != 1 || len(r.Chains[0].Spans) != 2 || math.Abs(r.Chains[0].Spans[1].Ratio.Center-0.5) > 1e-9 || r.Chains[0].Spans[1].Ratio.N != 12 {
		t.Errorf("chains %+v", r.Chains)
	}
}

// A move costs a comparison of few blocks no interval: without that block, too few would remain.
func TestCoresLeaveAnInterval(t *testing.T) {
	var rs []record.Result
	for block := 1; block <= 6; block++ {
		for i, network := range []string{"host", "vx"} {
			before, after := 1e-7, 1e-7
			if block > 4 {
				before, after = 4e-7, 4e-7
			}
			if block == 6 && i == 0 {
				after = 1e-7
			}
			r := result(block, network, "tcp-stream", 8e9/float64(1+i)*(1+0.001*float64(block)))
			r.Values = append(r.Values, record.Value{Name: record.CoreToCore, Unit: "s", Value: before}, record.Value{Name: record.CoreToCoreAfter, Unit: "s", Value: after})
			rs = append(rs, r)
		}
	}
	r := New(rs, Options{Baseline: "host"})
	if ratio := r.Tables[0].Rows[1].Ratio; r.Cores == nil || r.Cores.MovedTrials != 1 || ratio.N != 6 || !ratio.Bounded() {
		t.Errorf("the ratio is %+v with %+v, want an interval of 6 blocks", ratio, r.Cores)
	}
}

// Where too few blocks are left for an interval, all of them count.
func TestCoresOfFewBlocks(t *testing.T) {
	var rs []record.Result
	for block := 1; block <= 5; block++ {
		for i, network := range []string{"host", "vx"} {
			latency := 1e-7
			if block == 5 && i == 0 || block == 4 {
				latency = 4e-7
			}
			r := result(block, network, "tcp-stream", 8e9/float64(1+i))
			r.Values = append(r.Values, record.Value{Name: record.CoreToCore, Unit: "s", Value: latency}, record.Value{Name: record.CoreToCoreAfter, Unit: "s", Value: latency})
			rs = append(rs, r)
		}
	}
	if r := New(rs, Options{Baseline: "host"}); r.Cores == nil || r.Tables[0].Rows[1].Ratio.N != 5 {
		t.Errorf("%+v of %+v, want 5 blocks", r.Tables[0].Rows[1].Ratio, r.Cores)
	}
}
