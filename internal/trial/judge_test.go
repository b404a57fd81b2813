package trial

import (
	"testing"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
)

// A device has carried what it moved in either direction. Where packets are
// joined their number says nothing, and their bytes still do.
func TestCarried(t *testing.T) {
	moved := sample.Counters{"dev.e.rx_bytes": 5000, "dev.e.tx_bytes": 100, "dev.e.rx_packets": 5, "dev.e.tx_packets": 2}
	for _, c := range []struct {
		name           string
		joined         bool
		moved          sample.Counters
		bytes, packets float64
		ok             bool
	}{
		{"all", false, moved, 5000, 5, true},
		{"too few bytes", false, moved, 5100, 0, false},
		{"a count that was rounded", false, moved, 5040, 5.04, true},
		{"too few packets", false, moved, 0, 6, false},
		{"joined packets", true, moved, 5000, 100, true},
		{"joined, too few bytes", true, moved, 5100, 0, false},
		{"nothing", true, sample.Counters{}, 0, 0, false},
	} {
		err := carried(plan.Expect{In: "h", Dev: "e", Joined: c.joined}, c.moved, c.bytes, c.packets)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
