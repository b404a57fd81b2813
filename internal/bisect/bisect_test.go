package bisect

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weir-bench/weir/internal/stat"
)

// A machine measures pairs of candidates as a paired run of ten blocks does: the blocks of one run share an error of
// their own, and the interval's half width is about 3 %.
type machine struct {
	*rand.Rand
	at     int     // the commit that changes the value; 0: none does
	change float64 // by which factor
	tau    float64 // spread between runs
	pairs  int     // of runs with a boot each, as of kernels, instead of blocks of one run; 0: blocks
}

func (m machine) compare(base, other int) stat.Interval {
	const blocks, spread = 10, 0.025
	if m.pairs > 0 {
		return m.boots(base, other)
	}
	shift := m.tau * m.NormFloat64()
	if base < m.at && m.at <= other {
		shift += math.Log(m.change)
	}
	var a, b []float64
	for range blocks {
		block := math.Exp(0.1 * m.NormFloat64()) // what both have in common
		a = append(a, block)
		b = append(b, block*math.Exp(shift+spread*m.NormFloat64()))
	}
	return stat.Ratio(a, b, 0.95)
}

// boots compares by pairs of runs: what two boots differ by is in each pair anew, and the half width is about 3 % too.
func (m machine) boots(base, other int) stat.Interval {
	var ratios []float64
	for range m.pairs {
		r := math.Exp(0.025*m.NormFloat64() + m.tau*m.NormFloat64())
		if base < m.at && m.at <= other {
			r *= m.change
		}
		ratios = append(ratios, r)
	}
	return stat.LogMean(ratios, 0.95)
}

const certainty, most = 0.95, 60

// search returns the answer and how many comparisons it took.
func (m machine) search(n int, skipped ...int) (v Verdict, comparisons int) {
	s := New(n, 0.025)
	for _, k := range skipped {
		s.Skip(k)
	}
	for comparisons < most {
		base, other, done := s.Next(certainty)
		if done {
			return s.Verdict(), comparisons
		}
		comparisons++
		if c, ok := Of(base, other, m.compare(base, other)); ok {
			s.Add(c)
		}
	}
	return Verdict{First: -1}, comparisons
}

// repeat searches many times, and returns how often in 100 the answer was right, and the median of comparisons.
func repeat(t *testing.T, n, pairs int, change, tau float64, answer func(at int) Verdict, skipped ...int) (right float64, median int) {
	t.Helper()
	times := 1000
	if testing.Short() {
		times = 100
	}
	rng := rand.New(rand.NewPCG(42, uint64(n)))
	var took []int
	good, widths := 0, 0.0
	for range times {
		m := machine{rng, 0, change, tau, pairs}
		if change != 1 {
			m.at = 1 + rng.IntN(n)
		}
		i := m.compare(0, 0)
		widths += math.Log(i.Hi/i.Lo) / 2 / float64(times)
		v, comparisons := m.search(n, skipped...)
		took = append(took, comparisons)
		if want := answer(m.at); v.First == want.First && v.Last == want.Last {
			good++
		}
	}
	slices.Sort(took)
	right, median = 100*float64(good)/float64(times), took[times/2]
	t.Logf("change %g, tau %g, half width %.3f: right in %.1f %%, %d comparisons (nine in ten within %d)", change, tau, widths, right, median, took[times*9/10])
	return right, median
}

func single(at int) Verdict { return Verdict{First: at, Last: at} }

// One commit of 64 makes a program slower or faster by 5 %, under the noise of recorded runs.
func TestPlanted(t *testing.T) {
	for _, change := range []float64{0.95, 1.05} {
		for _, tau := range []float64{0, 0.01} {
			right, median := repeat(t, 64, 0, change, tau, single)
			if right < 95 || median > 10 && tau == 0 {
				t.Errorf("change %g, tau %g: right in %.1f %%, %d comparisons in the median: want 95 %% and 10", change, tau, right, median)
			}
		}
	}
}

// Where nothing changed, nothing is blamed.
func TestNonePlanted(t *testing.T) {
	for _, n := range []int{1, 64} {
		for _, tau := range []float64{0, 0.01} {
			if right, _ := repeat(t, n, 0, 1, tau, single); right < 95 {
				t.Errorf("%d commits, tau %g: none found in %.1f %%: want 95 %%", n, tau, right)
			}
		}
	}
}

// Of a few kernels, compared by six pairs of boots each, one makes a network slower by 5 %, or none does.
func TestKernels(t *testing.T) {
	for _, n := range []int{1, 7} {
		for _, change := range []float64{0.95, 1} {
			if right, median := repeat(t, n, 6, change, 0.01, single); right < 95 || median > 10 {
				t.Errorf("%d kernels, change %g: right in %.1f %%, %d comparisons in the median: want 95 %% and 10", n, change, right, median)
			}
		}
	}
}

