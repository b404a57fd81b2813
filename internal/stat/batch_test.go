package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// walk returns n pairs whose log ratios are an AR(1) process around 0.
func walk(r *rand.Rand, n int, phi float64) (base, other []float64) {
	x := r.NormFloat64() / math.Sqrt(1-phi*phi)
	for range n {
		x = phi*x + r.NormFloat64()
		base, other = append(base, 1), append(other, math.Exp(0.05*x))
	}
	return base, other
}

// Without batching, a 95 % interval of correlated neighbors covers the truth too rarely.
func TestBatchCoverage(t *testing.T) {
	const runs, n, confidence = 800, 120, 0.95
	for _, c := range []struct {
		phi                  float64
		ignoring, batchingLo float64 // upper bound, lower bound
	}{{0, 1, 0.93}, {0.5, 0.83, 0.89}} {
		r := rand.New(rand.NewPCG(3, 4))
		var ignored, batched int
		for range runs {
			b, o := walk(r, n, c.phi)
			if Ratio(b, o, confidence).Contains(1) {
				ignored++
			}
			b, o, _ = batch(b, o, confidence)
			if Ratio(b, o, confidence).Contains(1) {
				batched++
			}
		}
		if got := float64(ignored) / runs; got > c.ignoring {
			t.Errorf("phi %v: without batching %v are covered: the test shows nothing", c.phi, got)
		}
		if got := float64(batched) / runs; got < c.batchingLo {
			t.Errorf("phi %v: with batching %v are covered, want at least %v", c.phi, got, c.batchingLo)
		}
	}
}

func TestBatchKeepsEnough(t *testing.T) {
	var base, other []float64
	for i := range 2*MinPairs(0.95) + 1 { // a drift: maximal correlation
		base, other = append(base, 1), append(other, math.Exp(float64(i)))
	}
	b, o, size := batch(base, other, 0.95)
	if len(b) != MinPairs(0.95) || len(o) != len(b) || size != 2 {
		t.Errorf("%d pairs in groups of %d, want %d in groups of 2", len(b), size, MinPairs(0.95))
	}
	if got, want := o[len(o)-1], math.Exp(float64(len(base)-2)); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("the last group of three has mean %v, want %v", got, want)
	}
	if _, _, size := batch([]float64{1, 2}, []float64{1}, 0.95); size != 1 {
		t.Errorf("pairs of unequal number were batched in groups of %d", size)
	}
}
