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
