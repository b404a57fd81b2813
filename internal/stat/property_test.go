package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func same(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }

func sameInterval(a, b Interval) bool {
	return same(a.Center, b.Center) && same(a.Lo, b.Lo) && same(a.Hi, b.Hi) && a.Bounded() == b.Bounded() && a.N == b.N
}

func reciprocal(i Interval) Interval {
	i.Center, i.Lo, i.Hi = 1/i.Center, 1/i.Hi, 1/i.Lo
	return i
}

func scaled(v []float64, f float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = f * x
	}
	return out
}

func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		n := 6 + r.IntN(30)
		a, b := make([]float64, n), make([]float64, n)
		for i := range n {
			a[i] = math.Exp(3 * r.NormFloat64())
			b[i] = a[i] * math.Exp(math.Round(10*r.NormFloat64())/20) // with ties
		}
		i := Ratio(a, b, 0.95)
		if !i.Bounded() || !(i.Lo <= i.Center && i.Center <= i.Hi) || !i.Contains(i.Center) {
			t.Fatalf("%+v", i)
		}
		if swapped := reciprocal(Ratio(b, a, 0.95)); !sameInterval(swapped, i) {
			t.Errorf("swapped %+v, want %+v", swapped, i)
		}
		if both := Ratio(scaled(a, 1e-3), scaled(b, 1e-3), 0.95); !sameInterval(both, i) {
			t.Errorf("another unit gives %+v, want %+v", both, i)
		}
		twice := Ratio(a, scaled(b, 2), 0.95)
		if !same(twice.Center, 2*i.Center) || !same(twice.Lo, 2*i.Lo) || !same(twice.Hi, 2*i.Hi) {
			t.Errorf("twice as much gives %+v of %+v", twice, i)
		}
		if wide := Ratio(a, b, 0.99); wide.Bounded() && (wide.Lo > i.Lo || wide.Hi < i.Hi) {
			t.Errorf("at 99 %% %+v is inside %+v", wide, i)
		}
		pa, pb := append([]float64(nil), a...), append([]float64(nil), b...)
		r.Shuffle(n, func(i, j int) { pa[i], pa[j], pb[i], pb[j] = pa[j], pa[i], pb[j], pb[i] })
		// Another order changes only the correlation, and so the width.
		p := Ratio(pa, pb, 0.95)
		if p.N != i.N || !same(p.Center, i.Center) {
			t.Errorf("in another order %+v, want %+v", p, i)
		}
	}
}

func TestEqualSamples(t *testing.T) {
	v := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	if i := Ratio(v, v, 0.95); i.Center != 1 || i.Lo != 1 || i.Hi != 1 || !i.Contains(1) {
		t.Errorf("Ratio: %+v", i)
	}
}

// No output is NaN or infinite, whatever the input.
func FuzzFinite(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 4.0, 0.95, 0.02)
	f.Add(math.MaxFloat64, 5e-324, 5e-324, math.MaxFloat64, 0.5, 1e-300)
	f.Add(math.NaN(), math.Inf(1), -1.0, 0.0, 1.0, math.NaN())
	f.Add(1.0, 1.0, 1.0, 1.0, -1e308, math.Inf(1))
	f.Fuzz(func(t *testing.T, a, b, c, d, confidence, half float64) {
		base, other := []float64{a, b, a, c, d, b, c}, []float64{c, d, b, a, a, d, c}
		for name, i := range map[string]Interval{
			"Ratio": Ratio(base, other, confidence), "Median": Median(base, confidence),
		} {
			if !finite(i.Center) || !finite(i.Lo) || !finite(i.Hi) || !finite(i.Confidence) || i.Lo > i.Hi || !finite(i.SE) || i.SE < 0 || !finite(i.DF) {
				t.Errorf("%s: %+v", name, i)
			}
			if !i.Bounded() && len(i.Warnings) == 0 {
				t.Errorf("%s: neither an interval nor a reason: %+v", name, i)
			}
		}
		if x := Ratio(base, other, confidence).Detectable(); !finite(x) || x < 0 {
			t.Errorf("Detectable: %v", x)
		}
		if i := Ratio(base, other, confidence); i.Needed(half, confidence) < i.N || i.Needed(half, confidence) > maxPairs {
			t.Errorf("Needed: %d of %+v", i.Needed(half, confidence), i)
		}
		Outliers(base, other)
	})
}
