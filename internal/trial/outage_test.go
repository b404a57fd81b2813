package trial

import (
	"testing"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/evidence"
)

// Only whole bins between the two moments count: what was sent in the others can have been sent before or after them.
func TestThrough(t *testing.T) {
	line := event.Timeline{Begin: 1000, Bin: 10, Answered: []int64{5, 5, 5, 2, 0, 1, 0, 5, 5}}
	for _, c := range []struct{ from, to, n, last int64 }{
		{1020, 1070, 8, 1060}, {1011, 1070, 8, 1060}, {1021, 1070, 3, 1060}, {1020, 1059, 7, 1040}, {1060, 1070, 0, 1060}, {900, 1010, 5, 1010}, {1090, 2000, 0, 1090},
	} {
		if n, last := through(line, c.from, c.to); n != c.n || last != c.last {
			t.Errorf("from %d to %d: %d replies until %d, want %d until %d", c.from, c.to, n, last, c.n, c.last)
		}
	}
}

// A control plane has noticed an event when the kernel has other routes or rules, not when a device or a neighbor changed.
func TestNoticed(t *testing.T) {
	all := []evidence.Change{{At: 5, What: evidence.OfRoute}, {At: 10, What: evidence.OfDevice}, {At: 11, What: evidence.OfNeighbor}, {At: 20, What: evidence.OfRules}, {At: 30, What: evidence.OfRoute}}
	for moment, want := range map[int64]int64{0: 5, 6: 20, 20: 20, 21: 30, 31: 0} {
		if at := noticed(all, moment); at != want {
			t.Errorf("since %d: %d, want %d", moment, at, want)
		}
	}
}