// A change a little above the smallest to find is found, or takes too many comparisons, but is rarely denied.
func TestSmallIsNotDenied(t *testing.T) {
	denied, times := 0, 100
	rng := rand.New(rand.NewPCG(42, 3))
	for range times {
		if v, _ := (machine{rng, 1 + rng.IntN(16), 1.035, 0, 0}).search(16); v.Last == 0 && v.First == 0 {
			denied++
		}
	}
	t.Logf("%d of %d denied", denied, times)
	if denied > 10 {
		t.Errorf("a change of 3.5 %% was denied in %d of %d searches", denied, times)
	}
}

// A change among commits that cannot be measured is a range with the next that can.
func TestSkippedIsARange(t *testing.T) {
	skipped := []int{5, 6, 9}
	answer := func(at int) Verdict {
		switch at {
		case 5, 6, 7:
			return Verdict{First: 5, Last: 7}
		case 9, 10:
			return Verdict{First: 9, Last: 10}
		}
		return single(at)
	}
	if right, _ := repeat(t, 16, 0, 1.05, 0, answer, skipped...); right < 95 {
		t.Errorf("right in %.1f %%: want 95 %%", right)
	}
}

// A ratio without an interval cannot be weighed. One of ratios that are all alike can: it speaks against large changes.
func TestOf(t *testing.T) {
	for name, i := range map[string]stat.Interval{"one pair": {Center: 1.1, N: 1, Lo: math.Inf(-1), Hi: math.Inf(1)}, "ratio 0": {Center: 0, Lo: 0, Hi: 1, SE: 0.1, N: 9}, "none": {}} {
		if c, ok := Of(0, 1, i); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
	c, ok := Of(0, 1, stat.Ratio([]float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{1.5, 3.1, 4.4, 6.1, 7.5, 9.2, 10.3, 12}, 0.95))
	if !ok || math.Abs(c.Log-math.Log(1.5)) > 0.02 || !(c.SE > 0) {
		t.Errorf("%+v, %v", c, ok)
	}
	alike := []float64{3, 3, 4, 3, 3, 3, 4, 3}
	if c, ok = Of(0, 1, stat.Ratio(alike, alike, 0.95)); !ok || c.Log != 0 || c.SE != 0 {
		t.Fatalf("all alike: %+v, %v", c, ok)
	}
	s := New(2, 0.1)
	s.Add(Comparison{0, 2, 0.5, 0.02, 9})
	before := s.Posterior()
	s.Add(c)
	if after := s.Posterior(); !(after[1] < before[1]/2) || after[1] < 0.001 {
		t.Errorf("commit 1 had %g and has %g after ratios that are all 1", before[1], after[1])
	}
}

// An outcome that was stored leads to the same search, and says what it says.
func TestOutcome(t *testing.T) {
	o := Outcome{Good: "g", Bad: "d", Least: 0.025, Commits: []Commit{{Hash: "a"}, {Hash: "b"}, {Hash: "c", Skipped: "does not build"}, {Hash: "d"}}}
	step := func(base, other string, ratio float64) {
		o.Steps = append(o.Steps, Step{Base: base, Other: other, Ratio: stat.Interval{Center: ratio, Lo: 0.97 * ratio, Hi: 1.03 * ratio, Confidence: 0.95, SE: 0.01, DF: 9, N: 10}})
	}
	for _, x := range []struct {
		base, other string
		ratio       float64
	}{{"g", "d", 1.2}, {"g", "b", 1.001}, {"b", "d", 1.19}} {
		step(x.base, x.other, x.ratio)
	}
	s := o.Search()
	base, other, done := s.Next(0.95)
	o.Settle(s, done)
	if !done || base != 2 || other != 4 || o.Verdict != Found || o.First != "c" || o.Last != "d" || o.Change.Center != 1.19 {
		t.Errorf("%d with %d, done %v: %+v", base, other, done, o)
	}
	if o.Partly() {
		t.Errorf("a change of 1.19 is not all of %g", o.Whole.Center)
	}
	if o.Whole.Center = 1.4; !o.Partly() {
		t.Error("a change of 1.19 is all of 1.4")
	}
	sum := o.NoChange
	for _, c := range o.Commits {
		sum += c.P
	}
	if math.Abs(sum-1) > 1e-9 || o.Candidate("x") != -1 {
		t.Errorf("probabilities add up to %g; candidate %d", sum, o.Candidate("x"))
	}
}

// Kernels of one version are told apart by their images, and commits by the first digits.
func TestName(t *testing.T) {
	o := Outcome{Guests: &Guests{Kernels: []Kernel{{Version: "6.1", Hash: "aaaabbbbccccdddd"}, {Version: "6.1", Hash: "bbbb"}, {Version: "6.12", Hash: "cccc"}}}}
	for hash, want := range map[string]string{"aaaabbbbccccdddd": "6.1-aaaabbbbcccc", "bbbb": "6.1-bbbb", "cccc": "6.12"} {
		if got := o.Name(hash); got != want {
			t.Errorf("%s is %s, want %s", hash, got, want)
		}
	}
	if got := (&Outcome{}).Name("aaaabbbbccccdddd"); got != "aaaabbbbcccc" {
		t.Error(got)
	}
}
