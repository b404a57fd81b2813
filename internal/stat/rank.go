package stat

import "math"

// walsh ranks the Walsh averages (d[i]+d[j])/2, i <= j, of a sorted d. It counts the n(n+1)/2
// averages instead of storing them: a run of short trials has thousands of pairs.
func walsh(d []float64) ranked {
	n := len(d)
	count := func(t float64) int {
		c, j := 0, n-1
		for i := 0; i < n; i++ {
			for j >= i && (d[i]+d[j])/2 > t {
				j--
			}
			if j < i {
				break
			}
			c += j - i + 1
		}
		return c
	}
	return ranked{n * (n + 1) / 2, func(k int) float64 { return kth(k, d[0], d[n-1], count) }}
}

func values(v []float64) ranked {
	v = sorted(v)
	return ranked{len(v), func(k int) float64 { return v[k-1] }}
}

// kth returns the smallest t in lo..hi with count(t) >= k. It bisects the float64 values between
// the bounds, and so finds an exact value in at most 64 steps.
func kth(k int, lo, hi float64, count func(float64) int) float64 {
	l, h := key(lo), key(hi)
	for l < h {
		mid := l + (h-l)/2
		if count(unkey(mid)) >= k {
			h = mid
		} else {
			l = mid + 1
		}
	}
	return unkey(l)
}

// key maps numbers to integers in the same order.
func key(f float64) uint64 {
	u := math.Float64bits(f)
	if u>>63 == 1 {
		return ^u
	}
	return u | 1<<63
}

func unkey(u uint64) float64 {
	if u>>63 == 1 {
		return math.Float64frombits(u &^ (1 << 63))
	}
	return math.Float64frombits(^u)
}
