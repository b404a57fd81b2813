package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestUnpaired(t *testing.T) {
	base, other := []float64{90, 100, 110}, []float64{45, 50, 55}
	s := ScatterOf(base, other, []float64{7}, []float64{0, -1})
	if s.DF != 4 {
		t.Errorf("%v degrees of freedom of two groups of three", s.DF)
	}
	i := Unpaired(base, other, s, 0.95)
	if math.Abs(i.Center-0.5) > 1e-12 || i.N != 6 || !i.Bounded() || !i.Contains(0.5) || i.Contains(0.7) {
		t.Errorf("%+v", i)
	}
	// One value on a side says nothing about its spread.
	if i := Unpaired(base, other[:1], s, 0.95); i.Bounded() || i.Center < 0.4 || len(i.Warnings) == 0 {
		t.Errorf("%+v", i)
	}
	if i := Unpaired(nil, other, s, 0.95); i.N != 0 {
		t.Errorf("%+v", i)
	}
	if i := Unpaired([]float64{0, 1, 1}, other, s, 0.95); len(i.Warnings) == 0 {
		t.Error("a value of 0 is dropped without a warning")
	}
	if m := LogMean([]float64{1, 100}, 0.95); math.Abs(m.Center-10) > 1e-9 || !m.Bounded() {
		t.Errorf("%+v", m)
	}
	if m := LogMean([]float64{5}, 0.95); m.Bounded() || m.Center != 5 {
		t.Errorf("%+v", m)
	}
	q := Quotient(LogMean(base, 0.95), LogMean(other, 0.95), 0.95)
	if math.Abs(q.Center-0.5) > 1e-12 || !q.Bounded() || q.DF > 4+1e-9 {
		t.Errorf("%+v", q)
	}
}

// All ratios of a table of 24 networks with three results each, as published benchmarks have them,
// contain the truth together in 95 % of the tables: with equal scatter, and when every third network
// scatters three times as much.
func TestUnpairedCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const tables, networks, n = 1500, 24, 3
	for _, uneven := range []float64{1, 3} {
		rng, held := rand.New(rand.NewPCG(1, uint64(uneven))), 0
		for range tables {
			groups := make([][]float64, networks)
			for g := range groups {
				sd := 0.05
				if g%3 == 1 {
					sd *= uneven
				}
				for range n {
					groups[g] = append(groups[g], math.Exp(sd*rng.NormFloat64()))
				}
			}
			common, all := ScatterOf(groups...), true
			each := Adjust(0.95, networks-1)
			for _, g := range groups[1:] {
				all = all && Unpaired(groups[0], g, common, each).Contains(1)
			}
			if all {
				held++
			}
		}
		share := float64(held) / tables
		t.Logf("scatter of every third network ×%g: all ratios hold in %.3f of the tables", uneven, share)
		if share < 0.93 {
			t.Errorf("scatter of every third network ×%g: all ratios hold in only %.3f of the tables", uneven, share)
		}
	}
}

// A network that scatters more than the seven others of a table has an interval that covers; the others have the
// one that they would have without it.
func TestUnpairedWithANoisyNeighbor(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const tables, n = 4000, 3
	for _, noisy := range []float64{1, 5, 20, 33} {
		// Three results that happen to agree do not show that the network scatters: so much is missed at 99.84 %.
		for confidence, least := range map[float64]float64{0.95: 0.93, 0.9984: 0.98} {
			rng := rand.New(rand.NewPCG(2, uint64(noisy)))
			var loud, quiet, wide, narrow float64
			for range tables {
				groups := make([][]float64, 8)
				for g := range groups {
					sd := 0.01
					if g == 7 {
						sd *= noisy
					}
					for range n {
						groups[g] = append(groups[g], math.Exp(sd*rng.NormFloat64()))
					}
				}
				common := ScatterOf(groups...)
				if Unpaired(groups[0], groups[7], common, confidence).Contains(1) {
					loud += 1. / tables
				}
				i := Unpaired(groups[0], groups[1], common, confidence)
				if i.Contains(1) {
					quiet += 1. / tables
				}
				wide += math.Log(i.Hi/i.Lo) / tables
				i = Unpaired(groups[0], groups[1], ScatterOf(groups[:7]...), confidence)
				narrow += math.Log(i.Hi/i.Lo) / tables
			}
			t.Logf("scatter ×%g at %g: covers %.4f, its neighbors %.4f with %.2f times their width", noisy, confidence, loud, quiet, wide/narrow)
			if noise := 3 * math.Sqrt(least*(1-least)/tables); loud < least-noise || quiet < confidence-noise || wide > 1.1*narrow {
				t.Errorf("scatter ×%g at %g: covers %.4f, its neighbors %.4f with %.2f times their width", noisy, confidence, loud, quiet, wide/narrow)
			}
		}
	}
}
