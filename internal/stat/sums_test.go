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
	// By hand: 18/4, from which the blocks are off by -0.5, 1.5 and -1, in units of their mean 4/3. Three blocks are taken
	// as independent, with a warning: the error is the root of 3.5/(16/9)/2/3.
	i = Sums([]float64{4, 6, 8}, []float64{1, 1, 2}, 0.95)
	if math.Abs(i.Center-4.5) > 1e-12 || i.DF != 2 || math.Abs(i.SE-math.Sqrt(3.5*9/16/6)) > 1e-12 || len(i.Warnings) == 0 {
		t.Errorf("%+v", i)
	}
	for name, c := range map[string][2][]float64{"none": {nil, nil}, "no work": {{1, 2, 3}, {0, 0, 0}}, "two": {{1, 2}, {1, 2}}, "one works": {{1, 2, 3}, {0, 0, 1}}} {
		if i := Sums(c[0], c[1], 0.95); i.Bounded() || len(i.Warnings) == 0 || !finite(i.Center) {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// The interval covers as often as it says, for independent blocks and for correlated ones, where the
// steps of a counter come on top, and is not much wider than one that knows the correlation.
func TestSumsCover(t *testing.T) {
	const runs = 1000
	for _, c := range []struct {
		name      string
		draw      func(*rand.Rand, int) []float64
		inflation float64 // of the standard error of many blocks
	}{{"independent", autoregressive(0), 1}, {"correlation 0.6", autoregressive(0.6), 2}, {"two states, 6 blocks each", states(true, 6), 0}} {
		for n, most := range map[int]float64{6: 2.3, 10: 2, 20: 1.5, 40: 1.25} {
			rnd, held, width := rand.New(rand.NewPCG(1, uint64(n))), 0.0, 0.0
			for range runs {
				over, under := make([]float64, n), make([]float64, n)
				for k, state := range c.draw(rnd, n) {
					under[k] = 10 + rnd.Float64()
					over[k] = math.Floor(under[k]*2*(1+0.1*state) + rnd.Float64())
				}
				i := Sums(over, under, 0.95)
				if i.Contains(2) {
					held += 1. / runs
				}
				width += (i.Hi - i.Lo) / 2 / runs
			}
			if held < 0.93-3*math.Sqrt(0.93*0.07/runs) {
				t.Errorf("%s, %d blocks: %.3f covered", c.name, n, held)
			}
			known := 0.2 * c.inflation / math.Sqrt(float64(n)) * quantile(float64(n-1), 0.95)
			t.Logf("%s, %d blocks: %.3f covered, ±%.3f", c.name, n, held, width)
			if c.inflation > 0 && width > most*known {
				t.Errorf("%s, %d blocks: %.2f times as wide as if the correlation were known", c.name, n, width/known)
			}
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
