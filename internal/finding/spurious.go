package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
)

// sentAgain is the least share of segments sent again that counts.
const sentAgain = 0.001

var spurious = Rule{
	ID:    "spurious-retransmissions",
	Title: "TCP sends segments again that were not lost",
	Doc: "TCP sent more than 0.1 % of its segments again, and no device, queue, CPU or socket on the path counted drops for a tenth of them, nor do counts of neighboring devices differ: they were late or reordered, not lost. " +
		"A preempted end does that too, so contention outranks this rule." + majority,
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		if firstLoss(r) != nil {
			return nil
		}
		again, sizes := 0.0, meanSizes(r.Evidence())
		share, ok := analysis.ShareExceeds(r.Evidence(), sentAgain, func(o analysis.Observed) (part, segments float64) {
			t := o.Evidence.Sender.TCP
			if t == nil {
				return 0, 0
			}
			lost := dropped(o.Evidence)
			for _, g := range gaps(o, sizes) {
				lost += g.lost
			}
			if lost < 0.1*t.Retransmitted {
				again += t.Retransmitted
				part = t.Retransmitted
			}
			return part, t.SegmentsOut
		})
		if !ok || again < leastLost {
			return nil
		}
		sender := r.Evidence()[0].Evidence.Sender.Node
		f := Finding{Severity: Note, Place: sender, Number: &Number{lang.T("segments sent again"), "1", share},
			Text:   lang.T("TCP sent %s of its segments again (%s), and nothing on the path counted a drop: the retransmissions are spurious", percent(share), count(again)),
			Remedy: lang.T("look for reordering and for delays, such as an end that waits for a CPU"),
			// A lost segment is sent again in any case, later.
			Test: &Test{Text: lang.T("Refuted if a sender that waits for late segments sends more than half as many again"), Metric: "retransmits", Factor: 0.5,
				Fix: []plan.Step{patient(sender, "tcp_reordering", "300"), patient(sender, "tcp_recovery", "0"), patient(sender, "tcp_early_retrans", "0")}}}
		if _, counted := last(r).Get(f.Test.Metric); !counted {
			f.Test, f.Untestable = nil, lang.T("the probe does not report its retransmissions")
		}
		return []Finding{f}
	}),
}

// patient is a step after which TCP takes no segment for lost because later ones arrived before it: 300 of them
// (net.ipv4.tcp_max_reordering, the most), no time after them (RACK), and no probe of the tail (net/ipv4/tcp_recovery.c).
func patient(node, key, value string) plan.Step {
	return plan.Step{In: node, Sysctl: &plan.Sysctl{Key: "net.ipv4." + key, Value: value}}
}

// dropped returns all packets that a trial's counters show as dropped, some of them more than once.
func dropped(t *evidence.Trial) (n float64) {
	for _, h := range t.Path {
		n += h.Data.Drops + h.Back.Drops
		if h.Queue != nil {
			n += h.Queue.Drops
		}
	}
	for _, c := range t.Hosts {
		n += c["softnet.dropped"]
	}
	for _, c := range t.Nodes {
		for _, name := range []string{"TCPBacklogDrop", "TCPRcvQDrop", "TCPOFODrop", "PFMemallocDrop", "RcvPruned"} {
			n += c["netstat."+name]
		}
	}
	return n
}
