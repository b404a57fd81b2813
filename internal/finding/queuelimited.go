package finding

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

const (
	// heldBack is the least share of a queue's packets that it held back to count as a limit.
	heldBack = 0.02
	// reached is the least share of a queue's rate, headers included, that a stream it limits carries: a slower one is held back only
	// in bursts, and something else is its limit.
	reached = 0.9
	// filling is that share of what acknowledgements, requests and answers take, which is counted from before the traffic until after it.
	filling = 0.8
	// A rate without a burst does not limit a stream that carries more than exceeded times as much.
	exceeded = 1.1
)

// shapers are the queueing disciplines that can keep a rate. Others count overlimits for other reasons, or in classes: fq
// when it paces TCP as TCP itself asks (fq_dequeue, net/sched/sch_fq.c).
var shapers = []string{"tbf", "htb", "hfsc", "cake", "netem", "cbs", "taprio", "etf"}

var queueLimited = Rule{
	ID:    "queue-limited",
	Title: "A queueing discipline limits the rate",
	Doc: "A queueing discipline that holds packets back to keep a rate counts an overlimit each time, but so does one that only smooths bursts. So it is the limit only of a stream that is slower than the baseline's, over the whole interval, and that the probe itself does not pace. " +
		"Where the kernel says its rate (tbf, htb; of several classes, that of the slowest one that can carry as much), the baseline must carry more than that, the stream, with the headers that the queue counts, at least 90 % of it, and the queue must have held back more than 2 % of the packets, unless it lets much pass at once. Where the rate is unknown, overlimits prove nothing: the queue must also have dropped packets in most blocks, because it was full. Of several, the slowest one is named. " +
		"On the way back, a queue whose rate is known limits TCP if its acknowledgements use at least 80 % of that rate, more than 2 % of them were held back, and the baseline's take more than it. So it does requests and their answers, if these are slower than the baseline's, and no background load fills the queue. " +
		"A link's rate that the study sets is left to link-limited." + majority,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		if r.Wire.Link > 0 {
			return nil
		}
		if !strings.HasSuffix(t.Unit, "/s") {
			return filled(t, r)
		}
		var slowest []Finding
		least := 0.0 // its rate
		for i, h := range last(r).Evidence.Path {
			if h.Queue == nil || !h.Out || !slices.Contains(shapers, h.Queue.Kind) {
				continue
			}
			d, _ := deviceOf(settings(r), h.In, h.Dev)
			carried := carriedAt(r, i)
			rate := kept(d, carried)
			if f, ok := shaped(t, r, i, carried, rate, d.Burst); ok && (slowest == nil || rate > 0 && (least == 0 || rate < least)) {
				slowest, least = []Finding{f}, rate
			}
		}
		if slowest == nil {
			return filled(t, r)
		}
		return slowest
	}),
}

// filled returns the finding about a queue that TCP's acknowledgements on the way back fill, or requests or their answers: without
// them, no more data leave. The baseline's take more than its rate.
func filled(t *analysis.Table, r *analysis.Row) []Finding {
	o := last(r)
	asks := t.Unit == "s" && answers(o) && !loaded(t) && r.Ratio.Bounded() && r.Ratio.Lo > 1
	acknowledges := t.Metric == record.Throughput && o.Evidence.Protocol == "tcp" && r.Ratio.Bounded() && r.Ratio.Hi < 1
	for _, h := range o.Evidence.Path {
		d, _ := deviceOf(settings(r), h.In, h.Dev)
		if !asks && (!acknowledges || h.Out) || h.Queue == nil || !slices.Contains(shapers, h.Queue.Kind) || d.Limit == 0 {
			continue
		}
		own, held, packets := passed(r.Evidence(), !h.Out, func(x evidence.Hop) bool { return x.In == h.In && x.Dev == h.Dev })
		base, _, _ := passed(r.BaseEvidence(), !h.Out, func(evidence.Hop) bool { return true })
		if held < max(leastLost, heldBack*packets) || own < filling*d.Limit || base <= d.Limit {
			continue
		}
		f := Finding{Severity: Warning, Place: h.In + " " + h.Dev, Remedy: lang.T("remove its limit, or compare CPU time instead"),
			Test: &Test{Metric: t.Metric, Whole: true, Fix: []plan.Step{{In: h.In, Rate: &plan.Rate{Dev: h.Dev}}}}}
		if asks {
			f.Text = lang.T("a queueing discipline (%s) on %s %s limits requests and answers to %s: it held packets back %s times; the baseline's take %s there",
				h.Queue.Kind, h.In, h.Dev, unit.Format(d.Limit, "bit/s"), prose.Thousands(held), unit.Format(base, "bit/s"))
			f.Test.Text, f.Test.Factor = lang.T("Refuted if removing it saves less than 2 % of the response time"), 0.98
		} else {
			f.Text = lang.T("a queueing discipline (%s) on %s %s limits TCP's acknowledgements to %s: it held them back %s times; the baseline's take %s",
				h.Queue.Kind, h.In, h.Dev, unit.Format(d.Limit, "bit/s"), prose.Thousands(held), unit.Format(base, "bit/s"))
			f.Test.Text, f.Test.Factor = lang.T("Refuted if removing it adds less than 2 % throughput"), 1.02
		}
		return []Finding{f}
	}
	return nil
}

