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
}

func (m machine) compare(base, other int) stat.Interval {
	const blocks, spread = 10, 0.025
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
func repeat(t *testing.T, n int, change, tau float64, answer func(at int) Verdict, skipped ...int) (right float64, median int) {
	t.Helper()
	times := 1000
	if testing.Short() {
		times = 100
	}
	rng := rand.New(rand.NewPCG(42, uint64(n)))
	var took []int
	good, widths := 0, 0.0
	for range times {
		m := machine{rng, 0, change, tau}
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
			right, median := repeat(t, 64, change, tau, single)
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
			if right, _ := repeat(t, n, 1, tau, single); right < 95 {
				t.Errorf("%d commits, tau %g: none found in %.1f %%: want 95 %%", n, tau, right)
			}
		}
	}
}
