package probe

import (
	"fmt"
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"

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

// Bounds of what may be asked, as in the engine.
const (
	minRequest  = 16 // bytes: the engine's header
	maxMessage  = 16 << 20
	maxRequest  = 65507 // bytes of a datagram
	maxInflight = 1024
	maxPipeline = 64 << 10  // bytes in flight on a connection
	maxRequests = 1_000_000 // requests/s
)

// Check returns an error that names the value and its bound.
func (p TCPRR) Check() error {
	size, inflight := or(p.Size, defaultMessage), or(p.Inflight, 1)
	if inflight > 1 && inflight*size > maxPipeline {
		return fmt.Errorf("tcp-rr: %d requests of %d bytes in flight are more than %d bytes", inflight, size, maxPipeline)
	}
	return within("tcp-rr", size, 1, maxMessage, inflight)
}

// Check returns an error that names the value and its bound.
func (p UDPRR) Check() error {
	return within("udp-rr", or(p.Size, defaultMessage), minRequest, maxRequest, or(p.Inflight, 1))
}

// Check returns an error that names the value and its bound.
func (p TCPCRR) Check() error {
	return within("tcp-crr", or(p.Size, defaultMessage), minRequest, maxMessage, 1)
}

// Check returns an error that names the value and its bound.
func (p UDPOpen) Check() error {
	if rate := or(p.Rate, defaultRequests); rate < 1 || rate > maxRequests {
		return fmt.Errorf("udp-open: rate %d is outside 1..%d requests/s", rate, maxRequests)
	}
	return within("udp-open", or(p.Size, defaultMessage), minRequest, maxRequest, 1)
}

func within(name string, size, least, most, inflight int) error {
	switch {
	case size < least || size > most:
		return fmt.Errorf("%s: size %d is outside %d..%d bytes", name, size, least, most)
	case inflight < 1 || inflight > maxInflight:
		return fmt.Errorf("%s: %d requests in flight is outside 1..%d", name, inflight, maxInflight)
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
	return parseRR(out, "tcp", "tcp-rr", "size", "inflight", "wait", "stamps", "congestion", "serverCongestion", "rcvbuf")
}

// Parse reads what TCPRR reads. A reply that takes longer than half a second is
// a loss.
func (p UDPRR) Parse(out Output) (Measured, error) {
	return parseRR(out, "udp", "udp-rr", "size", "inflight", "wait", "stamps", "sndbuf", "rcvbuf")
}

// Parse reads what TCPRR reads, without the parts, and rtt.connect (s, the median
// of the time until the connection is made, with its histogram).
func (p TCPCRR) Parse(out Output) (Measured, error) {
	return parseRR(out, "tcp", "tcp-crr", "size", "stamps", "ports", "congestion", "serverCongestion", "rcvbuf")
}

// Parse reads what UDPRR reads, and before the window late (the share of requests
// that left later than 1/rate after their time) and stalls (1, how often response
// times were above 50 ms).
func (p UDPOpen) Parse(out Output) (Measured, error) {
	return parseRR(out, "udp", "udp-open", "size", "rate", "wait", "stamps", "sndbuf", "rcvbuf")
}

func parseRR(out Output, protocol, workload string, settings ...string) (Measured, error) {
	r, err := parseNative(out.Client, workload)
	if err != nil {
		return Measured{}, err
	}
	h, loss := r.echoes()
	window := r.seconds("window")
	if r.err != nil {
		return Measured{}, r.err
	}
	n := float64(h.TotalCount())
	values := append(percentiles(h, r.text("hist")), r.parts(h)...)
	values = append(values,
		record.Value{Name: "transactions", Unit: "1/s", Value: n / window},
		record.Value{Name: "loss", Unit: "1", Value: loss})
	if workload == "udp-open" {
		values = append(values, r.schedule(h)...)
	} else {
		// The window ends with the last reply, but for the histogram's precision.
		r.require(float64(h.Max())/1e9 <= window*1.001, "a transaction of %d ns in a window of %g s", h.Max(), window)
	}
	if r.text("wait") == "spinning" {
		settings = append(settings, "cpu", "serverCPU")
	}
	return r.measured(protocol, append(values, record.Value{Name: "window", Unit: "s", Value: window}), settings...)
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

// schedule reads what only an open loop has.
func (r *nativeResult) schedule(h *hdrhistogram.Histogram) []record.Value {
	offered, requests, late, stalls := r.count("offered"), r.count("requests"), r.count("lateSends"), r.count("stalls")
	r.require(offered >= requests && offered > 0, "%.0f requests sent of %.0f", requests, offered)
	r.require(late >= offered-requests && late <= offered, "%.0f requests late of %.0f, of which %.0f were sent", late, offered, requests)
	r.require(stalls <= float64(h.TotalCount()), "%.0f stalls of %d requests", stalls, h.TotalCount())
	return []record.Value{
		{Name: "late", Unit: "1", Value: late / max(offered, 1)},
		{Name: "stalls", Unit: "1", Value: stalls},
	}
}

// Parse reads rtt (s, the median, with its histogram), loss and window.
func (p Ping) Parse(out Output) (Measured, error) {
	r, err := parseNative(out.Client, "ping")
	if err != nil {
		return Measured{}, err
	}
	h, loss := r.echoes()
	if r.err != nil {
		return Measured{}, r.err
	}
	return r.measured("icmp", []record.Value{
		{Name: "rtt", Unit: "s", Value: quantile(h, 50), Hist: r.text("hist")},
		{Name: "loss", Unit: "1", Value: loss},
		{Name: "window", Unit: "s", Value: r.seconds("window")},
	}, "size", "socket")
}

// echoes returns the distribution of the answered requests and the share of those
// that were not. The histogram is valid only when r.err is nil; it is not empty.
func (r *nativeResult) echoes() (h *hdrhistogram.Histogram, loss float64) {
	requests, answered, lost := r.count("requests"), r.count("transactions"), r.count("lost")
	r.require(answered > 0 && answered+lost == requests, "%.0f requests, %.0f answered, %.0f lost", requests, answered, lost)
	if h = r.histogram("hist"); h != nil {
		r.require(float64(h.TotalCount()) == answered, "a histogram of %d for %.0f answers", h.TotalCount(), answered)
	}
	return h, lost / max(requests, 1)
}

// quantile returns the q-th percentile in seconds.
func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1e9
}
