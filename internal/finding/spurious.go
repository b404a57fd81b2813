package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

// sentAgain is the least share of segments sent again that counts.
const sentAgain = 0.001

var spurious = Rule{
	ID:    "spurious-retransmissions",
	Title: "TCP sends segments again that were not lost",
	Doc: "TCP sent more than 0.1 % of its segments again, no device, queue, CPU or socket on the path counted drops for a tenth of them, nor do counts of neighboring devices differ, and the receiver acknowledged at least half as many segments as duplicates (D-SACK, RFC 2883): they were late or reordered, not lost. More duplicates than 1.5 times the segments sent again are copies that something on the way made, and show nothing. " +
		"A preempted end does that too, so contention outranks this rule." + majority,
	lossy: func(_ *analysis.Table, r *analysis.Row, found losses) []Finding {
		if len(found.steps) > 0 {
			return nil
		}
		again, twice := 0.0, 0.0
		share, ok := analysis.ShareExceeds(r.Evidence(), sentAgain, func(o analysis.Observed) (part, segments float64) {
			t := o.Evidence.Sender.TCP
			if t == nil {
				return 0, 0
			}
			lost := dropped(o.Evidence)
			for _, g := range found.gaps[o.Trial] {
				lost += g.lost
			}
			if lost < 0.1*t.Retransmitted {
				again += t.Retransmitted
				twice += t.Duplicates
				part = t.Retransmitted
			}
			return part, t.SegmentsOut
		})
		if !ok || again < leastLost || twice < again/2 || twice > unbalanced*again {
			return nil
		}
		sender := r.Evidence()[0].Evidence.Sender.Node
		f := Finding{Severity: Note, Place: sender, Number: &Number{lang.T("segments sent again"), "1", share},
			Text:   lang.T("TCP sent %s of its segments again (%s), and the receiver got %s segments twice: the retransmissions are spurious", prose.PercentWithin(share), prose.Thousands(again), prose.Thousands(twice)),
			Remedy: lang.T("look for reordering and for delays, such as an end that waits for a CPU"),
			// A setting that makes the sender wait would be the test: since Linux 6.17 there is none, because RACK alone
			// decides, by time (net/ipv4/tcp_recovery.c).
			Untestable: lang.T("the receiver has already said so: it acknowledged these segments as duplicates")}
		return []Finding{f}
	},
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
