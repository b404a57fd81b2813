package probe

import (
	"cmp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// UDPOpen measures response times at a fixed request rate, whether or not earlier requests were
// answered. Time counts from when a request was due, so a stall shows in every request that it
// delayed.
type UDPOpen struct {
	Rate int  `yaml:"rate"` // requests/s; default 2000
	Size int  `yaml:"size"` // bytes of request and reply; default 64
	Spin bool `yaml:"spin"` // both ends poll, each on its own CPU, instead of blocking
}

func (p UDPOpen) Info() Info {
	return Info{
		Title: "UDP requests at a fixed rate", Short: "UDP response time at a fixed rate", Unit: "s", DeliveryUnit: "1/s", Datagrams: true,
		About:  "UDP response time at a fixed request rate, corrected for coordinated omission (native)",
		Method: "Requests at a fixed rate, whether or not earlier ones were answered. Time counts from when a request was due, so a stall shows in all the requests that it delayed. " + lostMethod,
	}
}

func (p UDPOpen) Check() error {
	return cmp.Or(event.CheckRate("udp-open", or(p.Rate, event.DefaultRequests)),
		event.CheckMessages("udp-open", or(p.Size, defaultMessage), 1))
}

func (p UDPOpen) Commands(w Window) (server, client []string) {
	return engineRun(w, "udp-open", or(p.Size, defaultMessage), loop(p.Spin, "--rate", strconv.Itoa(or(p.Rate, event.DefaultRequests)))...)
}

// Parse reads the values of UDPRR and, before the window, late (share of requests sent more than
// 1/rate after they were due) and stalls (1, how often response times exceeded 50 ms).
func (p UDPOpen) Parse(out Output) (Measured, error) {
	var r event.Open
	n := parseNative(out, "udp-open", &r)
	n.require(r.Offered >= r.Requests && r.Offered > 0, "%d requests sent of %d", r.Requests, r.Offered)
	n.require(r.LateSends >= r.Offered-r.Requests && r.LateSends <= r.Offered, "%d requests late of %d, of which %d were sent", r.LateSends, r.Offered, r.Requests)
	n.require(r.Stalls <= r.Transactions, "%d stalls of %d requests", r.Stalls, r.Transactions)
	values, _ := n.responses(r.RR, nil)
	values = append(values,
		record.Value{Name: record.Late, Unit: "1", Value: float64(r.LateSends) / float64(max(r.Offered, 1))},
		record.Value{Name: record.Stalls, Unit: "1", Value: float64(r.Stalls)},
		record.Value{Name: record.Window, Unit: "s", Value: r.Window})
	return n.measured("udp", r.Head, values, n.loop(r.RR), record.Rate.Is(r.Rate),
		record.SndBuf.Is(r.SndBuf), record.RcvBuf.Is(r.RcvBuf))
}
