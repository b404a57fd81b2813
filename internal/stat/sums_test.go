package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSums(t *testing.T) {
	i := Sums([]float64{2, 4, 6, 8}, []float64{1, 2, 3, 4}, 0.95)
	if i.Center != 2 || !i.Bounded() || i.Lo != 2 || i.Hi != 2 || i.N != 4 {
		t.Errorf("a constant ratio: %+v", i)
	}
	// By hand: without the first block 14/3, without the second 4, without the third 5; their squared
	// distances from the mean add up to 14/27.
	i = Sums([]float64{4, 6, 8}, []float64{1, 1, 2}, 0.95)
	if math.Abs(i.Center-4.5) > 1e-12 || i.DF != 2 || math.Abs(i.SE-math.Sqrt(2./3*14/27)) > 1e-12 {
		t.Errorf("%+v", i)
	}
	for name, c := range map[string][2][]float64{"none": {nil, nil}, "no work": {{1, 2, 3}, {0, 0, 0}}, "two": {{1, 2}, {1, 2}}, "one works": {{1, 2, 3}, {0, 0, 1}}} {
		if i := Sums(c[0], c[1], 0.95); i.Bounded() || len(i.Warnings) == 0 || !finite(i.Center) {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// The interval covers as often as it says, for independent blocks and for correlated ones, where the
// steps of a counter come on top.
func TestSumsCover(t *testing.T) {
	for name, c := range map[string]struct {
		n    int
		rho  float64
		most float64 // share of misses that is still fine
	}{"8 blocks": {8, 0, 0.08}, "56 blocks": {56, 0, 0.08}, "correlated": {56, 0.6, 0.12}} {
		rnd, misses := rand.New(rand.NewPCG(1, 2)), 0
		const runs = 1000
		for range runs {
			over, under := make([]float64, c.n), make([]float64, c.n)
			state := rnd.NormFloat64()
			for k := range over {
				state = c.rho*state + math.Sqrt(1-c.rho*c.rho)*rnd.NormFloat64()
				under[k] = 10 + rnd.Float64()
				over[k] = math.Floor(under[k]*2*(1+0.1*state) + rnd.Float64())
			}
			if i := Sums(over, under, 0.95); !i.Contains(2) {
				misses++
			}
		}
		if share := float64(misses) / runs; share > c.most || share < 0.01 {
			t.Errorf("%s: %.3f of the intervals miss", name, share)
		}
	}
}

func FuzzSums(f *testing.F) {
	f.Add(1.0, -2.0, 3.0, 1.0, 0.0, 2.0)
	f.Add(math.MaxFloat64, math.Inf(1), math.NaN(), 5e-324, 1e308, -1.0)
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g float64) {
		i := Sums([]float64{a, b, c, a}, []float64{d, e, g, d}, 0.95)
		if !finite(i.Center) || !finite(i.Lo) || !finite(i.Hi) || !finite(i.SE) || i.Lo > i.Hi || !i.Bounded() && len(i.Warnings) == 0 {
			t.Errorf("%+v", i)
		}
	})
}
