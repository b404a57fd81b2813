package probe

import (
	"fmt"
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// TCPRR measures the time from a request to its reply on one connection.
type TCPRR struct {
	Size     int    `yaml:"size"`     // bytes of request and reply; default 64
	CC       string `yaml:"cc"`       // congestion control; default cubic
	Spin     bool   `yaml:"spin"`     // both ends poll, each on its own CPU, instead of being woken up
	Inflight int    `yaml:"inflight"` // requests that are outstanding at once; default 1
}

// UDPRR measures the time from a request to its reply over UDP.
type UDPRR struct {
	Size     int  `yaml:"size"`     // bytes of request and reply; default 64
	Spin     bool `yaml:"spin"`     // both ends poll, each on its own CPU, instead of being woken up
	Inflight int  `yaml:"inflight"` // requests that are outstanding at once; default 1
}

// TCPCRR measures the time of a transaction that makes a connection of its own:
// connect, one request, one reply, close.
type TCPCRR struct {
	Size int    `yaml:"size"` // bytes of request and reply; default 64
	CC   string `yaml:"cc"`   // congestion control; default cubic
}

// UDPOpen measures response times at a fixed rate of requests, whether or not the
// ones before were answered. They count from when the request was to leave, so a
// stall shows in all requests that it delayed.
type UDPOpen struct {
	Rate int  `yaml:"rate"` // requests/s; default 2000
	Size int  `yaml:"size"` // bytes of request and reply; default 64
	Spin bool `yaml:"spin"` // both ends poll, each on its own CPU, instead of being woken up
}

// Check returns an error that names the value and its bound.
func (p TCPRR) Check() error {
	size, inflight := or(p.Size, defaultMessage), or(p.Inflight, 1)
	if inflight > 1 && inflight*size > event.MaxPipeline {
		return fmt.Errorf("tcp-rr: %d requests of %d bytes in flight are more than %d bytes", inflight, size, event.MaxPipeline)
	}
	return within("tcp-rr", size, 1, event.MaxMessage, inflight)
}

// Check returns an error that names the value and its bound.
func (p UDPRR) Check() error {
	return within("udp-rr", or(p.Size, defaultMessage), event.MinDatagram, event.MaxDatagram, or(p.Inflight, 1))
}

// Check returns an error that names the value and its bound.
func (p TCPCRR) Check() error {
	return within("tcp-crr", or(p.Size, defaultMessage), event.MinDatagram, event.MaxMessage, 1)
}

// Check returns an error that names the value and its bound.
func (p UDPOpen) Check() error {
	if rate := or(p.Rate, defaultRequests); rate < 1 || rate > event.MaxRequests {
		return fmt.Errorf("udp-open: rate %d is outside 1..%d requests/s", rate, event.MaxRequests)
	}
	return within("udp-open", or(p.Size, defaultMessage), event.MinDatagram, event.MaxDatagram, 1)
}

func within(name string, size, least, most, inflight int) error {
	switch {
	case size < least || size > most:
		return fmt.Errorf("%s: size %d is outside %d..%d bytes", name, size, least, most)
	case inflight < 1 || inflight > event.MaxInflight:
		return fmt.Errorf("%s: %d requests in flight is outside 1..%d", name, inflight, event.MaxInflight)
	}
	return nil
}

func (p TCPRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "tcp-rr", or(p.Size, defaultMessage), loop(p.Spin, "--inflight", strconv.Itoa(or(p.Inflight, 1)), "--cc", or(p.CC, defaultCC))...)
}

func (p UDPRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "udp-rr", or(p.Size, defaultMessage), loop(p.Spin, "--inflight", strconv.Itoa(or(p.Inflight, 1)))...)
}

func (p TCPCRR) Commands(w Window) (server, client []string) {
	return engineRun(w, "tcp-crr", or(p.Size, defaultMessage), "--cc", or(p.CC, defaultCC))
}

func (p UDPOpen) Commands(w Window) (server, client []string) {
	return engineRun(w, "udp-open", or(p.Size, defaultMessage), loop(p.Spin, "--rate", strconv.Itoa(or(p.Rate, defaultRequests)))...)
}

func loop(spin bool, flags ...string) []string {
	if spin {
		flags = append(flags, "--spin")
	}
	return flags
}

// beyond is how many samples must lie above a percentile for it to be told: with
// fewer it is the luck of the run's slowest few.
const beyond = 10

// Parse reads rtt (s, the median, with its histogram), rtt.p99 and rtt.p999 (s,
// each when at least ten samples lie above it), rtt.path, rtt.wake, rtt.app and
// rtt.stamped (s, medians with their histograms: what it consists of, where the
// kernel's stamps tell; see parts), transactions (1/s), loss (of the requests) and window.
func (p TCPRR) Parse(out Output) (Measured, error) {
	var r event.RR
	n := parseNative(out, "tcp-rr", &r)
	values := n.closed(r, func(h *hdrhistogram.Histogram) []record.Value { return n.parts(r.Split, h) })
	return n.measured("tcp", r.Head, values, n.spinning(r, map[string]any{"inflight": r.Inflight, "wait": r.Wait, "stamps": r.Stamps,
		"congestion": r.Congestion, "serverCongestion": r.FarCongestion, "rcvbuf": r.RcvBuf}))
}

