package probe

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// UDPRR measures the time from a request to its reply over UDP.
type UDPRR struct {
	Size     int  `yaml:"size"`     // bytes of request and reply; default 64
	Spin     bool `yaml:"spin"`     // both ends poll, each on its own CPU, instead of being woken up
	Inflight int  `yaml:"inflight"` // requests that are outstanding at once; default 1
}

func (p UDPRR) Info() Info {
	return Info{
		Title: "UDP request/response", Short: "UDP response time", Unit: "s", DeliveryUnit: "1/s",
		About:    "UDP response time, and what it consists of (native)",
		Method:   "Requests, one at a time unless the study says otherwise, and the time to each response.",
		Measures: udpResponse,
		Differs:  "median; blocking calls, so the time includes the wake-up of both ends",
	}
}

func (p UDPRR) Check() error {
	return event.CheckMessages("udp-rr", or(p.Size, defaultMessage), or(p.Inflight, 1))
}

func (p UDPRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "udp-rr", or(p.Size, defaultMessage), loop(p.Spin, "--inflight", strconv.Itoa(or(p.Inflight, 1)))...)
}

// Parse reads what closed and parts list. A reply that takes longer than half a second
// counts as lost.
func (p UDPRR) Parse(out Output) (Measured, error) {
	var r event.RR
	n := parseNative(out, "udp-rr", &r)
	values := n.closed(r, nil)
	return n.measured("udp", r.Head, values, n.spinning(r, map[string]any{"inflight": r.Inflight, "wait": r.Wait, "stamps": r.Stamps,
		"sndbuf": r.SndBuf, "rcvbuf": r.RcvBuf}))
}

// TCPRR measures the time from a request to its reply on one connection.
type TCPRR struct {
	Size     int    `yaml:"size"`     // bytes of request and reply; default 64
	CC       string `yaml:"cc"`       // congestion control; default cubic
	Spin     bool   `yaml:"spin"`     // both ends poll, each on its own CPU, instead of being woken up
	Inflight int    `yaml:"inflight"` // requests that are outstanding at once; default 1
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
	return event.CheckMessages("tcp-rr", or(p.Size, defaultMessage), or(p.Inflight, 1))
}

func (p TCPRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "tcp-rr", or(p.Size, defaultMessage), loop(p.Spin, "--inflight", strconv.Itoa(or(p.Inflight, 1)), "--cc", or(p.CC, defaultCC))...)
}

// Parse reads what closed and parts list.
func (p TCPRR) Parse(out Output) (Measured, error) {
	var r event.RR
	n := parseNative(out, "tcp-rr", &r)
	values := n.closed(r, nil)
	return n.measured("tcp", r.Head, values, n.spinning(r, map[string]any{"inflight": r.Inflight, "wait": r.Wait, "stamps": r.Stamps,
		"congestion": r.Congestion, "serverCongestion": r.FarCongestion, "rcvbuf": r.RcvBuf}))
}

// TCPCRR measures the time of a transaction that makes a connection of its own:
// connect, one request, one reply, close.
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

func (p TCPCRR) Check() error { return event.CheckMessages("tcp-crr", or(p.Size, defaultMessage), 1) }

func (p TCPCRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "tcp-crr", or(p.Size, defaultMessage), "--cc", or(p.CC, defaultCC))
}

// Parse reads what closed lists, and rtt.connect (s, the median
// time until the connection is made, with its histogram).
func (p TCPCRR) Parse(out Output) (Measured, error) {
	var r event.CRR
	n := parseNative(out, "tcp-crr", &r)
	values := n.closed(r.RR, func(h *hdrhistogram.Histogram) []record.Value { return n.connect(r.ConnectHist, h) })
	return n.measured("tcp", r.Head, values, map[string]any{"stamps": r.Stamps, "ports": r.Ports,
		"congestion": r.Congestion, "serverCongestion": r.FarCongestion, "rcvbuf": r.RcvBuf})
}

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

func (p UDPOpen) Check() error {
	return cmp.Or(event.CheckRate("udp-open", or(p.Rate, event.DefaultRequests)),
		event.CheckMessages("udp-open", or(p.Size, defaultMessage), 1))
}

