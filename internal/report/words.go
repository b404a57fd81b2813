package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A word is how a probe is called in prose, and what it measures.
type word struct{ title, short, about string }

var probes = map[string]word{
	"tcp-stream":   {"TCP stream", "TCP", "One TCP connection sends as fast as it can. Counted is what arrived."},
	"udp-stream":   {"UDP stream", "UDP", "Datagrams of one size, as fast as they can be sent. Counted is what the application received."},
	"udp-rate":     {"UDP packet rate", "UDP packet rate", "Small datagrams, as fast as they can be sent: the price of a packet, whatever it carries."},
	"udp-capacity": {"UDP capacity", "UDP capacity", "The highest rate of datagrams of which no more than a bound is lost, by search. Counted is what arrived at it."},
	"tcp-rr":       {"TCP request/response", "TCP response time", "Requests over an open connection, one at a time unless the study says otherwise, and the time to each response."},
	"udp-rr":       {"UDP request/response", "UDP response time", "Requests, one at a time unless the study says otherwise, and the time to each response."},
	"udp-open":     {"UDP requests at a fixed rate", "UDP response time at a fixed rate", "Requests at a fixed rate, whatever became of the ones before. The time counts from when a request was to leave, so a stall shows in all requests that it delayed."},
	"tcp-crr":      {"TCP connect/request/response", "TCP connect time", "A new connection for every request."},
	"ping":         {"Ping", "ping", "ICMP echo, answered by the kernel."},

	"mpi-latency":      {"MPI latency (NetPIPE, Open MPI)", "MPI latency", "One message there and one back, and half of that time: NetPIPE's best of three trials."},
	"mpi-bandwidth":    {"MPI bandwidth (NetPIPE, Open MPI)", "MPI bandwidth", "Large messages, one at a time there and back: their size divided by half of that time."},
	"mpich-latency":    {"MPI latency (NetPIPE, MPICH)", "MPICH latency", "One message there and one back, and half of that time: NetPIPE's best of three trials."},
	"mpich-bandwidth":  {"MPI bandwidth (NetPIPE, MPICH)", "MPICH bandwidth", "Large messages, one at a time there and back: their size divided by half of that time."},
	"mpi4py-latency":   {"MPI latency (mpi4py, Open MPI)", "MPI latency in Python", "One message there and one back, and half of that time: the mean."},
	"mpi4py-bandwidth": {"MPI bandwidth (mpi4py, Open MPI)", "MPI bandwidth in Python", "Large messages, one at a time there and back: their size divided by half of that time."},
	"osu-latency":      {"MPI latency (osu_latency, Open MPI)", "MPI latency (OSU)", "One message there and one back, and half of that time: the mean."},
	"osu-bandwidth":    {"MPI bandwidth (osu_bw, Open MPI)", "MPI bandwidth (OSU)", "Large messages, 64 under way."},
	"sparkyfish":       {"TCP both ways (sparkyfish)", "sparkyfish", "Ten seconds each way, random data. Counted is what the server received."},
	"netpipe-tcp":      {"TCP message latency (NetPIPE)", "TCP message latency", "One message there and one back, and half of that time: NetPIPE's best of three trials."},
}

func probeTitle(p string) string {
	if w, ok := probes[p]; ok {
		return w.title
	}
	return p
}

func probeShort(p string) string {
	if w, ok := probes[p]; ok {
		return w.short
	}
	return p
}

var metrics = map[string]string{"rtt": "response time", "rtt.mean": "mean response time", "packet.rate": "packet rate", "half.rtt": "half RTT"}

func metricName(m string) string {
	if s, ok := metrics[m]; ok {
		return s
	}
	return strings.ReplaceAll(m, ".", " ")
}

func better(unit string) string {
	if record.LowerIsBetter(unit) {
		return "lower is better"
	}
	return "higher is better"
}

// levelText prints factor levels: "offload off, size 1400".
func levelText(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+" "+m[k])
	}
	return strings.Join(parts, ", ")
}

// tableTitle names a table in one line.
func tableTitle(t analysis.Table) string {
	s := probeTitle(t.Probe)
	if l := levelText(t.Levels); l != "" {
		s += ", " + l
	}
	return s
}

// ratioDigits returns the decimals that these intervals deserve: no digit that
// the interval makes meaningless, none less than tells its two ends apart.
func ratioDigits(is ...stat.Interval) int {
	d := 2
	for _, i := range is {
		if i.N > 0 && (math.Abs(i.Center) < 0.1 || i.Bounded() && i.Hi-i.Lo < 0.03) {
			d = 3
		}
	}
	return d
}

func fixed(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) { // scaling overflowed
		return "n/a"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func bracket(i stat.Interval, digits int) string {
	return "[" + fixed(i.Lo, digits) + ", " + fixed(i.Hi, digits) + "]"
}

// decimals returns how many a column needs so that its largest value has three
// significant digits and its smallest two.
func decimals(vs []float64) int {
	lo, hi := math.Inf(1), 0.0
	for _, v := range vs {
		if a := math.Abs(v); a > 0 {
			lo, hi = min(lo, a), max(hi, a)
		}
	}
	if hi == 0 {
		return 0
	}
	exp := func(v float64) int { return int(math.Floor(math.Log10(v))) }
	return min(max(0, 2-exp(hi), 1-exp(lo)), 4)
}

func percent(v float64) string {
	p := 100 * v
	switch {
	case p == 0:
		return "0 %"
	case math.Abs(p) < 0.01:
		return "<0.01 %"
	case math.Abs(p) < 1:
		return fixed(p, 2) + " %"
	}
	return fixed(p, 1) + " %"
}

// coarse prints a share with two significant digits.
func coarse(v float64) string {
	if v >= 0.1 {
		return fixed(100*v, 0) + " %"
	}
	return fixed(100*v, 1) + " %"
}

// footnote says what the intervals are.
func footnote(p analysed) string {
	if p.Comparisons == 0 {
		return ""
	}
	together := fmt.Sprintf("All %d intervals hold together with %g %% confidence", p.Comparisons, 100*p.Confidence)
	if p.Comparisons == 1 {
		together = fmt.Sprintf("The interval holds with %g %% confidence", 100*p.Confidence)
	}
	s := fmt.Sprintf("× is the ratio to %s of the same block; [ ] is its interval. %s. ~ means no difference was shown: the interval contains 1.", divisor(p), together)
	if p.Pairs > 0 {
		s += " " + pooled(p)
	}
	return s
}

// pooled says what a block's value is where all pairs of hosts are measured.
func pooled(p analysed) string {
	return fmt.Sprintf("A block's value is the median over its %s of hosts, and a ratio divides the medians over the pairs that both networks have: the sample is the block, not the pair.", count(p.Pairs, "pair"))
}
