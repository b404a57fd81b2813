package probe

import (
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

func loop(spin bool, flags ...string) []string {
	if spin {
		flags = append(flags, "--spin")
	}
	return flags
}

// responses returns the values common to all request probes: rtt (s, median, with histogram),
// rtt.p99 and rtt.p999 (s, if at least ten samples lie above them), rtt.plain, rtt.mean, those of parts
// (nil means native.parts), those of own, transactions (1/s), over UDP those of lost, and over one TCP
// connection tcp.retransmitted (segments of both ends). It also returns the distribution of response
// times, which lost requests are not in. Both are nil if the result is invalid. A window in which no
// request was answered has no response time.
func (n *native) responses(r event.RR, parts func(*hdrhistogram.Histogram) []record.Value) ([]record.Value, *hdrhistogram.Histogram) {
	if parts == nil {
		parts = func(h *hdrhistogram.Histogram) []record.Value { return n.parts(r.Split, h) }
	}
	h := n.echoes(r.Requests, r.Transactions, r.Lost, r.Hist)
	if n.require(r.Window > 0, "window is 0 s"); n.err != nil {
		return nil, nil
	}
	var times []record.Value
	if r.Transactions > 0 {
		times = append(append(n.percentiles(h, r), record.Value{Name: record.RTTMean, Unit: "s", Value: h.Mean() / 1e9}), parts(h)...)
	}
	times = append(append(times, n.own(r.Window, r.Own)...), record.Value{Name: record.Transactions, Unit: "1/s", Value: float64(r.Transactions) / r.Window})
	if r.Congestion != "" { // TCP sends what was lost again
		if r.ClientTCP != nil && r.ServerTCP != nil {
			times = append(times, record.Value{Name: record.TCPRetransmitted, Unit: "1", Value: r.ClientTCP.Retransmitted + r.ServerTCP.Retransmitted})
		}
		return times, h
	}
	return append(times, lost(float64(r.Lost), float64(r.Requests))...), h
}

// lostMethod says what becomes of lost requests.
const lostMethod = "A request without a reply within 500 ms is lost: it counts in loss, the share of all requests, and in no response time or percentile."

// lost returns how many requests were sent and which share of them was lost. A cell's loss is that of all
// its requests, so trials weigh by their number.
func lost(lost, requests float64) []record.Value {
	return []record.Value{{Name: record.Requests, Unit: "1", Value: requests}, {Name: record.Loss, Unit: "1", Value: lost / requests}}
}

// echo returns the statistics that ping(8) prints of the answered requests, s: the smallest, the mean, the
// largest, and mdev, the standard deviation with n in the denominator (finish, ping/ping_common.c,
// iputils 20240905; not the mean deviation that its name suggests). They are as exact as the histogram:
// 0.1 %.
func echo(h *hdrhistogram.Histogram) []record.Value {
	var out []record.Value
	for _, x := range []struct {
		name record.Quantity
		ns   float64
	}{{record.RTTMin, float64(h.Min())}, {record.RTTMean, h.Mean()}, {record.RTTMax, float64(h.Max())}, {record.RTTMdev, h.StdDev()}} {
		out = append(out, record.Value{Name: x.name, Unit: "s", Value: x.ns / 1e9})
	}
	return out
}

// closed returns the values of a closed loop: responses and window. The window ends with the last
// reply, to within the histogram's precision; replies that are overdue then can come within late.
func (n *native) closed(r event.RR, late time.Duration, parts func(*hdrhistogram.Histogram) []record.Value) []record.Value {
	values, h := n.responses(r, parts)
	if h != nil {
		n.require(float64(h.Max())/1e9 <= r.Window*1.001+late.Seconds(), "a transaction of %d ns in a window of %g s", h.Max(), r.Window)
	}
	return append(values, record.Value{Name: record.Window, Unit: "s", Value: r.Window})
}

// loop observes how the ends wait, and the polled CPUs of a run that polls.
func (n *native) loop(r event.RR) record.Observation {
	polls := r.Wait == event.WaitSpinning
	if polls && (r.CPU == nil || r.FarCPU == nil) {
		n.fail("cpu is missing")
		polls = false
	}
	return func(o record.Observed) {
		o.Observe(record.Wait.Is(r.Wait), record.Stamps.Is(r.Stamps))
		if polls {
			o.Observe(record.ClientCPU.Is(*r.CPU), record.ServerCPU.Is(*r.FarCPU))
		}
	}
}

// beyond is the minimum number of samples above a reported percentile: with fewer, it depends on
// the few slowest requests of one run.
const beyond = 10

func percentiles(h *hdrhistogram.Histogram, encoded string) []record.Value {
	n := float64(h.TotalCount())
	return append([]record.Value{{Name: record.RTT, Unit: "s", Value: quantile(h, 50), Hist: encoded}},
		tails(n, quantile(h, 99), quantile(h, 99.9))...)
}

// percentiles returns rtt of all requests. If some had stamps, it also returns rtt.plain, the same
// of the others, and takes the tails from these: stamps lengthen a request by microseconds, and
// its slowest cases by more. The median hardly moves, and stays comparable with results
// of older versions.
func (n *native) percentiles(h *hdrhistogram.Histogram, r event.RR) []record.Value {
	if r.PlainHist == "" {
		return percentiles(h, r.Hist)
	}
	plain := n.histogram("plainHist", r.PlainHist)
	if plain == nil {
		return nil
	}
	// Requests with stamps are in one histogram only.
	n.require(plain.TotalCount() > 0 && plain.TotalCount()+r.Stamped-r.Incomplete-r.Impossible <= h.TotalCount(),
		"plainHist of %d requests, of %d, where %d had all stamps", plain.TotalCount(), h.TotalCount(), r.Stamped-r.Incomplete-r.Impossible)
	all := h.Distribution() // begins at 0, and ends at the longest time
	for i, b := range plain.Distribution() {
		if b.Count > 0 && (i >= len(all) || b.Count > all[i].Count) {
			n.fail("impossible: plainHist has more requests of %d ns than hist", b.From)
			return nil
		}
	}
	if n.err != nil {
		return nil
	}
	of := percentiles(plain, r.PlainHist)
	of[0].Name = record.RTTPlain
	return append([]record.Value{{Name: record.RTT, Unit: "s", Value: quantile(h, 50), Hist: r.Hist}}, of...)
}

// tails returns rtt.p99 and rtt.p999 of n response times, each if enough lie above it (see beyond).
func tails(n float64, p99, p999 float64) []record.Value {
	var vs []record.Value
	if n*0.01 >= beyond {
		vs = append(vs, record.Value{Name: record.RTTP99, Unit: "s", Value: p99})
	}
	if n*0.001 >= beyond && p999 > 0 {
		vs = append(vs, record.Value{Name: record.RTTP999, Unit: "s", Value: p999})
	}
	return vs
}

// echoes returns the distribution of response times. It is valid only if n.err is nil, and empty if
// all requests were lost.
func (n *native) echoes(requests, answered, lost int64, hist string) *hdrhistogram.Histogram {
	if n.err != nil {
		return nil
	}
	n.require(requests > 0 && answered >= 0 && answered+lost == requests, "%d requests, %d answered, %d lost", requests, answered, lost)
	h := n.histogram("hist", hist)
	if h != nil {
		n.require(h.TotalCount() == answered, "a histogram of %d for %d answers", h.TotalCount(), answered)
	}
	return h
}

func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1e9
}

