package stat

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// With -simulations 4000, TestCoverageUnderCorrelation prints the table of docs/lab/2026-11-intervals-under-correlation.md.
var simulations = flag.Int("simulations", 0, "simulate this many `runs` per cell and print the table of docs/lab/2026-11-intervals-under-correlation.md")

// A process draws n errors in time order, whose (pseudo-)median is center, in standard deviations.
type process struct {
	name   string
	center float64
	draw   func(r *rand.Rand, n int) []float64
}

var processes = []process{
	{"independent", 0, autoregressive(0)},
	{"correlation 0.3", 0, autoregressive(0.3)},
	{"correlation 0.6", 0, autoregressive(0.6)},
	{"correlation 0.9", 0, autoregressive(0.9)},
	{"two states, 10 blocks each", 0, states(true, 10)},
	{"states that change at random", 0, states(false, 10)},
	{"drift by 3 SD", 0, drift},
	// Half of the pairwise means of a normal distribution with 5 % at -6 SD lie above -0.096.
	{"5 % stalls of 6 SD", -0.096, stalls},
}

func autoregressive(rho float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		v, x := make([]float64, n), r.NormFloat64()
		for i := range v {
			v[i] = x
			x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
		}
		return v
	}
}

// states adds ±1 SD. It begins anywhere within the blocks of a state; the next is the other one,
// or either of both.
func states(alternate bool, blocks int) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		v, at, state := make([]float64, n), r.IntN(blocks), float64(2*r.IntN(2)-1)
		for i := range v {
			if at++; at%blocks == 0 && (alternate || r.IntN(2) == 0) {
				state = -state
			}
			v[i] = state + r.NormFloat64()
		}
		return v
	}
}

func drift(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 3*(float64(i)/float64(n-1)-0.5) + r.NormFloat64()
	}
	return v
}

func stalls(r *rand.Rand, n int) []float64 {
	v := autoregressive(0)(r, n)
	for i := range v {
		if r.Float64() < 0.05 {
			v[i] -= 6
		}
	}
	return v
}

// exponential returns pairs with a spread of 5 % and ratios that follow v.
func exponential(v []float64) (base, other []float64) {
	for _, x := range v {
		base, other = append(base, 1), append(other, math.Exp(0.05*x))
	}
	return base, other
}

// measured is what a simulation counts, as shares of its runs: intervals that hold the truth and
// that warn, of ratios and of medians; the width next to the signed-rank interval's, of half of the
// runs and on average; and what that interval covers.
type measured struct {
	covered, warned, median, ignored, width, mean float64
}

func simulate(p process, n, runs int, confidence float64) (m measured) {
	r := rand.New(rand.NewPCG(uint64(n), 2))
	var widths []float64
	share := func(to *float64, when bool) {
		if when {
			*to += 1 / float64(runs)
		}
	}
	for range runs {
		v := p.draw(r, n)
		base, other := exponential(v)
		i := Ratio(base, other, confidence)
		share(&m.covered, i.Contains(math.Exp(0.05*p.center)))
		share(&m.warned, i.Warnings != nil)
		alone := independentCenter(v, confidence)
		share(&m.ignored, alone.Contains(p.center))
		widths = append(widths, math.Log(i.Hi/i.Lo)/0.05/(alone.Hi-alone.Lo))
		m.mean += widths[len(widths)-1] / float64(runs)
		if p.center == 0 { // the median of values with stalls is elsewhere
			share(&m.median, Median(v, confidence).Contains(0))
		}
	}
	slices.Sort(widths)
	m.width = widths[runs/2]
	return m
}

// A 95 % interval covers the truth in at least 93 % of runs, or warns in at least 95 %.
func TestCoverageUnderCorrelation(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	runs, sizes := 500, []int{6, 8, 12, 20, 56}
	if *simulations > 0 {
		runs, sizes = *simulations, []int{6, 8, 10, 12, 14, 20, 30, 40, 60}
	}
	var table strings.Builder
	for _, p := range processes {
		for _, n := range sizes {
			m := simulate(p, n, runs, 0.95)
			fmt.Fprintf(&table, "| %s | %d | %.3f | %.3f | %.3f | %.2f | %.2f | %.2f |\n", p.name, n, m.ignored, m.covered, m.median, m.warned, m.width, m.mean)
			noise := 3 * math.Sqrt(0.93*0.07/float64(runs))
			if p.name == "states that change at random" {
				continue // a run of equal states shows nothing; no interval covers what it did not see
			}
			if m.covered < 0.93-noise && m.warned < 0.95-noise {
				t.Errorf("%s, %d pairs: %.3f covered, %.3f warned", p.name, n, m.covered, m.warned)
			}
			if p.center == 0 && m.median < 0.93-noise && m.warned < 0.95-noise {
				t.Errorf("%s, %d values: %.3f of the medians covered, %.3f warned", p.name, n, m.median, m.warned)
			}
			if p.name == "independent" && n >= 20 && m.width > 1.22 {
				t.Errorf("%d independent pairs: the interval is %.2f times as wide as without widening", n, m.width)
			}
			if p.name == "correlation 0.6" && m.ignored > 0.85 {
				t.Errorf("%d pairs: an interval without widening covers %.3f: the test shows nothing", n, m.ignored)
			}
		}
	}
	if *simulations > 0 {
		fmt.Printf("| errors | blocks | ignoring correlation | ratio | median | warned | width | mean width |\n|---|---|---|---|---|---|---|---|\n%s", table.String())
	}
}

