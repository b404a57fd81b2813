package chart

import (
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
