package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
)

// alike returns intervals of runs with these log ratios and one standard error.
func alike(se float64, logs ...float64) (out []Interval) {
	for _, x := range logs {
		out = append(out, Interval{Center: math.Exp(x), N: 56, SE: se, DF: 50})
	}
	return out
}

// For runs of equal precision of which no spread is expected, Change is Student's test: his own data on sleep (Biometrika 6, 1908,
// table 1), where R's t.test(extra ~ group, var.equal = TRUE) gives -3.363874 to 0.203874.
func TestChangePublished(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	c := Change(alike(0, second...), alike(0, first...), Spread{}, 0.95)
	if got := logInterval(c.Interval); math.Abs(got[0]+3.363874) > 1e-6 || math.Abs(got[1]+1.58) > 1e-9 || math.Abs(got[2]-0.203874) > 1e-6 {
		t.Errorf("interval %v", got)
	}
	if c.N != 20 || c.DF != 18 || !c.Contains(1) || math.Abs(math.Hypot(c.Within, c.Between)-c.SE) > 1e-12 {
		t.Errorf("%+v", c)
	}
}

func TestChange(t *testing.T) {
	a, b := alike(0.02, 0.1, 0.2, 0.12), alike(0.02, -0.3, -0.2)
	c := Change(a, b, Spread{0.03, 4}, 0.95)
	if c.N != 5 || c.DF < 3 || c.K != 5 || c.Tau < 0.03 || c.Tau > 0.07 || c.Shown == 0 {
		t.Errorf("several runs and what is expected of them: %+v", c)
	}
	if back := Change(b, a, Spread{0.03, 4}, 0.95); !sameInterval(back.Interval, reciprocal(c.Interval)) {
		t.Errorf("swapped %+v of %+v", back, c)
	}
	if c.Detectable() <= 0 || c.Detectable() < c.Hi/c.Center-1 {
		t.Errorf("detectable %v, less than the half width of %+v", c.Detectable(), c)
	}

	one := Change(a[:1], b[:1], Spread{}, 0.95)
	if one.Bounded() || one.Detectable() != 0 || math.Abs(math.Log(one.Center)+0.4) > 1e-9 || !strings.Contains(lang.Join(one.Warnings, "").String(), "1 run a side") {
		t.Errorf("one run a side: %+v", one)
	}
	one = Change(a[:1], b[:1], Spread{0.05, 4}, 0.95)
	want := math.Sqrt(2*0.05*0.05 + 2*0.02*0.02)
	if !one.Bounded() || math.Abs(one.SE-want) > 1e-12 || one.DF < 4 || one.DF > 6 || math.Abs(math.Log(one.Hi/one.Center)-quantile(one.DF, 0.95)*want) > 1e-6 {
		t.Errorf("one run a side with a known spread: %+v, want a standard error of %v", one, want)
	}
	if c := Change(a, b[:1], Usual(), 0.95); !c.Bounded() || c.DF < 2 {
		t.Errorf("three runs and one: %+v", c)
	}

	// Runs without spread, inside or between.
	equal := alike(0, 0.1, 0.1)
	if c := Change(equal, equal, Usual(), 0.95); !c.Contains(1) || c.Lo > 0.95 {
		t.Errorf("equal runs: %+v", c)
	}
	if c := Change(alike(0, 0.1, 0.3), alike(0, 0.1, 0.2), Spread{}, 0.95); !c.Bounded() || c.Hi < 1.5 {
		t.Errorf("runs without standard errors: %+v", c)
	}
	for name, c := range map[string]Pooled{
		"no run":     Change(nil, b, Spread{}, 0.95),
		"no ratio":   Change([]Interval{{}, {}}, b, Spread{}, 0.95),
		"confidence": Change(a, b, Usual(), 1),
	} {
		if c.Bounded() || c.Detectable() != 0 || (name == "confidence") != (c.N > 0) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// minuteOf returns the pairs of a run of 56 blocks whose log ratios have an SD of 10 % and a lag-1
// correlation of rho, as the default study's have: 0.3 to 0.55.
func minuteOf(r *rand.Rand, center, rho float64) (base, other []float64) {
	x := r.NormFloat64()
	for range 56 {
		x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
		base, other = append(base, 1), append(other, math.Exp(center+0.1*x))
	}
	return base, other
}

// Twelve cells, compared between runs of one unchanged machine whose runs differ by 5 %, or by 1 to
// 5 % from cell to cell: at most 5 % of comparisons show any change, and half of those are WORSE.
func TestChangeKeepsItsErrorRate(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const comparisons, cells = 150, 12
	for _, c := range []struct {
		runs      [2]int
		from, tau float64 // of the first and of the last cell
	}{{[2]int{3, 3}, 0.01, 0.05}, {[2]int{5, 2}, 0.05, 0.05}} {
		r := rand.New(rand.NewPCG(17, uint64(c.runs[1])))
		shown, worse := 0.0, 0.0
		for range comparisons {
			any, bad := false, false
			for cell := range cells {
				place := float64(cell) / (cells - 1)
				var side [2][]Interval
				for s, n := range c.runs {
					for range n {
						state := (c.from + (c.tau-c.from)*place) * r.NormFloat64()
						base, other := minuteOf(r, state, 0.3+0.25*place)
						i := Ratio(base, other, 0.95)
						side[s] = append(side[s], i)
					}
				}
				x := Change(side[0], side[1], Usual(), Adjust(0.95, cells))
				any, bad = any || !x.Contains(1), bad || x.Hi < 1
			}
			if any {
				shown += 1.0 / comparisons
			}
			if bad {
				worse += 1.0 / comparisons
			}
		}
		if slack := 3 * math.Sqrt(0.05*0.95/comparisons); shown > 0.05+slack || worse > 0.05 {
			t.Errorf("%+v: %.3f of comparisons show a change, %.3f a worse cell", c, shown, worse)
		}
	}
}

// The table of docs/adr/0006-paired-ratios.md: runs a side for a change of 5, 10 and 20 % in one of 12 cells,
// when a run's own standard error is 2 %. As many find it in 90 % of comparisons.
func TestRunsFor(t *testing.T) {
	const comparisons, own = 400, 0.02
	each := Adjust(0.95, 12)
	for tau, want := range map[float64][3]int{0.01: {13, 6, 4}, 0.02: {17, 7, 4}, 0.05: {45, 14, 6}} {
		r := rand.New(rand.NewPCG(19, uint64(1000*tau)))
		for n, change := range []float64{0.05, 0.1, 0.2} {
			k := RunsFor(tau, own, change, each)
			if k != want[n] {
				t.Errorf("runs that differ by %v show %v with %d a side, want %d", tau, change, k, want[n])
			}
			run := func(center float64) float64 { return center + math.Hypot(tau, own)*r.NormFloat64() }
			found := 0.0
			for range comparisons {
				var a, b []float64
				for range k {
					a, b = append(a, run(0)), append(b, run(math.Log1p(change)))
				}
				if Change(alike(own, a...), alike(own, b...), Usual(), each).Lo > 1 {
					found += 1.0 / comparisons
				}
			}
			if found < 0.9-3*math.Sqrt(0.9*0.1/comparisons) {
				t.Errorf("%d runs a side that differ by %v show %v in %.2f of comparisons, want 0.9", k, tau, change, found)
			}
		}
	}
	for _, c := range []struct {
		tau, change, confidence float64
		want                    int
	}{{0, 0.1, 0.95, 3}, {0.05, 1e-9, 0.95, maxRuns}, {0.05, 0, 0.95, maxRuns}, {0.05, 0.1, 1, maxRuns}} {
		if got := RunsFor(c.tau, 0, c.change, c.confidence); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
