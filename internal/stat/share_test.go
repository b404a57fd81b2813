package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval of a share covers the truth, whether blocks are independent, correlated, or a few of
// them hold most of the tail.
func TestShareCovers(t *testing.T) {
	const blocks, requests, runs = 30, 2000, 1000
	for name, tc := range map[string]struct {
		rho, spread float64 // of the logarithm of a block's share
		want        float64
	}{
		"equal":             {0, 0, 0.93},
		"independent":       {0, 0.5, 0.92},
		"correlated":        {0.5, 0.5, 0.88},
		"a few heavy tails": {0, 1.2, 0.85},
	} {
		rng, covered := rand.New(rand.NewPCG(1, 2)), 0
		// The shares are log-normal, so their mean is known.
		truth := 0.01 * math.Exp(tc.spread*tc.spread/2)
		for range runs {
			part, whole := make([]float64, blocks), make([]float64, blocks)
			x := rng.NormFloat64()
			for b := range part {
				mean := requests * 0.01 * math.Exp(tc.spread*x)
				part[b], whole[b] = math.Max(0, math.Round(mean+math.Sqrt(mean)*rng.NormFloat64())), requests
				x = tc.rho*x + math.Sqrt(1-tc.rho*tc.rho)*rng.NormFloat64()
			}
			if Share(part, whole, 0.95).Contains(truth) {
				covered++
			}
		}
		t.Logf("%s: %.3f", name, float64(covered)/runs)
		if got := float64(covered) / runs; got < tc.want || got > 0.995 {
			t.Errorf("%s: %.3f of the intervals cover the share, want %.2f", name, got, tc.want)
		}
	}
}

func TestShareWithout(t *testing.T) {
	for name, part := range map[string][]float64{"none": nil, "five blocks": {1, 2, 1, 2, 1}, "no part": {0, 0, 0, 0, 0, 0, 0}, "all": {9, 9, 9, 9, 9, 9, 9}} {
		whole := make([]float64, len(part))
		for i := range whole {
			whole[i] = 9
		}
		if i := Share(part, whole, 0.95); i.Bounded() || len(i.Warnings) != 1 {
			t.Errorf("%s: %+v", name, i)
		}
	}
	if i := Share([]float64{1, 1, 1, 1, 1, 1}, []float64{4, 4, 4, 4, 4, 4}, 0.95); math.Abs(i.Lo-0.25) > 1e-12 || math.Abs(i.Hi-0.25) > 1e-12 {
		t.Errorf("equal blocks: %+v", i)
	}
}
