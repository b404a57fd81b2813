package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// runsOf draws k runs around a log ratio of 0. Their true standard errors differ by up to 3 times
// when mixed, and each run knows its own only from ten blocks.
func runsOf(r *rand.Rand, k int, tau float64, mixed bool) (runs []Interval) {
	for i := range k {
		se := 1.0
		if mixed {
			se = 0.5 + float64(i%3)*0.5
		}
		chi := distuv.ChiSquared{K: 9, Src: r}
		y := tau*r.NormFloat64() + se*r.NormFloat64()
		runs = append(runs, Interval{Center: math.Exp(0.02 * y), N: 10, SE: 0.02 * se * math.Sqrt(chi.Rand()/9), DF: 9})
	}
	return runs
}

// Pooled intervals cover the truth of which every run sees another state.
func TestPoolCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	const simulations, confidence, cells = 2000, 0.95, 10
	r := rand.New(rand.NewPCG(21, 22))
	for _, mixed := range []bool{false, true} {
		for _, k := range []int{3, 5, 8, 20} {
			for _, tau := range []float64{0, 0.5, 1, 3} {
				var single, together, next int
				for range simulations {
					runs := runsOf(r, k, tau, mixed)
					p := Pool(runs, confidence)
					if p.Contains(1) {
						single++
					}
					if k < minNext || p.Next.Contains(runsOf(r, 1, tau, false)[0].Center) {
						next++
					}
				}
				for range simulations / 4 {
					all := true
					for range cells {
						all = all && Pool(runsOf(r, k, tau, mixed), Adjust(confidence, cells)).Contains(1)
					}
					if all {
						together++
					}
				}
				s, m, n := float64(single)/simulations, float64(together)/(simulations/4), float64(next)/simulations
				if s < 0.93 || m < 0.93 || n < 0.93 {
					t.Errorf("%d runs, tau/se %v, mixed %v: a 95 %% interval covers in %.3f, ten together in %.3f, the next run in %.3f; want 0.93",
						k, tau, mixed, s, m, n)
				}
				t.Logf("%d runs, tau/se %v, mixed %v: %.3f %.3f %.3f", k, tau, mixed, s, m, n)
			}
		}
	}
}

// One run covers the truth with the tau that earlier runs have shown, though not by itself.
func TestPoolKnownCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	const simulations = 2000
	r := rand.New(rand.NewPCG(25, 26))
	for _, k := range []int{3, 5, 8, 20} {
		for _, tau := range []float64{0, 0.5, 1, 3} {
			hits, alone := 0, 0
			for range simulations {
				earlier, _ := Earlier(runsOf(r, k, tau, false))
				one := runsOf(r, 1, tau, false)
				if PoolKnown(one, earlier, 0.95).Contains(1) {
					hits++
				}
				if math.Abs(math.Log(one[0].Center)) <= one[0].SE*quantile(one[0].DF, 0.95) {
					alone++
				}
			}
			t.Logf("%d earlier runs, tau/se %v: %.3f, alone %.3f", k, tau, float64(hits)/simulations, float64(alone)/simulations)
			if got := float64(hits) / simulations; got < 0.93 {
				t.Errorf("%d earlier runs, tau/se %v: covers in %.3f, want 0.93", k, tau, got)
			}
			if got := float64(alone) / simulations; tau >= 1 && got > 0.87 {
				t.Errorf("tau/se %v: a run by itself covers in %.3f: the simulation shows nothing", tau, got)
			}
		}
	}
}

// The fixed-effect interval, which ignores the spread between runs, fails where Pool must not.
func TestPoolIsNeededAndNeverNarrower(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	hits := 0
	for range 500 {
		runs := runsOf(r, 5, 3, true)
		p := Pool(runs, 0.95)
		var sum, mean float64
		for _, i := range runs {
			w := 1 / (i.SE * i.SE)
			sum, mean = sum+w, mean+w*math.Log(i.Center)
		}
		half := 1.96 / math.Sqrt(sum)
		if math.Abs(mean/sum) <= half {
			hits++
		}
		if own := math.Log(p.Hi/p.Lo) / 2; own < half {
			t.Fatalf("pooled half width %v, fixed-effect %v", own, half)
		}
	}
	if hits > 350 {
		t.Errorf("the fixed-effect interval covers in %d of 500: the simulation shows nothing", hits)
	}
}

