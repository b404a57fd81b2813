package probe

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// The native probes run `weir engine`, this program's own traffic generator. The
// zero value of every field is its default. They do not rely on the engine's
// defaults: a command line shows all that a probe means.
const (
	defaultWrite    = 128 << 10 // bytes: the write size of iperf3 for TCP
	defaultDatagram = 1400      // bytes: with IPv4 and UDP headers 1428, below the 1450 of VXLAN on a 1500-byte underlay
	smallDatagram   = 18        // bytes: fills the smallest Ethernet frame, 14 + 20 + 8 + 18 + 4 = 64
	defaultMessage  = 64        // bytes
	defaultCC       = "cubic"   // Linux's own default; machines are often set to another one
	defaultEcho     = 56        // bytes of data, as ping(8) sends
	defaultInterval = 10 * time.Millisecond
	defaultRequests = 2000 // per second
)

// Bounds of the options, as in the engine.
const (
	minRequest  = 16 // bytes: the engine's header
	maxMessage  = 16 << 20
	maxRequest  = 65507 // bytes of a datagram
	maxInflight = 1024
	maxPipeline = 64 << 10  // bytes in flight on a connection
	maxRequests = 1_000_000 // requests/s
)

// within returns an error that names the value and its bound. size and its bounds
// are in bytes.
func within(name string, size, least, most, inflight int) error {
	switch {
	case size < least || size > most:
		return fmt.Errorf("%s: size %d is outside %d..%d bytes", name, size, least, most)
	case inflight < 1 || inflight > maxInflight:
		return fmt.Errorf("%s: %d requests in flight is outside 1..%d", name, inflight, maxInflight)
	}
	return nil
}

func engineRun(w Window, workload string, size int, flags ...string) (server, client []string) {
	server = []string{"weir", "engine", "serve", w.Server.String(), "--open", "--json"}
	client = []string{"weir", "engine", "run", workload, w.Server.String(),
		"--duration", w.Duration.String(), "--warmup", w.Warmup.String(), "--size", fmt.Sprint(size)}
	return server, append(client, flags...)
}

// loop adds the flag of a closed or open loop whose ends poll.
func loop(spin bool, flags ...string) []string {
	if spin {
		flags = append(flags, "--spin")
	}
	return flags
}

// or returns v, or the default when v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// parseRR reads what all probes of requests have: rtt (s, the median, with its
// histogram), rtt.p99 and rtt.p999 (s, each when at least ten samples lie above
// it), rtt.path, rtt.wake, rtt.app and rtt.stamped (s, medians with their
// histograms: what rtt consists of, where the kernel stamps packets; see parts),
// transactions (1/s), loss (of the requests) and window.
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
		// The window ends with the last reply, within the histogram's precision.
		r.require(float64(h.Max())/1e9 <= window*1.001, "a transaction of %d ns in a window of %g s", h.Max(), window)
	}
	if r.text("wait") == "spinning" {
		settings = append(settings, "cpu", "serverCPU")
	}
	return r.measured(protocol, append(values, record.Value{Name: "window", Unit: "s", Value: window}), settings...)
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

// echoes returns the distribution of the answered requests and the share of those
// without an answer. The histogram is valid only when r.err is nil; it is not empty.
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
