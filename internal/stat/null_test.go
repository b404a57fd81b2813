package stat

import (
	"math"
	"testing"
)

// Critical values of the signed-rank statistic, the largest t with P(T <= t) <= tail: Wilcoxon and
// Wilcox, Some Rapid Approximate Statistical Procedures (1964), table 2. The rank is one more.
func TestSignedRankTable(t *testing.T) {
	for _, table := range []struct {
		confidence float64
		first      int // pairs
		critical   []int
	}{
		{0.95, 5, []int{-1, 0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52, 58, 65, 73, 81, 89, 98, 107, 116, 126, 137}},
		{0.99, 7, []int{-1, 0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37, 42, 48, 54, 61, 68, 75, 83, 91, 100, 109}},
		{0.90, 4, []int{-1, 0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 30, 35, 41, 47, 53, 60}},
	} {
		for i, want := range table.critical {
			if got, _ := signedRank(table.first+i, table.confidence); got-1 != want {
				t.Errorf("%d pairs at %g: critical value %d, want %d", table.first+i, table.confidence, got, want)
			}
		}
	}
}

// Critical values of the sign test, two-sided 5 %: Siegel (1956), from table D.
func TestBinomialTable(t *testing.T) {
	for n, want := range map[int]int{5: -1, 6: 0, 8: 0, 9: 1, 12: 2, 15: 3, 17: 4, 20: 5, 25: 7, 30: 9, 40: 13, 50: 17} {
		if got, _ := binomialRank(n, 0.95); got-1 != want {
			t.Errorf("%d values: critical value %d, want %d", n, got, want)
		}
	}
}

// The lower half of a symmetric distribution, doubled, with the middle counted once, sums to 1.
func TestNullDistributionsSumToOne(t *testing.T) {
	sum := func(p []float64, top int) float64 {
		s := 0.0
		for k, x := range p {
			s += x
			if 2*k != top {
				s += x
			}
		}
		return s
	}
	for _, n := range []int{1, 2, 3, 4, 7, 50, exactPairs} {
		if s := sum(signedRankPMF(n), n*(n+1)/2); math.Abs(s-1) > 1e-12 {
			t.Errorf("signed rank of %d pairs sums to %v", n, s)
		}
	}
}

// Exact and approximate ranks agree to a hundredth where they meet, on the wide side.
func TestNormalApproximation(t *testing.T) {
	n := float64(exactPairs)
	pairs := signedRankPMF(exactPairs)
	for _, confidence := range []float64{0.9, 0.95, 0.99, 0.999, 0.9999} {
		exact, _ := lowerRank(pairs, tail(confidence))
		near(t, "signed rank", confidence, exact, normalRank(n*(n+1)/4, n*(n+1)*(2*n+1)/24, confidence))
	}
}

func near(t *testing.T, what string, confidence float64, exact, normal int) {
	t.Helper()
	if normal > exact+1 || float64(normal) < 0.99*float64(exact) {
		t.Errorf("%s at %g: exact rank %d, normal approximation %d", what, confidence, exact, normal)
	}
}
