package analysis

import (
	"slices"
	"testing"
)

func TestLevelsInOrder(t *testing.T) {
	t.Parallel()
	for _, want := range [][]string{{"0", "500us", "5ms", "1s"}, {"1mbit", "500mbit", "1gbit"}, {"9", "64", "1500"}, {"h2", "h10"}} {
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortFunc(got, compareLevel)
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