// Ten ratios to one baseline hold together in at least 90 % of runs, each with 99.5 %.
func TestCoverageTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	runs, sizes := 150, []int{10, 20, 56}
	if *simulations > 0 {
		runs, sizes = *simulations/4, []int{10, 14, 20, 30, 40, 60}
	}
	const ratios = 10
	confidence := Adjust(0.95, ratios)
	var table strings.Builder
	for _, rho := range []float64{0, 0.3, 0.6} {
		for _, n := range sizes {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			var together, ignored float64
			for range runs {
				base := autoregressive(rho)(r, n)
				all, alone := true, true
				for range ratios {
					d := autoregressive(rho)(r, n)
					for i := range d {
						d[i] -= base[i]
					}
					alone = alone && independentCenter(d, confidence).Contains(0)
					b, o := exponential(d)
					all = all && Ratio(b, o, confidence).Contains(1)
				}
				if all {
					together += 1 / float64(runs)
				}
				if alone {
					ignored += 1 / float64(runs)
				}
			}
			fmt.Fprintf(&table, "| %g | %d | %.3f | %.3f |\n", rho, n, ignored, together)
			if noise := 3 * math.Sqrt(0.9*0.1/float64(runs)); together < 0.9-noise {
				t.Errorf("correlation %g, %d pairs: together they cover %.3f", rho, n, together)
			}
		}
	}
	if *simulations > 0 {
		fmt.Printf("| correlation | blocks | ignoring correlation | together |\n|---|---|---|---|\n%s", table.String())
	}
}

func TestNeighbors(t *testing.T) {
	for _, c := range []struct {
		v      []float64
		r      float64
		spread bool
	}{
		{nil, 0, false},
		{[]float64{3}, 0, false},
		{[]float64{3, 3, 3, 3}, 0, false},
		{[]float64{1, 2, 3, 4}, 0.25, true},         // ranks -1.5 -0.5 0.5 1.5: (0.75 - 0.25 + 0.75) / 5
		{[]float64{1, 2, 3, 4, 1e300}, 0.4, true},   // however far
		{[]float64{1, 1 + 1e-15, 2, 2}, 0.25, true}, // ranks -1 -1 1 1
		{[]float64{-math.MaxFloat64, math.MaxFloat64}, -0.5, true},
	} {
		if r, spread := neighbors(c.v); math.Abs(r-c.r) > 1e-12 || spread != c.spread {
			t.Errorf("%v: %v, %v, want %v, %v", c.v, r, spread, c.r, c.spread)
		}
	}
}

// An interval reaches t times SE to both sides, and at least as far as the signed-rank interval.
func TestStandardError(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for range 50 {
		v := autoregressive(0.5)(r, 9+r.IntN(60))
		base, other := exponential(v)
		i, wide := Ratio(base, other, 0.95), Ratio(base, other, 0.99)
		reach := i.SE * quantile(i.DF, i.Confidence)
		alone := independentCenter(v, 0.95)
		if lo, hi := math.Min(0.05*alone.Lo, math.Log(i.Center)-reach), math.Max(0.05*alone.Hi, math.Log(i.Center)+reach); math.Abs(lo-math.Log(i.Lo)) > 1e-9 || math.Abs(hi-math.Log(i.Hi)) > 1e-9 {
			t.Errorf("%+v, want %v to %v", i, math.Exp(lo), math.Exp(hi))
		}
		if i.DF < minFreedom || i.DF > float64(i.N-1) || i.SE <= 0 || i.SE != wide.SE || i.DF != wide.DF {
			t.Errorf("%+v, at 99 %% %+v", i, wide)
		}
	}
}

// One stall widens an interval by its share of the pairs, whatever its depth.
func TestOneStall(t *testing.T) {
	base, other := exponential(autoregressive(0.5)(rand.New(rand.NewPCG(19, 20)), 30))
	before := Ratio(base, other, 0.95)
	other[10] *= 0.5
	deep := Ratio(base, other, 0.95)
	other[10] *= 1e-6
	deeper := Ratio(base, other, 0.95)
	if deep.Lo != deeper.Lo || deep.Hi != deeper.Hi {
		t.Errorf("a deeper stall changes %+v to %+v", deep, deeper)
	}
	if w := math.Log(deep.Hi/deep.Lo) / math.Log(before.Hi/before.Lo); w < 0.8 || w > 1.4 {
		t.Errorf("a stall makes the interval %.2f times as wide", w)
	}
}
