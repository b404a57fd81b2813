package probe

import (
	"cmp"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// TCPCRR measures transactions over a new connection each: connect, one request, one reply, close.
type TCPCRR struct {
	Size int    `yaml:"size"` // bytes of request and reply; default 64
	CC   string `yaml:"cc"`   // congestion control; default cubic
}

func (p TCPCRR) Info() Info {
	return Info{
		Title: "TCP connect/request/response", Short: "TCP connect time", Unit: "s", DeliveryUnit: "1/s",
		About:    "time of a connection, a request and its response over TCP (native)",
		Method:   "A new connection for every request.",
		Measures: connectTime,
		Differs:  "median, from the call of connect to the reply",
	}
}

func (p TCPCRR) Check() error {
	return cmp.Or(event.CheckMessages("tcp-crr", or(p.Size, defaultMessage), 1), checkCC(p.CC))
}

func (p TCPCRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "tcp-crr", or(p.Size, defaultMessage), w.chooseCC("--cc", p.CC)...)
}

// Parse reads the values of closed, and rtt.connect (s, median time to connect, with histogram).
func (p TCPCRR) Parse(out Output) (Measured, error) {
	var r event.CRR
	n := parseNative(out, "tcp-crr", &r)
	values := n.closed(r.RR, 0, func(h *hdrhistogram.Histogram) []record.Value { return n.connect(r.ConnectHist, h) })
	return n.measured("tcp", r.Head, values, record.Stamps.Is(r.Stamps), record.Ports.Is(r.Ports),
		record.Congestion.Is(r.Congestion), record.ServerCongestion.Is(r.FarCongestion), record.RcvBuf.Is(r.RcvBuf))
}
