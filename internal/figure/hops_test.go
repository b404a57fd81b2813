package figure

import (
	"testing"

	"github.com/weir-bench/weir/internal/stat"
)

// Where no block has both a path and its first segment, nothing stands for their ratio.
func TestNoRatioOfHops(t *testing.T) {
	one := Hop{Network: "relay", Unit: "bit/s", Segments: 1, Value: stat.Interval{Center: 2e9, N: 1}}
	two := one
	two.Segments = 2
	c := Result{}.hopChart([]Hop{one, two}, false)
	if len(c.Curves) != 1 || len(c.Curves[0].Points) != 1 || c.Curves[0].Points[0].X != 1 {
		t.Errorf("%+v", c.Curves)
	}
}
