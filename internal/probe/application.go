package probe

import (
	"fmt"

	"github.com/weir-bench/weir/record"
)

// closedLoop holds what the client of an application counted over TCP: n answers at a rate (1/s), and their response times
// (s). A median of 0 is unknown.
func closedLoop(n, rate, p50, p99, mean float64) Measured {
	vs := []record.Value{{Name: record.Transactions, Unit: "1/s", Value: rate}}
	if p50 > 0 {
		vs = append(append(vs, record.Value{Name: record.RTT, Unit: "s", Value: p50}), tails(n, p99, 0)...)
	}
	return Measured{Protocol: "tcp", Values: append(vs,
		record.Value{Name: record.RTTMean, Unit: "s", Value: mean}, record.Value{Name: record.Window, Unit: "s", Value: n / rate})}
}

// inFlight returns an error if more requests would have been in flight, by Little's law, than the client can have: rate
// (1/s) times mean (s).
func inFlight(rate, mean float64, most int) error {
	if !(rate > 0 && mean > 0) || rate*mean > 1.02*float64(most) {
		return fmt.Errorf("%v requests/s of %v s each do not fit into %d at a time", rate, mean, most)
	}
	return nil
}
