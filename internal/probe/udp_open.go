package probe

import (
	"fmt"
	"strconv"
)

// UDPOpen measures response times at a fixed rate of requests, whether or not
// earlier ones were answered. Time counts from when a request was due, so a stall
// shows in all the requests that it delayed.
type UDPOpen struct {
	Rate int  `yaml:"rate"` // requests/s; default 2000
	Size int  `yaml:"size"` // bytes of request and reply; default 64
	Spin bool `yaml:"spin"` // both ends poll, each on its own CPU, instead of being woken up
}

func (p UDPOpen) Info() Info {
	return Info{
		Title: "UDP requests at a fixed rate", Short: "UDP response time at a fixed rate", Unit: "s", DeliveryUnit: "1/s",
		About:  "UDP response time at a fixed request rate, corrected for coordinated omission (native)",
		Method: "Requests at a fixed rate, whether or not earlier ones were answered. Time counts from when a request was due, so a stall shows in all the requests that it delayed.",
	}
}

// Check returns an error that names the value and its bound.
func (p UDPOpen) Check() error {
	if rate := or(p.Rate, defaultRequests); rate < 1 || rate > maxRequests {
		return fmt.Errorf("udp-open: rate %d is outside 1..%d requests/s", rate, maxRequests)
	}
	return within("udp-open", or(p.Size, defaultMessage), minRequest, maxRequest, 1)
}

func (p UDPOpen) Commands(w Window) (server, client []string) {
	return engineRun(w, "udp-open", or(p.Size, defaultMessage), loop(p.Spin, "--rate", strconv.Itoa(or(p.Rate, defaultRequests)))...)
}

// Parse reads what UDPRR reads, and before the window late (the share of requests
// that left more than 1/rate after they were due) and stalls (1, how often response
// times exceeded 50 ms).
func (p UDPOpen) Parse(out Output) (Measured, error) {
	return parseRR(out, "udp", "udp-open", "size", "rate", "wait", "stamps", "sndbuf", "rcvbuf")
}