// passed returns what the first meant device of the path passed in the direction of the data, or back, in the middle trial, bit/s,
// how many times its queue held packets back in all, and of how many.
func passed(all []analysis.Observed, back bool, meant func(evidence.Hop) bool) (rate, held, packets float64) {
	var rates []float64
	for _, o := range all {
		i := slices.IndexFunc(o.Evidence.Path, meant)
		if i < 0 || o.Evidence.Seconds <= 0 {
			continue
		}
		h := o.Evidence.Path[i]
		flow := h.Data
		if back {
			flow = h.Back
		}
		rates = append(rates, 8*flow.Bytes/o.Evidence.Seconds)
		if h.Queue != nil {
			held, packets = held+h.Queue.Overlimits, packets+flow.Packets
		}
	}
	return stat.Middle(rates), held, packets
}

// carriedAt returns the rate of a row at the queue of hop i, bit/s: the queue counts the headers of each packet as it is on the wire
// (qdisc_pkt_len_init, net/core/dev.c), and the probe only what is in them.
func carriedAt(r *analysis.Row, i int) float64 {
	var bytes, packets float64
	for _, o := range r.Evidence() {
		if i < len(o.Evidence.Path) && o.Evidence.Path[i].Queue != nil {
			bytes, packets = bytes+o.Evidence.Path[i].Queue.Bytes, packets+o.Evidence.Path[i].Queue.Packets
		}
	}
	e := last(r).Evidence
	_, outer := planned(last(r), i)
	headers := etherHeader + outer + 20 + 8 // IPv4, UDP
	if e.Protocol == "tcp" {
		headers += 20 + tcpOptions - 8
	}
	if overIPv6(e) {
		headers += 40 - 20
	}
	carried, _ := r.Get(record.Throughput)
	if size := bytes / max(packets, 1); size > headers {
		return carried.Median * size / (size - headers)
	}
	return carried.Median
}

// kept returns the rate that a device's queueing discipline keeps for a row: of several classes, that of the slowest one that can
// carry what was carried. No counter says in which class the packets were.
func kept(d evidence.Device, carried float64) float64 {
	for _, rate := range d.Classes {
		if carried <= exceeded*rate {
			return rate
		}
	}
	return d.Limit
}

// shaped returns the finding about the queue at hop i, whose rate and burst are 0 if unknown, and which carried a rate; false if it
// does not limit the row.
func shaped(t *analysis.Table, r *analysis.Row, i int, carried, rate, burst float64) (f Finding, ok bool) {
	var times, dropped, packets float64
	h := last(r).Evidence.Path[i]
	share, held := analysis.Exceeds(r.Evidence(), heldBack, func(o analysis.Observed) (over, of float64) {
		if i >= len(o.Evidence.Path) || o.Evidence.Path[i].Queue == nil {
			return 0, 0
		}
		x := o.Evidence.Path[i]
		times, dropped, packets = times+x.Queue.Overlimits, dropped+x.Queue.Drops, packets+x.Data.Packets+x.Queue.Drops
		return x.Queue.Overlimits, x.Data.Packets
	})
	_, full := analysis.Mostly(r.Evidence(), func(o analysis.Observed) bool {
		return i < len(o.Evidence.Path) && o.Evidence.Path[i].Queue != nil && o.Evidence.Path[i].Queue.Drops > 0
	})
	slower := r.Ratio.Bounded() && r.Ratio.Hi < 1
	pace := paced(t, r)
	window, timed := r.Get(record.Window)
	bursts := rate > 0 && timed && burst > rate/8*window.Median/10
	switch {
	case times < leastLost || !held && !bursts:
		return f, false
	case rate == 0 && (!full || !slower || pace > 0):
		return f, false
	case rate > 0 && (pace > 0 && pace < rate || carried < reached*rate || carried > exceeded*rate && !bursts):
		return f, false
	case rate > 0 && r.Ratio.Bounded() && (!slower || carried/r.Ratio.Center < rate):
		return f, false // the baseline carries no more than that
	}
	f = Finding{Severity: Warning, Place: h.In + " " + h.Dev,
		Text:     lang.T("a queueing discipline (%s) on %s %s limits the rate: it held packets back %s times and dropped %s of %s", h.Queue.Kind, h.In, h.Dev, prose.Thousands(times), prose.Thousands(dropped), prose.Thousands(packets)),
		Evidence: []lang.Text{lang.T("%s times per packet in %d blocks", prose.Short(share.Center), share.N)},
		Remedy:   lang.T("remove its limit, or compare CPU time instead"),
		Number:   &Number{Name: lang.T("times held back per packet"), Unit: "1", Value: share},
	}
	if rate > 0 {
		f.Text = lang.T("a queueing discipline (%s) on %s %s limits the rate to %s: it held packets back %s times and dropped %s of %s", h.Queue.Kind, h.In, h.Dev, unit.Format(rate, "bit/s"), prose.Thousands(times), prose.Thousands(dropped), prose.Thousands(packets))
	}
	if bursts {
		f.Text += lang.T("; before, it lets %s pass at once, so trials depend on what was sent before them", unit.Format(burst, "byte"))
	}
	if t.Metric == record.Throughput {
		f.Test = &Test{Text: lang.T("Refuted if removing it adds less than 2 % throughput"), Metric: t.Metric, Factor: 1.02, Whole: true,
			Fix: []plan.Step{{In: h.In, Rate: &plan.Rate{Dev: h.Dev}}}}
	}
	return f, true
}

// paced returns the rate that the probe keeps by itself, bit/s; 0 if it sends as fast as it can.
func paced(t *analysis.Table, r *analysis.Row) float64 {
	level, err := strconv.ParseFloat(t.Config["rate"], 64)
	if err != nil {
		level = 0
	}
	return max(record.Rate.Of(r.Observed), level)
}
