package trial

import (
	"testing"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
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

// A control plane has noticed an event when the kernel has other routes or rules that are not what the event's own steps set.
func TestNoticed(t *testing.T) {
	const ms = 1e6
	all := []evidence.Change{{At: 5 * ms, What: evidence.OfRules}, {At: 6 * ms, What: evidence.OfDevice}, {At: 11 * ms, What: evidence.OfRules}, {At: 20 * ms, What: evidence.OfRoute}, {At: 30 * ms, What: evidence.OfRules}}
	rules, down, endpoint := plan.Step{Exec: &plan.Exec{}}, plan.Step{Set: &plan.Set{Down: true}}, plan.Step{Endpoint: &plan.Endpoint{}}
	for _, c := range []struct {
		step plan.Step
		when [2]int64
		want int64
	}{
		{endpoint, [2]int64{4 * ms, 10 * ms}, 5 * ms}, {rules, [2]int64{4 * ms, 10 * ms}, 20 * ms}, {down, [2]int64{15 * ms, 19 * ms}, 30 * ms},
		{rules, [2]int64{15 * ms, 19 * ms}, 20 * ms}, {rules, [2]int64{21 * ms, 22 * ms}, 30 * ms}, {endpoint, [2]int64{31 * ms, 32 * ms}, 0},
	} {
		if at := noticed(all, []plan.Step{c.step}, c.when); at != c.want {
			t.Errorf("%v at %d: %d, want %d", c.step, c.when, at, c.want)
		}
	}
}
