package probe

import (
	"cmp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// TCPRR measures request-to-reply times on one connection.
type TCPRR struct {
	Size     int    `yaml:"size"`     // bytes of request and reply; default 64
	CC       string `yaml:"cc"`       // congestion control; default cubic
	Spin     bool   `yaml:"spin"`     // both ends poll, each on its own CPU, instead of blocking
	Inflight int    `yaml:"inflight"` // requests outstanding at once; default 1
}

func (p TCPRR) Info() Info {
	return Info{
		Title: "TCP request/response", Short: "TCP response time", Unit: "s", DeliveryUnit: "1/s",
		About:    "TCP response time (native)",
		Method:   "Requests over an open connection, one at a time unless the study says otherwise, and the time to each response.",
		Measures: tcpResponse,
		Differs:  "median; blocking calls, so the time includes the wake-up of both ends",
	}
}

func (p TCPRR) Check() error {
	return cmp.Or(event.CheckMessages("tcp-rr", or(p.Size, defaultMessage), or(p.Inflight, 1)), checkCC(p.CC))
}

func (p TCPRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "tcp-rr", or(p.Size, defaultMessage), loop(p.Spin, append([]string{"--inflight", strconv.Itoa(or(p.Inflight, 1))}, w.chooseCC("--cc", p.CC)...)...)...)
}

func (p TCPRR) Parse(out Output) (Measured, error) {
	var r event.RR
	n := parseNative(out, "tcp-rr", &r)
	values := n.closed(r, 0, nil)
	return n.measured("tcp", r.Head, values, n.loop(r), record.Inflight.Is(r.Inflight),
		record.Congestion.Is(r.Congestion), record.ServerCongestion.Is(r.FarCongestion), record.RcvBuf.Is(r.RcvBuf))
}
