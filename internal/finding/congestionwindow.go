package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

const (
	// initialWindow is the congestion window with which a connection begins, segments (TCP_INIT_CWND, include/net/tcp.h; RFC 6928).
	// Without losses and marks TCP only makes it larger.
	initialWindow = 10
	// narrower is the least ratio of the baseline's window to the trial's.
	narrower = 4
)

// congestion returns the middle of the congestion windows of the trials, segments per connection; 0 if unknown.
func congestion(all []analysis.Observed) float64 {
	var windows []float64
	for _, o := range all {
		if t := o.Evidence.Sender.TCP; t != nil && t.Window > 0 {
			windows = append(windows, t.Window/threads(o))
		}
	}
	return stat.Middle(windows)
}

// bounded reports whether the congestion window of a trial is smaller than the initial one, although nothing made TCP
// reduce it: no losses, no mark, and no other limit. A late answer makes TCP send a segment again now and then (TLP, RFC 8985).
func bounded(o analysis.Observed) bool {
	t := o.Evidence.Sender.TCP
	if t == nil || t.Window == 0 || t.Window >= initialWindow*threads(o) || t.RwndLimited+t.SndbufLimited > limited*t.Busy {
		return false
	}
	c := o.Evidence.Nodes[o.Evidence.Receiver.Node]
	again := retransmitted(o.Evidence) - t.Duplicates
	return t.Busy > 0 && again <= sentAgain*t.SegmentsOut && c["netstat.InCEPkts"]+c["ip6.InCEPkts"] == 0
}

var congestionWindow = Rule{
	ID:    "congestion-window",
	Title: "The congestion window stays small",
	Doc: "TCP's congestion window (tcpi_snd_cwnd at the end of a trial) is smaller than the 10 segments with which a connection begins (RFC 6928) and than a fourth of the baseline's, although the trial sent less than 0.1 % of its segments again, apart from those that the receiver got twice, none was marked, and neither the receiver's window nor the send buffer held TCP back for 30 % of its busy time: something bounds it, such as a route (cwnd with lock). " +
		"It must hold in more than half of the blocks, of at least three, and throughput or the CPU time must be worse than the baseline's over the whole interval.",
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		cost := r.OwnAlone()
		slower, dearer := r.Ratio.Bounded() && r.Ratio.Hi < 1, cost.Bounded() && cost.Lo > 1
		own, base := congestion(r.Evidence()), congestion(r.BaseEvidence())
		if t.Metric != record.Throughput || own == 0 || base < narrower*own || !slower && !dearer {
			return nil
		}
		share, ok := analysis.Mostly(r.Evidence(), bounded)
		if !ok {
			return nil
		}
		sender := last(r).Evidence.Sender.Node
		return []Finding{{Severity: Warning, Place: sender, Number: &Number{lang.T("trials with it"), "1", share},
			Text:       lang.T("the congestion window in %s stays at %s segments per connection, and the baseline's is %s, although TCP sent less than 0.1 %% of its segments again, and none was marked: something bounds it", sender, prose.Thousands(own), prose.Thousands(base)),
			Remedy:     lang.T("look for a route that states a congestion window: ip route show (cwnd, lock)"),
			Untestable: lang.T("weir cannot know what bounds it")}}
	}),
}
