package chart

import (
	"math"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for _, tc := range []struct {
		a    axis
		want string
	}{
		{fromZero(23.4, 0, 1), "0 5 10 15 20"},
		{fromZero(0, 0, 1), "0 0.2 0.4 0.6 0.8 1"},
		{logarithmic(0.65, 1.01, 0, 1), "0.7 0.8 0.9 1"},
		{logarithmic(20, 4000, 0, 1), "20 50 100 200 500 1000 2000 5000"},
		{logarithmic(0.0001, 1000, 0, 1), "0.0001 0.001 0.01 0.1 1 10 100 1000"},
	} {
		var got []string
		for _, v := range tc.a.ticks {
			got = append(got, tickNum(v))
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("ticks of %v to %v: %s, want %s", tc.a.lo, tc.a.hi, s, tc.want)
		}
	}
}

// Even levels are an equal step apart, and a value between two of them lies between them.
func TestEven(t *testing.T) {
	a := along(1000, 2000, 0, 300)
	a.levels([]Curve{{Points: []CurvePoint{{X: 1000}, {X: 1472}, {X: 1473}, {X: 2000}}}}, true)
	for v, want := range map[float64]float64{1000: 0, 1472: 100, 1473: 200, 2000: 300, 1472.5: 150} {
		if got := a.pos(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%g at %g, want %g", v, got, want)
		}
	}
}