// Parse reads what TCPRR reads. A reply that takes longer than half a second is
// a loss.
func (p UDPRR) Parse(out Output) (Measured, error) {
	var r event.RR
	n := parseNative(out, "udp-rr", &r)
	values := n.closed(r, func(h *hdrhistogram.Histogram) []record.Value { return n.parts(r.Split, h) })
	return n.measured("udp", r.Head, values, n.spinning(r, map[string]any{"inflight": r.Inflight, "wait": r.Wait, "stamps": r.Stamps,
		"sndbuf": r.SndBuf, "rcvbuf": r.RcvBuf}))
}

// Parse reads what TCPRR reads, without the parts, and rtt.connect (s, the median
// of the time until the connection is made, with its histogram).
func (p TCPCRR) Parse(out Output) (Measured, error) {
	var r event.CRR
	n := parseNative(out, "tcp-crr", &r)
	values := n.closed(r.RR, func(h *hdrhistogram.Histogram) []record.Value { return n.connect(r.ConnectHist, h) })
	return n.measured("tcp", r.Head, values, map[string]any{"stamps": r.Stamps, "ports": r.Ports,
		"congestion": r.Congestion, "serverCongestion": r.FarCongestion, "rcvbuf": r.RcvBuf})
}

// Parse reads what UDPRR reads, and before the window late (the share of requests
// that left later than 1/rate after their time) and stalls (1, how often response
// times were above 50 ms).
func (p UDPOpen) Parse(out Output) (Measured, error) {
	var r event.Open
	n := parseNative(out, "udp-open", &r)
	n.require(r.Offered >= r.Requests && r.Offered > 0, "%d requests sent of %d", r.Requests, r.Offered)
	n.require(r.LateSends >= r.Offered-r.Requests && r.LateSends <= r.Offered, "%d requests late of %d, of which %d were sent", r.LateSends, r.Offered, r.Requests)
	n.require(r.Stalls <= r.Transactions, "%d stalls of %d requests", r.Stalls, r.Transactions)
	values, _ := n.responses(r.RR, func(h *hdrhistogram.Histogram) []record.Value { return n.parts(r.Split, h) })
	values = append(values,
		record.Value{Name: "late", Unit: "1", Value: float64(r.LateSends) / float64(max(r.Offered, 1))},
		record.Value{Name: "stalls", Unit: "1", Value: float64(r.Stalls)},
		record.Value{Name: "window", Unit: "s", Value: r.Window})
	return n.measured("udp", r.Head, values, n.spinning(r.RR, map[string]any{"rate": r.Rate, "wait": r.Wait, "stamps": r.Stamps,
		"sndbuf": r.SndBuf, "rcvbuf": r.RcvBuf}))
}

// responses returns the values that all workloads of requests have, and the
// distribution of response times; nothing and nil when the result is wrong.
func (n *native) responses(r event.RR, parts func(*hdrhistogram.Histogram) []record.Value) ([]record.Value, *hdrhistogram.Histogram) {
	h := n.echoes(r.Requests, r.Transactions, r.Lost, r.Hist)
	if n.require(r.Window > 0, "window is 0 s"); n.err != nil {
		return nil, nil
	}
	return append(append(percentiles(h, r.Hist), parts(h)...),
		record.Value{Name: "transactions", Unit: "1/s", Value: float64(r.Transactions) / r.Window},
		record.Value{Name: "loss", Unit: "1", Value: float64(r.Lost) / float64(r.Requests)}), h
}

// closed returns the values of a closed loop. Its window ends with the last reply, to
// within the histogram's precision.
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

// percentiles returns rtt and those of its percentiles that the samples bear.
func percentiles(h *hdrhistogram.Histogram, encoded string) []record.Value {
	values := []record.Value{{Name: "rtt", Unit: "s", Value: quantile(h, 50), Hist: encoded}}
	n := float64(h.TotalCount())
	if n*0.01 >= beyond {
		values = append(values, record.Value{Name: "rtt.p99", Unit: "s", Value: quantile(h, 99)})
	}
	if n*0.001 >= beyond {
		values = append(values, record.Value{Name: "rtt.p999", Unit: "s", Value: quantile(h, 99.9)})
	}
	return values
}

// Parse reads rtt (s, the median, with its histogram), loss and window.
func (p Ping) Parse(out Output) (Measured, error) {
	var r event.Ping
	n := parseNative(out, "ping", &r)
	h := n.echoes(r.Requests, r.Transactions, r.Lost, r.Hist)
	if n.err != nil {
		return Measured{}, n.err
	}
	return n.measured("icmp", r.Head, []record.Value{
		{Name: "rtt", Unit: "s", Value: quantile(h, 50), Hist: r.Hist},
		{Name: "loss", Unit: "1", Value: float64(r.Lost) / float64(r.Requests)},
		{Name: "window", Unit: "s", Value: r.Window},
	}, map[string]any{"socket": r.Socket})
}

// echoes returns the distribution of the response times of the answered requests. It
// is valid only when n.err is nil, and then not empty.
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