func (p UDPOpen) Commands(w Window) (server, client []string) {
	return engineRun(w, "udp-open", or(p.Size, defaultMessage), loop(p.Spin, "--rate", strconv.Itoa(or(p.Rate, event.DefaultRequests)))...)
}

// Parse reads what UDPRR reads, and before the window late (the share of requests
// that left more than 1/rate after they were due) and stalls (1, how often response
// times exceeded 50 ms).
func (p UDPOpen) Parse(out Output) (Measured, error) {
	var r event.Open
	n := parseNative(out, "udp-open", &r)
	n.require(r.Offered >= r.Requests && r.Offered > 0, "%d requests sent of %d", r.Requests, r.Offered)
	n.require(r.LateSends >= r.Offered-r.Requests && r.LateSends <= r.Offered, "%d requests late of %d, of which %d were sent", r.LateSends, r.Offered, r.Requests)
	n.require(r.Stalls <= r.Transactions, "%d stalls of %d requests", r.Stalls, r.Transactions)
	values, _ := n.responses(r.RR, nil)
	values = append(values,
		record.Value{Name: "late", Unit: "1", Value: float64(r.LateSends) / float64(max(r.Offered, 1))},
		record.Value{Name: "stalls", Unit: "1", Value: float64(r.Stalls)},
		record.Value{Name: "window", Unit: "s", Value: r.Window})
	return n.measured("udp", r.Head, values, n.spinning(r.RR, map[string]any{"rate": r.Rate, "wait": r.Wait, "stamps": r.Stamps,
		"sndbuf": r.SndBuf, "rcvbuf": r.RcvBuf}))
}

// loop adds the flag of a closed or open loop whose ends poll.
func loop(spin bool, flags ...string) []string {
	if spin {
		flags = append(flags, "--spin")
	}
	return flags
}

// responses returns the values that all probes of requests have: rtt (s, the median,
// with its histogram), rtt.p99 and rtt.p999 (s, each when at least ten samples lie above
// it), what parts returns (nil means native.parts), transactions (1/s) and loss (of the
// requests). It also returns the distribution of response times, and only nils when the
// result is wrong.
func (n *native) responses(r event.RR, parts func(*hdrhistogram.Histogram) []record.Value) ([]record.Value, *hdrhistogram.Histogram) {
	if parts == nil {
		parts = func(h *hdrhistogram.Histogram) []record.Value { return n.parts(r.Split, h) }
	}
	h := n.echoes(r.Requests, r.Transactions, r.Lost, r.Hist)
	if n.require(r.Window > 0, "window is 0 s"); n.err != nil {
		return nil, nil
	}
	return append(append(percentiles(h, r.Hist), parts(h)...),
		record.Value{Name: "transactions", Unit: "1/s", Value: float64(r.Transactions) / r.Window},
		record.Value{Name: "loss", Unit: "1", Value: float64(r.Lost) / float64(r.Requests)}), h
}

// closed returns the values of a closed loop: responses and window. The window ends with
// the last reply, to within the histogram's precision.
func (n *native) closed(r event.RR, parts func(*hdrhistogram.Histogram) []record.Value) []record.Value {
	values, h := n.responses(r, parts)
	if h != nil {
		n.require(float64(h.Max())/1e9 <= r.Window*1.001, "a transaction of %d ns in a window of %g s", h.Max(), r.Window)
	}
	return append(values, record.Value{Name: "window", Unit: "s", Value: r.Window})
}

// spinning adds to the settings of a run that polls the CPUs that it polls on.
func (n *native) spinning(r event.RR, settings map[string]any) map[string]any {
	switch {
	case r.Wait != event.WaitSpinning:
	case r.CPU == nil || r.FarCPU == nil:
		n.fail("cpu is missing")
	default:
		settings["cpu"], settings["serverCPU"] = *r.CPU, *r.FarCPU
	}
	return settings
}

// beyond is how many samples must lie above a percentile for it to be reported: with
// fewer it depends on the few slowest requests of one run.
const beyond = 10

