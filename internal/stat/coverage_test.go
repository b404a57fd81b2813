package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// noise holds symmetric distributions of log ratios, from none to very heavy tails.
var noise = map[string]func(*rand.Rand) float64{
	"normal":  func(r *rand.Rand) float64 { return r.NormFloat64() },
	"laplace": func(r *rand.Rand) float64 { return r.ExpFloat64() - r.ExpFloat64() },
	"cauchy":  func(r *rand.Rand) float64 { return math.Tan(math.Pi * (r.Float64() - 0.5)) },
}

// sample returns n pairs with a spread of 5 %. The base drifts much more; pairing cancels it.
func sample(r *rand.Rand, n int, ratio float64, draw func(*rand.Rand) float64) (base, other []float64) {
	for range n {
		b := 1e9 * math.Exp(r.NormFloat64())
		base = append(base, b)
		other = append(other, b*ratio*math.Exp(0.05*draw(r)))
	}
	return base, other
}

// Without the widening for correlation, intervals cover the truth as often as the null distribution
// says, neither less nor more; with it, they cover more.
func TestCoverage(t *testing.T) {
	const simulations, n, confidence, ratio = 2000, 12, 0.95, 0.8
	sum := func(pmf []float64, rank int) (s float64) {
		for _, p := range pmf[:rank] {
			s += p
		}
		return 1 - 2*s
	}
	rank, exact := signedRank(n, confidence)
	paired := sum(signedRankPMF(n), rank)
	if math.Abs(exact-paired) > 1e-12 {
		t.Errorf("the rank has %v, not %v", paired, exact)
	}
	for name, draw := range noise {
		r := rand.New(rand.NewPCG(9, 10))
		var ratios, widened float64
		for range simulations {
			base, other := sample(r, n, ratio, draw)
			d, _, _ := logRatios(base, other)
			if independentCenter(d, confidence).Contains(math.Log(ratio)) {
				ratios++
			}
			if Ratio(base, other, confidence).Contains(ratio) {
				widened++
			}
		}
		if widened < ratios {
			t.Errorf("%s: Ratio covers in %v, its signed-rank interval in %v", name, widened/simulations, ratios/simulations)
		}
		if got := ratios / simulations; paired < confidence || math.Abs(got-paired) > 4*math.Sqrt(paired*(1-paired)/simulations) {
			t.Errorf("%s: covers in %.4f, exactly %.4f, nominal %.2f", name, got, paired, confidence)
		}
	}
}

// The same holds beyond the size of the exact distribution.
func TestCoverageOfManyPairs(t *testing.T) {
	const simulations, confidence, ratio = 300, 0.95, 1.1
	r := rand.New(rand.NewPCG(11, 12))
	hits := 0.0
	for range simulations {
		base, other := sample(r, exactPairs+50, ratio, noise["laplace"])
		if Ratio(base, other, confidence).Contains(ratio) {
			hits++
		}
	}
	if bound := 4 * math.Sqrt(confidence*(1-confidence)/simulations); math.Abs(hits/simulations-confidence) > bound {
		t.Errorf("covers in %.3f", hits/simulations)
	}
}

// 80 % of runs show a difference of Detectable's size.
func TestDetectableHasItsPower(t *testing.T) {
	const simulations, confidence = 1500, 0.95
	for _, n := range []int{10, 30} {
		r := rand.New(rand.NewPCG(13, 14))
		delta := 0.0 // mean over many runs: one run estimates its spread only roughly
		for range 300 {
			base, other := sample(r, n, 1, noise["normal"])
			delta += Ratio(base, other, confidence).Detectable() / 300
		}
		shown := 0.0
		for range simulations {
			base, other := sample(r, n, 1+delta, noise["normal"])
			if Ratio(base, other, confidence).Lo > 1 {
				shown++
			}
		}
		if got := shown / simulations; got < 0.74 || got > 0.86 {
			t.Errorf("%d pairs: %.3f is shown in %.2f of runs, want 0.80", n, delta, got)
		}
	}
}

