package stat

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
)

// stalling returns n pairs around a ratio; the first zeros of other are 0, as if nothing had arrived.
func stalling(n, zeros int, ratio float64) (base, other []float64) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for range n {
		x := math.Exp(r.NormFloat64())
		base, other = append(base, x), append(other, ratio*x*math.Exp(0.05*r.NormFloat64()))
	}
	order := r.Perm(n)
	for _, i := range order[:zeros] {
		other[i] = 0
	}
	return base, other
}

// A ratio of 0 counts as one that is nearly 0 does.
func TestZeroIsTheSmallest(t *testing.T) {
	for _, zeros := range []int{1, 3, 5} {
		base, other := stalling(30, zeros, 0.97)
		nearly := slices.Clone(other)
		for i, x := range nearly {
			if x == 0 {
				nearly[i] = 1e-300 * base[i]
			}
		}
		got, want := Ratio(base, other, 0.95), Ratio(base, nearly, 0.95)
		if got.N != 30 || !same(got.Center, want.Center) || math.Abs(got.Lo-want.Lo) > 1e-9 || zeros < 5 && !same(got.Hi, want.Hi) {
			t.Errorf("%d of 30 are 0: %+v, with tiny values %+v", zeros, got, want)
		}
		if !strings.Contains(lang.Join(got.Warnings, ";").String(), "ratios of 0 count as the smallest: ") {
			t.Errorf("warnings %q", got.Warnings)
		}
	}
}

// The more a network stalls, the smaller are its ratio and the ends of the interval. They end at 0.
func TestMoreZeros(t *testing.T) {
	last := Interval{Center: math.Inf(1), Lo: math.Inf(1)}
	for zeros := range 31 {
		base, other := stalling(30, zeros, 0.97)
		i := Ratio(base, other, 0.95)
		if !i.Bounded() || i.N != 30 || i.Center > last.Center || i.Lo > last.Lo || i.Lo > i.Center || i.Center > i.Hi || i.Hi > 1.1 {
			t.Errorf("%d of 30 are 0: %+v, with one fewer %+v", zeros, i, last)
		}
		if i.SE == 0 && i.Needed(0.02, 0.95) != maxPairs {
			t.Errorf("%d of 30 are 0: %d pairs are enough for ±2 %%", zeros, i.Needed(0.02, 0.95))
		}
		if out := zeros >= 9; (i.Center == 0) != out || zeros >= 5 && i.Lo != 0 || zeros < 3 && i.Lo == 0 { // 29 % of 30 is 8.8
			t.Errorf("%d of 30 are 0: %+v", zeros, i)
		}
		last = i
	}
}

// A pair in which both sides are 0 says nothing, and one of each kind is neutral.
func TestZeroOnBothSides(t *testing.T) {
	base, other := stalling(30, 0, 0.5)
	want := Ratio(base, other, 0.95)
	if got := Ratio(append(slices.Clone(base), 0), append(slices.Clone(other), 0), 0.95); !sameInterval(got, want) {
		t.Errorf("with two stalls at once %+v, without %+v", got, want)
	}
	if got := Ratio(append(slices.Clone(base), 0, 1), append(slices.Clone(other), 1, 0), 0.95); math.Abs(got.Center/want.Center-1) > 0.01 || !got.Bounded() {
		t.Errorf("with a stall on either side %+v, without %+v", got, want)
	}
}

// A few requests without a reply leave the median finite, and its standard error real.
func TestMedianWithoutReply(t *testing.T) {
	var v []float64
	for i := range 30 {
		v = append(v, 50e-6+1e-6*float64(i%7))
	}
	v[4], v[20] = math.Inf(1), math.Inf(1)
	i := Median(v, 0.95)
	if !i.Bounded() || i.N != 30 || i.Center < 50e-6 || i.Hi > 60e-6 || !(i.SE > 0 && i.SE < 1e-5) {
		t.Errorf("%+v", i)
	}
}

// A run whose ratio is 0 is not left out of several.
func TestPoolWithZero(t *testing.T) {
	runs := []Interval{{Center: 0.9, SE: 0.01, DF: 20, N: 30}, {Center: 0.91, SE: 0.01, DF: 20, N: 30}, {Center: 0, N: 30}}
	if p := Pool(runs, 0.95); p.N != 0 || p.K != 3 || !strings.Contains(lang.Join(p.Warnings, ";").String(), "1 of 3 runs has a ratio of 0") {
		t.Errorf("%+v", p)
	}
	if c := Change(runs[:2], runs[2:], Usual(), 0.95); c.N != 0 || len(c.Warnings) == 0 {
		t.Errorf("%+v", c)
	}
}

// A stall of the baseline leaves what a stall of the other side leaves: one end, and the reciprocal ratio.
func TestNoUpperEnd(t *testing.T) {
	for zeros := range 9 {
		base, other := stalling(30, zeros, 0.97)
		there, back := Ratio(base, other, 0.95), Ratio(other, base, 0.95)
		if !back.Bounded() || back.Open() != (there.Lo == 0) || !same(back.Center, 1/there.Center) || !same(back.Lo, 1/there.Hi) {
			t.Errorf("%d of 30: %+v, reciprocal %+v", zeros, there, back)
		}
		if got := back.Inverse(); !same(got.Lo, there.Lo) || !same(got.Hi, there.Hi) {
			t.Errorf("%d of 30: the inverse of %+v is %+v, want %+v", zeros, back, got, there)
		}
		if back.Open() {
			if !strings.Contains(lang.Join(back.Warnings, ";").String(), "no upper end: ") {
				t.Errorf("warnings %q", back.Warnings)
			}
			if s := back.Scaled(1e9); !s.Open() || s.Lo != 1e9*back.Lo {
				t.Errorf("in another unit %+v", s)
			}
			if _, err := json.Marshal(back); err != nil {
				t.Error(err)
			}
		}
	}
	var v []float64
	for i := range 30 {
		v = append(v, 100+float64(i*7%10))
	}
	for i := range 10 {
		v[3*i] = math.Inf(1)
	}
	if i := Median(v, 0.95); !i.Open() || i.Lo < 100 || i.Lo > i.Center || i.Center > 110 {
		t.Errorf("ten of thirty without an end: %+v", i)
	}
}
