package probe

import (
	"cmp"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
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
)

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
func or[T comparable](v, def T) T { return cmp.Or(v, def) }

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
