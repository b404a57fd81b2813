package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// overtaken is the least share of packets overtaken by others that counts.
const overtaken = 0.005

var reordered = Rule{
	ID:    "reordered",
	Title: "Packets overtake each other",
	Doc: "More than 0.5 % of the datagrams that arrived had a lower sequence number than one before them (RFC 4737, section 3), or the sender's TCP counted for more than 0.5 % of the packets that segments which it never sent again were acknowledged after later ones (TCPSACKReorder in /proc/net/netstat), most of them of the probe's own connections (tcpi_reord_seen). Losses make these counters grow, too, as do segments that the sender's machine discards: where packets are lost at a known step, the receiver got less than half of what TCP sent again twice (D-SACK), the others are more than half of that number, or the sender's IP sent more packets than the first device, they show nothing. " +
		"Of TCP, the share must lie above the baseline's in the same blocks, over the whole interval, TCP must be slower than it or cost more CPU time, and less than 0.1 % of the packets may carry marks of congestion, which slow TCP down by themselves. " +
		"Parts of the traffic take another way, or wait in another queue. Counters of devices do not see that, so no place is known. " +
		"A network that keeps to one path and one CPU reorders nothing." + majority + certainly,
	lossy: func(_ *analysis.Table, r *analysis.Row, found losses) []Finding {
		var times, packets, again, twice, inside, marks float64 // of TCP
		share, ok := analysis.ShareExceeds(r.Evidence(), overtaken, func(o analysis.Observed) (part, whole float64) {
			part, whole = overtook(o)
			if _, counted := o.Get(record.Reordered); counted || whole == 0 {
				return part, whole
			}
			e := o.Evidence
			times, packets = times+part, packets+whole
			inside += max(0, both(e.Nodes[e.Sender.Node], "ip", "OutRequests")-e.Path[0].Data.Packets)
			again, twice = again+e.Sender.TCP.Retransmitted, twice+e.Sender.TCP.Duplicates
			marks += e.Nodes[e.Receiver.Node]["netstat.InCEPkts"] + e.Nodes[e.Receiver.Node]["ip6.InCEPkts"]
			return part, whole
		})
		base, _ := analysis.ShareExceeds(r.BaseEvidence(), overtaken, overtook)
		worse := !r.Ratio.Bounded() || r.Ratio.Hi < 1 || r.OwnAlone().Bounded() && r.OwnAlone().Lo > 1
		switch {
		case !ok || !clearly(share, overtaken):
			return nil
		case packets > 0 && (len(found.steps) > 0 || twice < again/2 || again-twice+inside > times/2):
			return nil
		case packets > 0 && (marks > marked*packets || !worse || base.N > 0 && !more(share, base)):
			return nil
		}
		f := Finding{Severity: Note, Number: &Number{lang.T("datagrams that others overtook"), "1", share},
			Text:       lang.T("%s of the datagrams arrived after later ones, and no counter says where they were overtaken", prose.PercentWithin(share)),
			Remedy:     lang.T("look for a second way through the network, or for packets that several CPUs process"),
			Untestable: lang.T("no cause is known that a run could remove")}
		if packets > 0 {
			f.Number.Name = lang.T("times that TCP saw later packets arrive first, per packet")
			f.Text = lang.T("TCP in %s saw %s times in %s packets (%s) that later ones arrived first, and no counter says where they overtook", last(r).Evidence.Sender.Node, prose.Thousands(times), prose.Thousands(packets), prose.PercentWithin(share))
		}
		return []Finding{f}
	},
}

// overtook returns how many datagrams or segments of a trial later ones overtook, and of how many; 0 of 0 if unknown. Segments count if
// most are of the probe's own connections, which count them in the window alone.
func overtook(o analysis.Observed) (part, whole float64) {
	if v, known := o.Get(record.Reordered); known {
		return v.Value, 1
	}
	e := o.Evidence
	if e.Protocol != "tcp" || len(e.Path) == 0 || e.Sender.TCP == nil || e.Window <= 0 {
		return 0, 0
	}
	if part = e.Nodes[e.Sender.Node]["netstat.TCPSACKReorder"]; e.Sender.TCP.Reordered*max(1, e.Seconds/e.Window) < part/2 {
		part = 0
	}
	return part, e.Path[len(e.Path)-1].Data.Packets
}
