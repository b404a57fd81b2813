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

// Intervals cover the truth as often as the null distribution says, neither less nor more.
func TestCoverage(t *testing.T) {
	const simulations, n, confidence, ratio = 2000, 12, 0.95, 0.8
	sum := func(pmf []float64, rank int) (s float64) {
		for _, p := range pmf[:rank] {
			s += p
		}
		return 1 - 2*s
	}
	paired := sum(signedRankPMF(n), signedRank(n, confidence))
	unpaired := sum(rankSumPMF(n, n-2), rankSum(n, n-2, confidence))
	for name, draw := range noise {
		r := rand.New(rand.NewPCG(9, 10))
		var ratios, shifts float64
		for range simulations {
			base, other := sample(r, n, ratio, draw)
			if Ratio(base, other, confidence).Contains(ratio) {
				ratios++
			}
			var a, b []float64
			for i := range n {
				a = append(a, math.Exp(draw(r)))
				if i >= 2 {
					b = append(b, ratio*math.Exp(draw(r)))
				}
			}
			if Shift(a, b, confidence).Contains(ratio) {
				shifts++
			}
		}
		for what, c := range map[string][2]float64{"Ratio": {ratios / simulations, paired}, "Shift": {shifts / simulations, unpaired}} {
			if got, exact := c[0], c[1]; exact < confidence || math.Abs(got-exact) > 4*math.Sqrt(exact*(1-exact)/simulations) {
				t.Errorf("%s, %s: covers in %.4f, exactly %.4f, nominal %.2f", what, name, got, exact, confidence)
			}
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
	// Log ratios ±s: their averages are -s, 0 and s, and the interval is [-s, s]. The t quantiles
	// of nine degrees of freedom are 2.262 and 0.883 (any t table).
	const s = 0.02
	base, other := make([]float64, 10), make([]float64, 10)
	for i := range base {
		base[i], other[i] = 1, math.Exp(s*float64(1-2*(i%2)))
	}
	want := math.Expm1(s * (1 + 0.883/2.262))
	if got := Ratio(base, other, 0.95).Detectable(); math.Abs(got-want) > 1e-5 {
		t.Errorf("got %v, want %v", got, want)
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

func TestSteinPairs(t *testing.T) {
	base, other := make([]float64, 10), make([]float64, 10)
	for i := range base {
		base[i], other[i] = 1, math.Exp(0.1*float64(1-2*(i%2)))
	}
	times := 0.1 / math.Log(1.05) // the pilot's half width ÷ the requested one
	for _, c := range []struct {
		name                  string
		base, other           []float64
		halfWidth, confidence float64
		want                  int
	}{
		{"5 %", base, other, 0.05, 0.95, int(math.Ceil(10 * times * times))},
		{"the pilot is enough", base, other, 10, 0.95, 10},
		{"no spread", base[:3], base[:3], 0.01, 0.95, 6},
		{"one pair", base[:1], other[:1], 0.01, 0.99, 8},
		{"no pairs", nil, nil, 0.01, 0.95, 6},
		{"too narrow", base, other, 1e-12, 0.95, maxPairs},
		{"no width", base, other, 0, 0.95, maxPairs},
		{"certainty", base, other, 0.1, 1, maxPairs},
	} {
		if got := SteinPairs(c.base, c.other, c.halfWidth, c.confidence); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// A run sized by its own pilot is within the half width of the truth as often as requested.
func TestSteinPairsKeepTheirPromise(t *testing.T) {
	const runs, half, confidence = 600, 0.025, 0.95
	r := rand.New(rand.NewPCG(15, 16))
	hits := 0.0
	for range runs {
		base, other := sample(r, 8, 1, noise["normal"])
		n := SteinPairs(base, other, half, confidence)
		b, o := sample(r, n-8, 1, noise["normal"])
		i := Ratio(append(base, b...), append(other, o...), 0) // the estimate alone
		if math.Abs(math.Log(i.Center)) <= math.Log1p(half) {
			hits++
		}
	}
	if least := confidence - 3*math.Sqrt(confidence*(1-confidence)/runs); hits/runs < least {
		t.Errorf("%.3f of runs are as precise as asked, want %.3f", hits/runs, least)
	}
}
