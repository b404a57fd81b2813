package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Blocks of two states are warned about where their interval misses the state of most blocks; symmetric ratios, whatever
// their tails and correlation, in at most one case of twenty.
func TestSkewed(t *testing.T) {
	second := func(share float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 {
			x := r.NormFloat64()
			if r.Float64() < share {
				x += 8
			}
			return x
		}
	}
	const simulations = 400
	of := func(n int, draw func(*rand.Rand) float64) (covered, warned float64) {
		r := rand.New(rand.NewPCG(21, uint64(n)))
		for range simulations {
			base, other := sample(r, n, 0.8, draw)
			i := Ratio(base, other, 0.95)
			if i.Contains(0.8) {
				covered++
			}
			for _, w := range i.Warnings {
				if strings.Contains(string(w), "two states") {
					warned++
				}
			}
		}
		return covered / simulations, warned / simulations
	}
	last := 0.0
	ordinary := map[string]func(*rand.Rand) float64{"normal": noise["normal"], "laplace": noise["laplace"], "cauchy": noise["cauchy"],
		"correlated": func(r *rand.Rand) float64 { last = 0.6*last + r.NormFloat64(); return last }}
	for name, draw := range ordinary {
		for _, n := range []int{8, 12, 20, 40, 60} {
			if _, warned := of(n, draw); warned > oneSided {
				t.Errorf("%s, %d blocks: warned in %.3f", name, n, warned)
			}
		}
	}
	for _, c := range []struct {
		n           int
		share, most float64 // of the second state; coverage
		least       float64 // warned
	}{{60, 0.15, 0.93, 0.85}, {60, 0.25, 0.8, 0.9}, {40, 0.25, 0.82, 0.77}} {
		covered, warned := of(c.n, second(c.share))
		t.Logf("%d blocks, %g of them in another state: covers in %.3f, warned in %.3f", c.n, c.share, covered, warned)
		if covered > c.most || warned < c.least {
			t.Errorf("%d blocks, %g of them in another state: covers in %.3f, want at most %g; warned in %.3f, want %g", c.n, c.share, covered, c.most, warned, c.least)
		}
	}
	if p := signTest(6, 0); math.Abs(p-2.0/64) > 1e-12 {
		t.Errorf("six of six on one side: %v", p)
	}
}
