package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
)

// expAll returns values whose logarithms are the published differences.
func expAll(v []float64) []float64 {
	e := make([]float64, len(v))
	for i, x := range v {
		e[i] = math.Exp(x)
	}
	return e
}

func logInterval(i Interval) [3]float64 {
	return [3]float64{math.Log(i.Lo), math.Log(i.Center), math.Log(i.Hi)}
}

func close3(a, b [3]float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-9 {
			return false
		}
	}
	return true
}

// Hollander, Wolfe, Chicken, example 3.1 (the depression scale of nine patients before and after):
// estimate -0.46, 96 % interval (-0.786, -0.010).
func TestRatioPublished(t *testing.T) {
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	d, _, _ := logRatios(expAll(before), expAll(after))
	alone := independentCenter(d, 0.95)
	if want := [3]float64{-0.786, -0.46, -0.010}; !close3([3]float64{alone.Lo, alone.Center, alone.Hi}, want) {
		t.Errorf("got %v, want %v", alone, want)
	}
	got := Ratio(expAll(before), expAll(after), 0.95)
	if got.N != 9 || got.Confidence != 0.95 || math.Abs(math.Log(got.Center)+0.46) > 1e-9 || got.Lo >= math.Exp(-0.786) {
		t.Errorf("got %+v", got)
	}
}

func TestMedian(t *testing.T) {
	v := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5, 10}
	alone := independentMedian(v, 0.95) // the critical value of 10 is 1: the second from both ends
	if alone.Center != 5.5 || alone.Lo != 2 || alone.Hi != 9 || alone.N != 10 || !alone.Bounded() {
		t.Errorf("got %+v", alone)
	}
	if got := Median(v, 0.95); got.Center != 5.5 || got.Lo >= 2 || got.Hi <= 9 || got.N != 10 || !got.Bounded() {
		t.Errorf("got %+v", got)
	}
	if v[0] != 9 {
		t.Error("the argument was sorted")
	}
	zero := Median(make([]float64, 6), 0.95)
	if !zero.Bounded() || !zero.Contains(0) || zero.Contains(1e-9) {
		t.Errorf("no loss at all, six times: %+v", zero)
	}
	huge := Median([]float64{math.MaxFloat64, math.MaxFloat64 / 2}, 0.95)
	if !finite(huge.Center) {
		t.Errorf("got %+v", huge)
	}
}

func TestWarnings(t *testing.T) {
	up := func(n int) []float64 { return expAll(make([]float64, n)) } // n ones
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		got  Interval
		n    int
		want string
	}{
		{"few pairs", Ratio(up(8), up(8), Adjust(0.95, 8)), 8, "8 pairs: an interval at 99.38 % needs at least 9"},
		{"few pairs", Ratio(up(8), up(8), 0.994), 8, "8 pairs: an interval at 99.4 % needs at least 9"},
		{"one pair", Ratio(up(1), up(1), 0.95), 1, "1 pair: an interval at 95 % needs at least 6"},
		{"nothing", Ratio(nil, nil, 0.95), 0, "0 pairs: an interval at 95 % needs at least 6"},
		{"not pairs", Ratio(up(3), up(4), 0.95), 0, "3 base values and 4 others are not pairs"},
		{"improper", Ratio([]float64{1, 0, -1, nan, inf}, []float64{1, 0, 1, 1, inf}, 0.95), 1, "4 of 5 pairs dropped"},
		{"infinite", Ratio([]float64{1, 0, 0}, []float64{1, 1, 2}, 0.95), 0, "no ratio: 2 of 3 ratios are infinite"},
		{"infinite", Median([]float64{1, inf, inf}, 0.95), 0, "no median: 2 of 3 values are infinite"},
		{"infinite", Ratio([]float64{1, 1, 1, 1, 1, 0, 0}, []float64{0, 0, 1, 1, 1, 1, 1}, 0.95), 7, "no interval: 2 of 7 ratios are infinite"},
		{"certainty", Ratio(up(9), up(9), 1), 9, "confidence 1 is not between 0 and 1"},
		{"no confidence", Ratio(up(9), up(9), nan), 9, "confidence NaN is not between 0 and 1"},
		{"few values", Median(up(5), 0.95), 5, "5 values: an interval at 95 % needs at least 6"},
		{"improper", Median([]float64{1, nan, nan}, 0.95), 1, "2 of 3 values dropped"},
	} {
		i := c.got
		if i.N != c.n || !strings.Contains(lang.Join(i.Warnings, "\n").String(), c.want) {
			t.Errorf("%s: got %+v, want N %d and %q", c.name, i, c.n, c.want)
		}
		if i.Bounded() || i.Lo != 0 || i.Hi != 0 || i.Contains(i.Center) || i.Contains(0) {
			t.Errorf("%s: there must be no interval: %+v", c.name, i)
		}
	}
}

func TestMinPairs(t *testing.T) {
	for confidence, want := range map[float64]int{0: 1, 0.5: 2, 0.9: 5, 0.9375: 5, 0.95: 6, 0.99: 8, 0.994: 9, 0.999: 11, 1: math.MaxInt} {
		if got := MinPairs(confidence); got != want {
			t.Errorf("MinPairs(%g) = %d, want %d", confidence, got, want)
		}
	}
	for _, confidence := range []float64{0.8, 0.95, 0.99, 0.9999} {
		n := MinPairs(confidence)
		v := expAll(make([]float64, n))
		if !Ratio(v, v, confidence).Bounded() || Ratio(v[1:], v[1:], confidence).Bounded() {
			t.Errorf("at %g, %d pairs are not the fewest", confidence, n)
		}
		if !Median(v, confidence).Bounded() || Median(v[1:], confidence).Bounded() {
			t.Errorf("at %g, %d values are not the fewest", confidence, n)
		}
	}
}

func TestAdjust(t *testing.T) {
	for comparisons, want := range map[int]float64{0: 0.95, 1: 0.95, 2: 0.975, 5: 0.99, 50: 0.999} {
		if got := Adjust(0.95, comparisons); math.Abs(got-want) > 1e-15 {
			t.Errorf("Adjust(0.95, %d) = %v, want %v", comparisons, got, want)
		}
	}
}

func TestRanked(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		a := make([]float64, 1+r.IntN(8))
		for i := range a {
			a[i] = math.Round(r.NormFloat64()*4) / 8 // with ties and zeros
		}
		slices.Sort(a)
		var means []float64
		for i, x := range a {
			for _, y := range a[i:] {
				means = append(means, (x+y)/2)
			}
		}
		sameRanks(t, walsh(a), means)
	}
}

func sameRanks(t *testing.T, r ranked, all []float64) {
	t.Helper()
	slices.Sort(all)
	if r.len != len(all) {
		t.Fatalf("%d values, want %d", r.len, len(all))
	}
	for k, want := range all {
		if got := r.at(k + 1); got != want {
			t.Errorf("value %d of %v is %v", k+1, all, got)
		}
	}
}

func TestOutliers(t *testing.T) {
	base := []float64{10, 11, 0, 12, 10, 13, 11, 12}
	other := []float64{10.1, 11, 5, 1, 9.9, 13.2, 11.1, 11.9}
	if got := Outliers(base, other); !slices.Equal(got, []int{3}) {
		t.Errorf("got %v, want the stall at 3", got)
	}
	for _, v := range [][]float64{nil, {1}, {3, 3, 3, 3, 900}} {
		if got := Outliers(expAll(make([]float64, len(v))), v); got != nil {
			t.Errorf("Outliers of %v: %v", v, got)
		}
	}
}
