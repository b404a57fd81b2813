package finding

import (
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// sender adds the datagrams that IP gave to the sender's device and that came back as dropped: a filter on the way out, whose
// drops neither the device nor a queue counts.
func (l *ladder) sender() {
	t := l.o.Evidence
	lost := both(t.Nodes[t.Sender.Node], "ip", "OutDiscards")
	for _, g := range l.gaps { // drops in the call of a sender show again
		lost -= g.lost
	}
	if lost > 0 && len(l.path) > 0 {
		l.add(atDevice, -1, lost, entered(t)+lost, lang.T("were discarded in %s before %s sent them", l.path[0].In, l.path[0].Dev), lang.T("IP counts them (OutDiscards)"))
		l.last().missing = true // other programs of the node send, too
	}
}

// fullSocket returns the program whose UDP sockets dropped the packets that are missing before a hop, if it gets them there.
func (l *ladder) fullSocket(h evidence.Hop, lost float64) (program string, ok bool) {
	t := l.o.Evidence
	if programs := t.Carriers[h.In]; h.By != "" && len(programs) > 0 {
		return programs[0], h.In != t.Receiver.Node && both(t.Nodes[h.In], "udp", "RcvbufErrors") >= 0.9*lost
	}
	return "", false
}

// A refusal is a reason for which IP drops a packet before a filter of the input hook sees it, which it counts.
type refusal struct {
	of      func(sample.Counters) float64
	counter lang.Text
	verb    func() lang.Text
}

// refusals are what ip_rcv_core and ip_rcv_finish_core (net/ipv4/ip_input.c) and ip_error (net/ipv4/route.c) count.
var refusals = []refusal{
	{func(c sample.Counters) float64 { return both(c, "ip", "InHdrErrors") }, "InHdrErrors",
		func() lang.Text { return lang.T("with a header that is wrong, such as its checksum") }},
	{func(c sample.Counters) float64 { return c["netstat.IPReversePathFilter"] }, "IPReversePathFilter",
		func() lang.Text { return lang.T("with a source whose route leads to another device (rp_filter)") }},
	{func(c sample.Counters) float64 {
		return both(c, "ip", "InAddrErrors") + c["netstat.InNoRoutes"] + c["ip6.InNoRoutes"]
	}, "InAddrErrors, InNoRoutes",
		func() lang.Text { return lang.T("with an address that is not there") }},
}

// receiver adds what the receiver's node lost: before IP, before the transport, and at the socket. A counter of
// IPv4 and that of IPv6 add up.
func (l *ladder) receiver() {
	t := l.o.Evidence
	c, n := t.Nodes[t.Receiver.Node], len(l.path)
	in := both(c, "ip", "InReceives")
	if in == 0 || n == 0 {
		return
	}
	octets := c["netstat.InOctets"] + c["ip6.InOctets"]
	if last := l.path[n-1]; last.In == t.Receiver.Node && octets > 0 && sameSize(last.Data.Size(), octets/in) && !record.PathLoss.In(l.o.Observed) {
		if lost := last.Data.Packets - in - l.counted(2*(n-1), 2*n); lost > 0 {
			l.add(atDevice, 2*n-1, lost, last.Data.Packets, lang.T("reached %s %s and did not reach IP", last.In, last.Dev), lang.T("there a filter at ingress takes packets, and IP drops those for another hardware address"))
			l.last().missing = true
		}
	}
	unfinished := both(c, "ip", "ReasmReqds") - both(c, "ip", "ReasmOKs")
	lost := in - both(c, "ip", "InDelivers") - unfinished - c["ip.ForwDatagrams"] - c["ip6.OutForwDatagrams"]
	for _, d := range refusals {
		if m := min(lost, d.of(c)); m > 0 {
			l.gaps = append(l.gaps, gap{rule: atInput, place: t.Receiver.Node, at: 2 * n, lost: m, of: in, verb: d.verb(), why: d.counter, missing: true})
			lost -= m
		}
	}
	l.gaps = append(l.gaps, gap{rule: atInput, place: t.Receiver.Node, at: 2 * n, lost: lost, of: in, missing: true})
	if wrong := both(c, t.Protocol, "InCsumErrors"); wrong > 0 {
		l.gaps = append(l.gaps, gap{rule: atChecksum, place: t.Receiver.Node, at: 2*n + 1, lost: wrong, of: in})
	}
	if full := l.own(both(c, "udp", "RcvbufErrors")); full > 0 && t.Protocol == "udp" {
		l.gaps = append(l.gaps, gap{rule: atSocket, place: t.Receiver.Node, at: 2*n + 1, lost: full, of: full + both(c, "udp", "InDatagrams")})
	}
}

// own returns how many of the datagrams that all UDP sockets of the receiver's node dropped can be the probe's: what its own socket
// counted, if the others' are far more. The search of a capacity counts only its last step.
func (l *ladder) own(dropped float64) float64 {
	share, known := l.o.Get(record.LossSocket)
	_, search := l.o.Get(record.Capacity)
	if whole := share.Value * entered(l.o.Evidence); known && !search && dropped > unbalanced*whole+countedLoss*entered(l.o.Evidence) {
		return whole
	}
	return dropped
}

// program adds the datagrams that the last device counts and the program did not get, where nothing else explains them and IP
// cannot: its counters of a machine also hold what others send, and the outer packets of a tunnel.
func (l *ladder) program() {
	t, n := l.o.Evidence, len(l.path)
	share, known := l.o.Get(record.Loss)
	_, search := l.o.Get(record.Capacity)
	if !known || search || n == 0 || t.Protocol != "udp" || answers(l.o) || inFragments(t) || record.PathLoss.In(l.o.Observed) {
		return
	}
	first, last, lost := l.path[0], l.path[n-1], share.Value*entered(t)
	missing := lost - l.backlog
	for _, g := range l.gaps {
		missing -= max(0, g.lost)
	}
	if both(t.Nodes[t.Receiver.Node], "ip", "InReceives") <= (1+missingLoss)*last.Data.Packets {
		return
	}
	if last.In != t.Receiver.Node || !sameSize(l.size(first), l.size(last)) || last.Data.Packets < (1-missingLoss)*first.Data.Packets || missing < unknownPart*lost {
		return
	}
	l.add(atDevice, 2*n-1, missing, last.Data.Packets, lang.T("passed %s %s and did not reach the program", last.In, last.Dev), lang.T("neither IP nor a socket counts them as dropped"))
	l.last().missing = true
}

// both returns the sum of a counter of IPv4 and the same one of IPv6.
func both(c sample.Counters, proto, name string) float64 {
	return c[proto+"."+name] + c[proto+"6."+name]
}
