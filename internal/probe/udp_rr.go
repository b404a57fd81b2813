package probe

import (
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// UDPRR measures request-to-reply times over UDP.
type UDPRR struct {
	Size     int  `yaml:"size"`     // bytes of request and reply; default 64
	Spin     bool `yaml:"spin"`     // both ends poll, each on its own CPU, instead of blocking
	Inflight int  `yaml:"inflight"` // requests outstanding at once; default 1
}

func (p UDPRR) Info() Info {
	return Info{
		Title: "UDP request/response", Short: "UDP response time", Unit: "s", DeliveryUnit: "1/s",
		About:    "UDP response time, and what it consists of (native)",
		Method:   "Requests, one at a time unless the study says otherwise, and the time to each response. An overdue reply does not hold up the next request. " + lostMethod,
		Measures: udpResponse, Datagrams: true,
		Differs: "median; blocking calls, so the time includes the wake-up of both ends",
	}
}

func (p UDPRR) Check() error {
	return event.CheckMessages("udp-rr", or(p.Size, defaultMessage), or(p.Inflight, 1))
}

func (p UDPRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "udp-rr", or(p.Size, defaultMessage), loop(p.Spin, "--inflight", strconv.Itoa(or(p.Inflight, 1)))...)
}

func (p UDPRR) Parse(out Output) (Measured, error) {
	var r event.RR
	n := parseNative(out, "udp-rr", &r)
	values := n.closed(r, event.ReplyTimeout, nil)
	return n.measured("udp", r.Head, values, n.loop(r), record.Inflight.Is(r.Inflight),
		record.SndBuf.Is(r.SndBuf), record.RcvBuf.Is(r.RcvBuf))
}
