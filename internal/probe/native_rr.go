package probe

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// What the engine's histograms of nanoseconds look like. Others are refused, for
// they could not be merged with these without loss.
const (
	histLowest  = 1
	histHighest = 60_000_000_000
	histDigits  = 3
	maxHist     = 1 << 20 // bytes of the encoding, far more than a full one takes
)

// beyond is how many samples must lie above a percentile for it to be told: with
// fewer it is the luck of the run's slowest few.
const beyond = 10

// Parse reads rtt (s, the median, with its histogram), rtt.p99 and rtt.p999 (s,
// each when at least ten samples lie above it), transactions (1/s), loss (of the
// requests) and window.
func (p TCPRR) Parse(out Output) (Measured, error) {
	return parseRR(out, "tcp", "size", "congestion", "serverCongestion", "rcvbuf")
}

// Parse reads what TCPRR reads. A reply that takes longer than half a second is
// a loss.
func (p UDPRR) Parse(out Output) (Measured, error) {
	return parseRR(out, "udp", "size", "sndbuf", "rcvbuf")
}

func parseRR(out Output, protocol string, settings ...string) (Measured, error) {
	r, err := parseNative(out.Client, protocol+"-rr")
	if err != nil {
		return Measured{}, err
	}
	h, loss := r.echoes()
	window := r.seconds("window")
	if r.err != nil {
		return Measured{}, r.err
	}
	// One at a time: no transaction outlasts the window, but for the histogram's
	// precision.
	r.require(float64(h.Max())/1e9 <= window*1.001, "a transaction of %d ns in a window of %g s", h.Max(), window)
	values := []record.Value{{Name: "rtt", Unit: "s", Value: quantile(h, 50), Hist: r.text("hist")}}
	n := float64(h.TotalCount())
	if n*0.01 >= beyond {
		values = append(values, record.Value{Name: "rtt.p99", Unit: "s", Value: quantile(h, 99)})
	}
	if n*0.001 >= beyond {
		values = append(values, record.Value{Name: "rtt.p999", Unit: "s", Value: quantile(h, 99.9)})
	}
	return r.measured(protocol, append(values,
		record.Value{Name: "transactions", Unit: "1/s", Value: n / window},
		record.Value{Name: "loss", Unit: "1", Value: loss},
		record.Value{Name: "window", Unit: "s", Value: window},
	), settings...)
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
	encoded := r.text("hist")
	if r.err != nil {
		return nil, 0
	}
	r.require(answered > 0 && answered+lost == requests, "%.0f requests, %.0f answered, %.0f lost", requests, answered, lost)
	if len(encoded) > maxHist {
		r.fail("hist has %d bytes, more than %d", len(encoded), maxHist)
		return nil, 0
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		r.fail("hist: %w", err)
		return nil, 0
	}
	r.require(float64(h.TotalCount()) == answered, "a histogram of %d for %.0f answers", h.TotalCount(), answered)
	if h.LowestTrackableValue() != histLowest || h.HighestTrackableValue() != histHighest || h.SignificantFigures() != histDigits {
		r.fail("hist: %d..%d with %d digits, not %d..%d with %d", h.LowestTrackableValue(), h.HighestTrackableValue(),
			h.SignificantFigures(), histLowest, int64(histHighest), histDigits)
	}
	return h, lost / max(requests, 1)
}

// quantile returns the q-th percentile in seconds.
func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1e9
}
