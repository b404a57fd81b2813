package stat

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Up to these sizes the null distributions are exact, which takes n³ and m²n² steps. Beyond them,
// the normal approximation with continuity correction differs by less than one rank in a hundred,
// on the wide side (TestNormalApproximation).
const (
	exactPairs   = 200   // pairs
	exactProduct = 10000 // values of one sample times values of the other
)

// signedRank returns the rank c among the Walsh averages of n pairs for which [c-th smallest, c-th
// largest] has at least the given confidence: the largest c with P(T < c) <= tail, where T is
// Wilcoxon's signed-rank statistic. It returns 0 if there is none.
func signedRank(n int, confidence float64) int {
	if n > exactPairs {
		f := float64(n)
		return normalRank(f*(f+1)/4, f*(f+1)*(2*f+1)/24, confidence)
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

// rankSum is signedRank for the m*n differences of two samples, with the Mann-Whitney statistic U.
func rankSum(m, n int, confidence float64) int {
	if m*n > exactProduct {
		product := float64(m) * float64(n)
		return normalRank(product/2, product*float64(m+n+1)/12, confidence)
	}
	return lowerRank(rankSumPMF(m, n), tail(confidence))
}

// rankSumPMF returns P(U = u) up to the middle of the range, by the recursion of Mann and Whitney
// (1947): the largest of i+j values belongs to the first sample with probability i/(i+j), and then
// exceeds all j of the other.
func rankSumPMF(m, n int) []float64 {
	if n > m {
		m, n = n, m // U is symmetric; n is the number of rows below
	}
	row := make([][]float64, n+1) // row[j] is the distribution for i and j
	for j := range row {
		row[j] = make([]float64, m*n/2+1)
		row[j][0] = 1
	}
	for i := 1; i <= m; i++ {
		for j := 1; j <= n; j++ {
			mine, other := float64(i)/float64(i+j), float64(j)/float64(i+j)
			for u := min(len(row[j])-1, i*j); u >= 0; u-- { // U is not larger yet
				p := other * row[j-1][u]
				if u >= j {
					p += mine * row[j][u-j] // still of i-1
				}
				row[j][u] = p
			}
		}
	}
	return row[n]
}

// binomialRank is signedRank for one sample around its median, with probability 1/2 per value.
func binomialRank(n int, confidence float64) int {
	b := distuv.Binomial{N: float64(n), P: 0.5}
	return sort.Search(n/2, func(k int) bool { return !within(b.CDF(float64(k)), tail(confidence)) })
}

// lowerRank returns the largest c for which the first c probabilities sum to at most bound.
func lowerRank(pmf []float64, bound float64) int {
	sum := 0.0
	for k, p := range pmf {
		if sum += p; !within(sum, bound) {
			return k
		}
	}
	return len(pmf)
}

func normalRank(mean, variance, confidence float64) int {
	z := distuv.UnitNormal.Quantile(1 - tail(confidence))
	return max(0, int(math.Floor(mean-z*math.Sqrt(variance)+0.5)))
}
