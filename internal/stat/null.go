package stat

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Up to exactPairs pairs the null distribution is exact, which takes n³ steps. Beyond, the normal
// approximation with continuity correction differs by less than one rank in a hundred, on the wide
// side (TestNormalApproximation).
const exactPairs = 200

// signedRank returns the rank c among the Walsh averages of n pairs for which [c-th smallest, c-th
// largest] has at least the given confidence: the largest c with P(T < c) <= tail, where T is
// Wilcoxon's signed-rank statistic. It returns 0 if there is none. exact is the confidence that the rank has.
func signedRank(n int, confidence float64) (rank int, exact float64) {
	if n > exactPairs {
		f := float64(n)
		return normalRank(f*(f+1)/4, f*(f+1)*(2*f+1)/24, confidence), confidence
	}
	return lowerRank(signedRankPMF(n), tail(confidence))
}

// signedRankPMF returns P(T = k) up to the middle. Each rank counts with probability 1/2.
func signedRankPMF(n int) []float64 {
	p := make([]float64, n*(n+1)/4+1)
	p[0] = 1
	for i := 1; i <= n; i++ {
		for k := min(len(p)-1, i*(i+1)/2); k >= 0; k-- { // no sum is larger yet
			p[k] /= 2
			if k >= i {
				p[k] += p[k-i] / 2
			}
		}
	}
	return p
}

// binomialRank is signedRank for one sample around its median, with probability 1/2 per value.
func binomialRank(n int, confidence float64) (rank int, exact float64) {
	upTo := func(k int) float64 { return mathext.RegIncBeta(float64(n-k), float64(k+1), 0.5) } // P(X ≤ k)
	rank = sort.Search(n/2, func(k int) bool { return !within(upTo(k), tail(confidence)) })
	if rank == 0 {
		return 0, 0
	}
	return rank, 1 - 2*upTo(rank-1)
}

// lowerRank returns the largest c for which the first c probabilities sum to at most bound, and what they leave between
// the tails.
func lowerRank(pmf []float64, bound float64) (c int, exact float64) {
	sum := 0.0
	for k, p := range pmf {
		if !within(sum+p, bound) {
			return k, 1 - 2*sum
		}
		sum += p
	}
	return len(pmf), 1 - 2*sum
}

func normalRank(mean, variance, confidence float64) int {
	z := mathext.NormalQuantile(1 - tail(confidence))
	return max(0, int(math.Floor(mean-z*math.Sqrt(variance)+0.5)))
}
