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
	Doc: "More than 0.5 % of the datagrams that arrived had a lower sequence number than one before them (RFC 4737, section 3), or the sender's TCP counted for more than 0.5 % of the packets that segments which it never sent again were acknowledged after later ones (TCPSACKReorder in /proc/net/netstat). Losses make that counter grow, too, as do segments that the sender's machine discards: where packets are lost at a known step, the receiver got less than half of what TCP sent again twice (D-SACK), the others are more than half of that number, or the sender's IP sent more packets than the first device, it shows nothing. " +
		"Parts of the traffic take another way, or wait in another queue. Counters of devices do not see that, so no place is known. " +
		"A network that keeps to one path and one CPU reorders nothing." + majority + certainly,
	lossy: func(_ *analysis.Table, r *analysis.Row, found losses) []Finding {
		var times, packets, again, twice, inside float64 // of TCP
		share, ok := analysis.ShareExceeds(r.Evidence(), overtaken, func(o analysis.Observed) (part, whole float64) {
			if v, known := o.Get(record.Reordered); known {
				return v.Value, 1
			}
			if e := o.Evidence; e.Protocol == "tcp" && len(e.Path) > 0 {
				part, whole = e.Nodes[e.Sender.Node]["netstat.TCPSACKReorder"], e.Path[len(e.Path)-1].Data.Packets
				times, packets = times+part, packets+whole
				inside += max(0, both(e.Nodes[e.Sender.Node], "ip", "OutRequests")-e.Path[0].Data.Packets)
				if t := e.Sender.TCP; t != nil {
					again, twice = again+t.Retransmitted, twice+t.Duplicates
				}
			}
			return part, whole
		})
		if !ok || !clearly(share, overtaken) || packets > 0 && (len(found.steps) > 0 || twice < again/2 || again-twice+inside > times/2) {
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
