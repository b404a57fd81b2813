package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

// overflowed is the least share of connections that must have found the queue full to count: each costs its client a second.
const overflowed = 0.001

var acceptQueue = Rule{
	ID:    "accept-queue",
	Title: "Connections wait in a full queue",
	Doc: "More than 0.1 % of the connections that reached the receiver's network namespace found the queue of a listening socket full (ListenOverflows in /proc/net/netstat, beside PassiveOpens in /proc/net/snmp). " +
		"The kernel drops their SYN, or what completes the handshake (tcp_conn_request, net/ipv4/tcp_input.c), and one of both ends sends again after 1 s (TCP_TIMEOUT_INIT, include/net/tcp.h). " +
		"The counter is of all programs there, so the sender's namespace must have sent segments again for half of them, and no packets may be lost at a known step, which makes it do so, too." + majority + certainly,
	lossy: func(_ *analysis.Table, r *analysis.Row, found losses) []Finding {
		full, all, again := 0.0, 0.0, 0.0
		share, ok := analysis.ShareExceeds(r.Evidence(), overflowed, func(o analysis.Observed) (part, whole float64) {
			c := o.Evidence.Nodes[o.Evidence.Receiver.Node]
			part, whole = c["netstat.ListenOverflows"], c["netstat.ListenOverflows"]+c["tcp.PassiveOpens"]
			full, all, again = full+part, all+whole, again+retransmitted(o.Evidence)
			return part, whole
		})
		if !ok || len(found.steps) > 0 || full < leastLost || again < full/2 || !clearly(share, overflowed) || last(r).Evidence.Protocol != "tcp" {
			return nil
		}
		node := last(r).Evidence.Receiver.Node
		return []Finding{{Severity: Warning, Place: node, Number: &Number{lang.T("connections that found the queue full"), "1", share},
			Text:       lang.T("%s of %s connections (%s) found the queue of a listening socket in %s full, and TCP tries again after 1 s", prose.Thousands(full), prose.Thousands(all), prose.PercentWithin(share), node),
			Remedy:     lang.T("accept connections faster, or let more of them wait: the backlog that the program gives to listen(), and net.core.somaxconn, which bounds it"),
			Untestable: lang.T("weir cannot know how many the program lets wait")}}
	},
}