// percentiles returns rtt and the percentiles for which there are enough samples.
func percentiles(h *hdrhistogram.Histogram, encoded string) []record.Value {
	n := float64(h.TotalCount())
	return append([]record.Value{{Name: "rtt", Unit: "s", Value: quantile(h, 50), Hist: encoded}},
		tails(n, quantile(h, 99), quantile(h, 99.9))...)
}

// tails returns rtt.p99 and rtt.p999 of n response times, each when enough of them
// lie above it (see beyond).
func tails(n float64, p99, p999 float64) []record.Value {
	var vs []record.Value
	if n*0.01 >= beyond {
		vs = append(vs, record.Value{Name: "rtt.p99", Unit: "s", Value: p99})
	}
	if n*0.001 >= beyond && p999 > 0 {
		vs = append(vs, record.Value{Name: "rtt.p999", Unit: "s", Value: p999})
	}
	return vs
}

// echoes returns the distribution of the response times of the answered requests. It is
// valid only when n.err is nil, and then not empty.
func (n *native) echoes(requests, answered, lost int64, hist string) *hdrhistogram.Histogram {
	if n.err != nil {
		return nil
	}
	n.require(answered > 0 && answered+lost == requests, "%d requests, %d answered, %d lost", requests, answered, lost)
	h := n.histogram("hist", hist)
	if h != nil {
		n.require(h.TotalCount() == answered, "a histogram of %d for %d answers", h.TotalCount(), answered)
	}
	return h
}

// quantile returns the q-th percentile in seconds.
func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1e9
}

// parts returns what response times consist of, by the kernel's stamps of some
// requests: rtt.path from the sender's first device to the receiver's namespace and
// back; rtt.wake from there to the program, at both ends; rtt.app the rest, which is
// the programs and sending down to the device, at both ends. rtt.stamped is the whole
// of these requests, which the parts add up to (medians need not); the stamps make it
// longer than rtt. parts returns nothing when the engine says why there are no stamps.
func (n *native) parts(r event.Split, whole *hdrhistogram.Histogram) []record.Value {
	if strings.HasPrefix(r.Stamps, event.NoStamps) {
		return nil
	}
	missing, out := r.Incomplete+r.Impossible, []record.Value{}
	for _, p := range []struct{ name, field, hist string }{
		{"rtt.path", "pathHist", r.PathHist}, {"rtt.wake", "wakeHist", r.WakeHist}, {"rtt.app", "appHist", r.AppHist}, {"rtt.stamped", "stampedHist", r.StampedHist},
	} {
		h := n.part(p.field, p.hist, whole)
		if h == nil {
			return nil
		}
		n.require(h.TotalCount() == r.Stamped-missing, "%s of %d requests, where %d of %d stamped ones lack a stamp", p.field, h.TotalCount(), missing, r.Stamped)
		out = append(out, record.Value{Name: p.name, Unit: "s", Value: quantile(h, 50), Hist: p.hist})
	}
	return out
}

// connect returns rtt.connect, the time until a connection was made.
func (n *native) connect(hist string, whole *hdrhistogram.Histogram) []record.Value {
	h := n.part("connectHist", hist, whole)
	if h == nil {
		return nil
	}
	n.require(h.TotalCount() == whole.TotalCount(), "%d connections for %d transactions", h.TotalCount(), whole.TotalCount())
	return []record.Value{{Name: "rtt.connect", Unit: "s", Value: quantile(h, 50), Hist: hist}}
}

// part reads the distribution of a part of response times. Each part is that of a
// request of the whole, and no longer than it, so for any time no more parts than
// response times can be above it.
func (n *native) part(field, encoded string, whole *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	h := n.histogram(field, encoded)
	if h == nil {
		return nil
	}
	if h.TotalCount() == 0 {
		n.fail("impossible: %s is empty", field)
		return nil
	}
	parts, wholes := h.Distribution(), whole.Distribution()
	above, over := int64(0), int64(0)
	for i, w := len(parts)-1, len(wholes)-1; i >= 0; i-- {
		above += parts[i].Count
		for ; w >= 0 && wholes[w].From >= parts[i].From; w-- {
			over += wholes[w].Count
		}
		if above > over {
			n.fail("impossible: %s has %d requests of %d ns or more, and only %d response times are that long", field, above, parts[i].From, over)
			return nil
		}
	}
	return h
}
