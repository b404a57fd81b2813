package engine

import (
	"math"

	"github.com/weir-bench/weir/internal/engine/sock"
)

// ticks calls tick every interval, ns, for d, and calls listen until each of these times and to the end. It leaves out
// ticks that are so late that the next one is due: a sender that catches up would fill queues. It returns how many
// ticks were due in all.
func ticks(interval float64, d int64, listen func(until int64) error, tick func() error) (offered int64, err error) {
	begin := sock.Now()
	offered = int64(math.Ceil(float64(d) / interval))
	for k := int64(0); k < offered; k++ {
		due := begin + int64(float64(k)*interval)
		if err := listen(due); err != nil {
			return offered, err
		}
		if t := sock.Now(); float64(t-due) > interval {
			k = max(k, int64(float64(t-begin)/interval)-1)
		} else if err := tick(); err != nil {
			return offered, err
		}
	}
	return offered, listen(begin + d)
}