// Without standard errors and expectations, the pooled interval is the t interval of the runs' logarithms.
func TestPoolIsTheTIntervalOfBareRuns(t *testing.T) {
	p := PoolExpecting([]Interval{{Center: math.Exp(1), N: 1}, {Center: math.Exp(2), N: 1}, {Center: math.Exp(3), N: 1}}, Spread{}, 0.95)
	half := 4.302653 / math.Sqrt(3) // t of 2 degrees of freedom, standard deviation 1
	for name, c := range map[string][2]float64{"center": {math.Log(p.Center), 2}, "low": {math.Log(p.Lo), 2 - half},
		"high": {math.Log(p.Hi), 2 + half}, "tau": {p.Tau, 1}, "within": {p.Within, 0}, "SE": {p.SE, 1 / math.Sqrt(3)}, "df": {p.DF, 2}} {
		if math.Abs(c[0]-c[1]) > 1e-5 {
			t.Errorf("%s: got %v, want %v", name, c[0], c[1])
		}
	}
}

// The pooled estimate and Paule-Mandel's tau of the BCG vaccine trials, as metafor's vignettes and
// Veroniki et al. have them: log risk ratio -0.7150, tau² 0.3181.
func TestPoolMatchesPublished(t *testing.T) {
	y := []float64{-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459, -0.0173}
	v := []float64{0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714}
	var runs []Interval
	for i := range y {
		runs = append(runs, Interval{Center: math.Exp(y[i]), N: 2, SE: math.Sqrt(v[i])})
	}
	p := Pool(runs, 0.95)
	if math.Abs(p.Tau*p.Tau-0.3181) > 5e-4 || math.Abs(math.Log(p.Center)+0.7150) > 1e-3 {
		t.Errorf("tau² %.4f, estimate %.4f", p.Tau*p.Tau, math.Log(p.Center))
	}
}

func TestPoolEdges(t *testing.T) {
	run := Interval{Center: 0.5, N: 10, SE: 0.03}
	for name, c := range map[string]struct {
		p       Pooled
		n, warn int
		bounded bool
	}{
		"none":             {Pool(nil, 0.95), 0, 0, false},
		"one":              {Pool([]Interval{run}, 0.95), 1, 1, false},
		"no ratio":         {Pool([]Interval{run, run, {}}, 0.95), 2, 1, true},
		"confidence":       {Pool([]Interval{run, run}, 1), 2, 1, false},
		"equal":            {Pool([]Interval{{Center: 2, N: 1}, {Center: 2, N: 1}}, 0.95), 2, 0, true},
		"huge":             {Pool([]Interval{{Center: math.MaxFloat64, N: 1}, {Center: 1e-300, N: 1}}, 0.95), 2, 0, true},
		"known":            {PoolKnown([]Interval{run}, Spread{0.05, 7}, 0.95), 1, 0, true},
		"known, no df":     {PoolKnown([]Interval{run}, Spread{0.05, 0}, 0.95), 1, 1, false},
		"known, one block": {PoolKnown([]Interval{{Center: 0.5, N: 1}}, Spread{0, 7}, 0.95), 1, 1, false},
		"known, none":      {PoolKnown(nil, Spread{0.05, 7}, 0.95), 0, 0, false},
	} {
		if c.p.N != c.n || len(c.p.Warnings) != c.warn || c.p.Bounded() != c.bounded || math.IsNaN(c.p.Center+c.p.Lo+c.p.Hi) {
			t.Errorf("%s: %+v", name, c.p)
		}
	}
	// t of 7 degrees of freedom: 2.3646.
	if p := PoolKnown([]Interval{run}, Spread{0.04, 7}, 0.95); math.Abs(math.Log(p.Hi/0.5)-2.3646*0.05) > 1e-4 {
		t.Errorf("known tau: %+v", p)
	}
	// A tau of 0, however well known, does not make the run's own error better known.
	own := Interval{Center: 0.5, Lo: 0.44, Hi: 0.56, N: 12, Confidence: 0.95, SE: 0.05, DF: 5}
	if p := PoolKnown([]Interval{own}, Spread{0, 100}, 0.95); p.Lo > own.Lo || p.Hi < own.Hi || p.DF != 5 {
		t.Errorf("known tau of 0: %+v", p)
	}
}
