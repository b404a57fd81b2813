package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// around returns runs whose log ratios differ by tau around center, with a standard error of se that each knows from
// 20 degrees of freedom.
func around(r *rand.Rand, k int, center, tau, se float64) (runs []Interval) {
	chi := distuv.ChiSquared{K: 20, Src: r}
	for range k {
		runs = append(runs, Interval{Center: math.Exp(center + tau*r.NormFloat64() + se*r.NormFloat64()), N: 56, SE: se * math.Sqrt(chi.Rand()/20), DF: 20})
	}
	return runs
}

// Two runs of an unchanged machine whose runs differ by 5.4 % (docs/adr/0011-engines-stay.md): whatever the history
// holds, at most 5 % of comparisons show a change. With the estimate that noisy runs put at 0, 18 to 41 % did.
func TestHistoryRaisesNoFalseAlarm(t *testing.T) {
	t.Parallel()
	const comparisons, tau = 3000, 0.054
	histories := map[string]func(*rand.Rand, int) []Interval{
		"SE 1 %":  func(r *rand.Rand, k int) []Interval { return around(r, k, 0, tau, 0.01) },
		"SE 5 %":  func(r *rand.Rand, k int) []Interval { return around(r, k, 0, tau, 0.05) },
		"SE 15 %": func(r *rand.Rand, k int) []Interval { return around(r, k, 0, tau, 0.15) },
		"SE 30 %": func(r *rand.Rand, k int) []Interval { return around(r, k, 0, tau, 0.30) },
		// Poisoned: one run again and again, or runs so close in time that they share a state of the machine.
		"copies": func(r *rand.Rand, k int) []Interval { return slices.Repeat(around(r, 1, 0, tau, 0.01), k) },
		// Old: of a time when runs differed less.
		"old":           func(r *rand.Rand, k int) []Interval { return around(r, k, 0, 0.005, 0.01) },
		"without error": func(r *rand.Rand, k int) []Interval { return around(r, k, 0, tau, 0) },
		"half noisy": func(r *rand.Rand, k int) []Interval {
			return append(around(r, k-k/2, 0, tau, 0.01), around(r, k/2, 0, tau, 0.09)...)
		},
	}
	for name, history := range histories {
		for _, k := range []int{3, 5, 8} {
			r := rand.New(rand.NewPCG(31, uint64(k)))
			shown := 0.0
			for range comparisons {
				earlier, counted := Earlier(history(r, k))
				if counted < 3 { // as package history has it
					earlier = Spread{}
				}
				if c := Change(around(r, 1, 0, tau, 0.01), around(r, 1, 0, tau, 0.01), earlier, 0.95); c.Bounded() && !c.Contains(1) {
					shown += 1.0 / comparisons
				}
			}
			if shown > 0.05+2*math.Sqrt(0.05*0.95/comparisons) {
				t.Errorf("%s, %d old runs: %.3f of comparisons of one run a side show a change", name, k, shown)
			}
			t.Logf("%s, %d old runs: %.3f", name, k, shown)
		}
	}
}

// What noisy runs add to a history never makes the spread that it shows smaller or better known.
func TestNoisyRunsTellNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 200 {
		clean := around(r, 5, 0, 0.08*r.Float64(), 0.01)
		before, n := Earlier(clean)
		after, m := Earlier(append(clean, around(r, 50, 0, 0, 0.4)...))
		if before != after || n != m {
			t.Fatalf("%+v of %d runs became %+v of %d", before, n, after, m)
		}
	}
	noisy, _ := Earlier(around(r, 50, 0, 0, 0.4))
	if noisy != Usual() {
		t.Errorf("noisy runs alone: %+v", noisy)
	}
}