func TestDetectable(t *testing.T) {
	// Log ratios ±s: their averages are -s, 0 and s, and the signed-rank interval at 80 % is [-s, s]; with its rank it
	// holds in 80.7 %, for which t of nine degrees is 1.403. The correlation is negative, so they are independent as far as
	// ten blocks can tell: t is 2.262 and 0.883 for nine degrees (any t table).
	const s = 0.02
	base, other := make([]float64, 10), make([]float64, 10)
	for i := range base {
		base[i], other[i] = 1, math.Exp(s*float64(1-2*(i%2)))
	}
	want := math.Expm1(s / 1.403 * (2.262 + 0.883))
	if got := Ratio(base, other, 0.95).Detectable(); got < want || got > 1.1*want {
		t.Errorf("got %v, want %v to a tenth", got, want)
	}
	for name, got := range map[string]float64{
		"no spread":   Ratio(base, base, 0.95).Detectable(),
		"too few":     Ratio(base[:5], other[:5], 0.95).Detectable(),
		"none":        Ratio(nil, nil, 0.95).Detectable(),
		"no pairs":    Ratio(base, other[:9], 0.95).Detectable(),
		"uncertainty": Ratio(base, other, 0).Detectable(),
	} {
		if got != 0 {
			t.Errorf("%s: got %v, want 0", name, got)
		}
	}
}

// No difference that an interval leaves possible, to either side, is among those that would have shown.
func TestDetectableIsBeyondTheInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	outlier := func(n int, far float64) []float64 {
		v := make([]float64, n)
		for k := range v {
			v[k] = 0.01 * r.NormFloat64()
		}
		v[n/2] = far
		return expAll(v)
	}
	for _, n := range []int{6, 8, 10, 12, 20, 30} {
		ones := expAll(make([]float64, n))
		for _, far := range []float64{0, 0.6, -0.6, -5} {
			i := Ratio(ones, outlier(n, far), 0.95)
			if least := math.Max(i.Hi, 1/i.Lo) - 1; i.Contains(1) && i.Detectable() < least*(1-1e-9) {
				t.Errorf("%d pairs, one at %v: %v would have shown, and the interval is %v to %v", n, far, i.Detectable(), i.Lo, i.Hi)
			}
		}
	}
	for _, zeros := range []int{5, 6} { // a network that stalls can lose anything
		base, other := stalling(30, zeros, 0.99)
		if i := Ratio(base, other, 0.95); i.Lo != 0 || !i.Contains(1) || i.Detectable() != math.MaxFloat64 {
			t.Errorf("%d of 30 are 0: %v would have shown, and the interval is %v to %v", zeros, i.Detectable(), i.Lo, i.Hi)
		}
	}
}

func TestNeeded(t *testing.T) {
	base, other := make([]float64, 10), make([]float64, 10)
	for i := range base {
		base[i], other[i] = 1, math.Exp(0.1*float64(1-2*(i%2)))
	}
	for _, c := range []struct {
		name                  string
		base, other           []float64
		halfWidth, confidence float64
		want                  int
	}{
		{"5 %", base, other, 0.05, 0.95, 69}, // 0.0623 √(10/69) 2.042, with t of 30 degrees, is just below log 1.05
		{"the pilot is enough", base, other, 10, 0.95, 10},
		{"no spread", base[:3], base[:3], 0.01, 0.95, 6},
		{"one pair", base[:1], other[:1], 0.01, 0.99, 8},
		{"no pairs", nil, nil, 0.01, 0.95, 6},
		{"too narrow", base, other, 1e-12, 0.95, maxPairs},
		{"no width", base, other, 0, 0.95, maxPairs},
		{"certainty", base, other, 0.1, 1, maxPairs},
	} {
		if got := Ratio(c.base, c.other, c.confidence).Needed(c.halfWidth, c.confidence); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