// parts splits the response times of some requests by the kernel's timestamps: rtt.path runs from
// the sender's first device to the receiver's namespace and back; rtt.wake from there to the
// program, at both ends; rtt.app is the rest, the programs and sending down to the device.
// rtt.stamped is the whole; the parts add up to it, although their medians need not. Timestamps
// make it longer than rtt. parts returns nil if the engine reports why there are none.
func (n *native) parts(r event.Split, whole *hdrhistogram.Histogram) []record.Value {
	if strings.HasPrefix(r.Stamps, event.NoStamps) {
		return nil
	}
	missing, out := r.Incomplete+r.Impossible, []record.Value{}
	for _, p := range []struct {
		name        record.Quantity
		field, hist string
	}{
		{record.RTTPath, "pathHist", r.PathHist}, {record.RTTWake, "wakeHist", r.WakeHist}, {record.RTTApp, "appHist", r.AppHist}, {record.RTTStamped, "stampedHist", r.StampedHist},
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

func (n *native) connect(hist string, whole *hdrhistogram.Histogram) []record.Value {
	h := n.part("connectHist", hist, whole)
	if h == nil {
		return nil
	}
	n.require(h.TotalCount() == whole.TotalCount(), "%d connections for %d transactions", h.TotalCount(), whole.TotalCount())
	return []record.Value{{Name: record.RTTConnect, Unit: "s", Value: quantile(h, 50), Hist: hist}}
}

// part reads the distribution of a part of response times. A part is never longer than its request,
// so above any time there are no more parts than response times.
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