// Comparisons of six cells: false alarms among unchanged ones, and the share of changes of 10 % that are found, in one
// cell alone and in all. If everything were known, 3 runs a side that differ by 3 % with an error of 2.5 % found 64 %
// in one cell, and with an error of 1 %, 85 %.
func TestCompareSixCells(t *testing.T) {
	t.Parallel()
	const cells = 6
	comparisons := 400.0
	for _, c := range []struct {
		runs           [2]int
		se, from, tau  float64 // the spread between runs of the first and the last cell
		one, all, some float64 // least power
	}{
		{[2]int{3, 3}, 0.025, 0.03, 0.03, 0.33, 0.45, 0.80},
		{[2]int{3, 3}, 0.01, 0.03, 0.03, 0.50, 0.70, 0.95},
		{[2]int{5, 5}, 0.025, 0.03, 0.03, 0.70, 0.85, 0.95},
		{[2]int{2, 2}, 0.02, 0.03, 0.03, 0.13, 0.17, 0.40},
		{[2]int{3, 3}, 0.02, 0.01, 0.054, 0, 0, 0},
		{[2]int{2, 2}, 0.02, 0.01, 0.10, 0, 0, 0},
		{[2]int{5, 2}, 0.02, 0.054, 0.054, 0, 0, 0},
		{[2]int{2, 1}, 0.02, 0.054, 0.054, 0, 0, 0},
		{[2]int{3, 3}, 0.15, 0.054, 0.054, 0, 0, 0},
	} {
		r := rand.New(rand.NewPCG(35, uint64(c.runs[1])))
		found := func(changed []int) (share, some float64) {
			var sides [][][]Interval
			for i := range cells {
				tau := c.from + (c.tau-c.from)*float64(i)/(cells-1)
				center := 0.0
				if slices.Contains(changed, i) {
					center = math.Log(1.1)
				}
				sides = append(sides, [][]Interval{around(r, c.runs[0], 0, tau, c.se), around(r, c.runs[1], center, tau, c.se)})
			}
			expected := Expected(sides)
			var changes []Pooled
			var p []float64
			for i, s := range sides {
				x := Change(s[0], s[1], expected[i], 0.95)
				changes, p = append(changes, x), append(p, x.PValue(0))
			}
			for i, level := range StepDown(p, 0.95) {
				if x := changes[i].At(level); x.Bounded() && !x.Contains(1) && (len(changed) == 0 || slices.Contains(changed, i)) {
					share, some = share+1/float64(max(1, len(changed))), 1
				}
			}
			return share, some
		}
		var alarms, one, all, any float64
		for range int(comparisons) {
			_, x := found(nil)
			alarms += x / comparisons
			x, _ = found([]int{0})
			one += x / comparisons
			x, y := found([]int{0, 1, 2, 3, 4, 5})
			all, any = all+x/comparisons, any+y/comparisons
		}
		t.Logf("%+v: %.3f false alarms, found in one cell %.3f, in all %.3f, in at least one of all %.3f", c, alarms, one, all, any)
		if alarms > 0.05+2*math.Sqrt(0.05*0.95/comparisons) || one < c.one || all < c.all || any < c.some {
			t.Errorf("%+v: %.3f false alarms, found in one cell %.3f, in all %.3f, in at least one of all %.3f", c, alarms, one, all, any)
		}
	}
}

func TestStepDown(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.5}, []float64{0.95}},
		{[]float64{0.03, 0.01}, []float64{0.95, 0.975}},  // both pass
		{[]float64{0.03, 0.03}, []float64{0.975, 0.975}}, // neither does
		{[]float64{0.9, 0.001, 0.03}, []float64{0.975, 1 - 0.05/3, 0.975}},
		{[]float64{1, math.NaN()}, []float64{0.975, 0.975}},
	} {
		got := StepDown(c.p, 0.95)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%v: %v, want %v", c.p, got, c.want)
		}
	}
}

// Runs that agree by chance have a spread all the same, and a limit of it.
func TestPoolNeverRestsOnZero(t *testing.T) {
	p := Pool(alike(0.02, 0.1, 0.1, 0.1), 0.95)
	if p.Shown != 0 || p.Tau < 0.02 || p.Most < 0.02 || p.Most > 0.2 {
		t.Errorf("%+v", p)
	}
	if p := Pool(alike(0.02, 0, 0.1, 0.3), 0.95); p.Shown < 0.1 || p.Tau < p.Shown || p.Most != 0 {
		t.Errorf("%+v", p)
	}
	if p := Pool(nil, 0.95); p.Most != 0 {
		t.Errorf("%+v", p)
	}
}
