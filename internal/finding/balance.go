package finding

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// unbalanced is how many times as many packets can be missing between devices as the ends lost: their windows differ.
const unbalanced = 1.5

// gaps returns the steps of a trial's path, and of the replies' path, on which packets were lost, and the loss had an
// effect. Counts of devices hold packets of others too. So what is missing between them counts only if it balances
// with what the ends lost and no counter of drops explains; otherwise it is left out, and its packets are returned as loose. Counters of
// drops hold those of others, too: of datagrams, what all steps have more than the ends lost can be all that is gone at one of them.
func gaps(o analysis.Observed, sizes map[device]float64) (all []gap, loose float64) {
	all = oneWay(o, sizes)
	if answers(o) {
		back := o
		back.Evidence = reversed(o.Evidence)
		for _, g := range oneWay(back, meanSizes([]analysis.Observed{back})) {
			g.back = true
			all = append(all, g)
		}
	}
	few := countedLoss / 2 * entered(o.Evidence)
	all, loose = withoutOthers(o, all, few)
	if lost, known := atPath(o); known {
		more := few - lost
		for _, g := range all {
			if g.rule != atSocket {
				more += g.lost
			}
		}
		all = slices.DeleteFunc(all, func(g gap) bool {
			others := g.rule != atSocket && g.lost <= more
			if others && g.missing {
				loose += g.lost
			}
			return others
		})
	}
	missing := 0.0
	for _, g := range all {
		if g.missing {
			missing += g.lost
		}
	}
	if missing > unbalanced*unexplained(o, all)+few {
		return slices.DeleteFunc(all, func(g gap) bool { return g.missing }), loose + missing
	}
	return all, loose
}

// withoutOthers leaves out what full sockets of other programs dropped: the kernel counts those of all UDP sockets of a node. Where the
// probe's socket has no count of its own, drops are the probe's only if they balance with what it lost and no step before explains,
// within few packets. A loop of requests has one datagram at a time in a socket, so a step before comes first; if of
// other datagrams a missing part can be the same ones, neither is known, and they are returned as loose.
func withoutOthers(o analysis.Observed, all []gap, few float64) (left []gap, loose float64) {
	share, known := o.Get(record.Loss)
	_, counted := o.Get(record.LossSocket)
	_, search := o.Get(record.Capacity)
	lost, dropped, missing := share.Value*entered(o.Evidence), 0.0, 0.0
	for _, g := range all {
		switch {
		case g.rule == atSocket:
			dropped += g.lost
		case g.missing:
			missing += g.lost
		default:
			lost -= g.lost
		}
	}
	balances := func(of float64) bool { return dropped <= unbalanced*of+few && of <= unbalanced*dropped+few }
	if dropped == 0 || counted || search || known && balances(lost-missing) {
		return all, 0
	}
	either := known && !answers(o) && balances(lost)
	if either && missing > 0 {
		loose = lost
	}
	return slices.DeleteFunc(all, func(g gap) bool { return g.rule == atSocket || either && g.missing }), loose
}

// atPath returns how many datagrams the ends lost and not at the receiver's socket, by the probe's own count; false if it has none, or
// only that of its last step, as the search of a capacity.
func atPath(o analysis.Observed) (lost float64, known bool) {
	share, known := o.Get(record.Loss)
	_, search := o.Get(record.Capacity)
	socket, _ := o.Get(record.LossSocket)
	return (share.Value - socket.Value) * entered(o.Evidence), known && !search && o.Evidence.Protocol != "tcp"
}

// oneWay returns the gaps in the direction of a trial's data.
func oneWay(o analysis.Observed, sizes map[device]float64) []gap {
	l := ladder{o: o, path: o.Evidence.Path, sizes: sizes}
	for _, c := range o.Evidence.Hosts {
		l.backlog += c["softnet.dropped"]
	}
	l.queues()
	l.devices()
	l.sender()
	l.counts()
	l.receiver()
	l.program()
	return slices.DeleteFunc(l.gaps, func(g gap) bool { return g.lost <= 0 || !effective(o, g) })
}

// unexplained returns how many packets the ends lost that no counter of drops explains: of datagrams by the probe's
// own count, of segments by those that TCP sent again and the receiver did not get twice.
func unexplained(o analysis.Observed, all []gap) float64 {
	counted, socket := 0.0, 0.0
	for _, g := range all {
		switch {
		case g.rule == atSocket:
			socket += g.lost
		case !g.missing:
			counted += g.lost
		}
	}
	if o.Evidence.Protocol == "tcp" {
		again := retransmitted(o.Evidence)
		if answers(o) {
			again += retransmitted(reversed(o.Evidence))
		}
		if t := o.Evidence.Sender.TCP; t != nil && t.Retransmitted > 0 {
			again *= 1 - min(1, t.Duplicates/t.Retransmitted)
		}
		return max(0, again-counted)
	}
	lost, known := o.Get(record.Loss)
	if !known {
		return 0
	}
	total := lost.Value * entered(o.Evidence)
	if dropped, known := o.Get(record.LossSocket); known {
		socket = dropped.Value * entered(o.Evidence)
	}
	return max(0, total-socket-counted)
}

// effective reports whether the ends noticed a loss: without retransmissions or missing answers, packets were
// joined on the way, or others had them. If the probe does not report its loss, only counters of drops count.
func effective(o analysis.Observed, g gap) bool {
	if o.Evidence.Protocol != "tcp" {
		v, known := o.Get(record.Loss)
		return known && v.Value >= 0.3*g.lost/g.of || !known && !g.missing
	}
	return retransmitted(o.Evidence) > 0.1*g.lost
}

// retransmitted returns the segments that the sender's node sent again while its devices were watched.
func retransmitted(t *evidence.Trial) float64 {
	n := t.Nodes[t.Sender.Node]["tcp.RetransSegs"]
	if t.Sender.TCP != nil {
		n = max(n, t.Sender.TCP.Retransmitted)
	}
	return n
}

// answers reports whether a trial's probe asks and waits for replies, which must arrive, too.
func answers(o analysis.Observed) bool {
	_, asks := o.Get(record.Transactions)
	return asks || o.Evidence.Protocol == "icmp"
}

// reversed returns a trial as the replies see it.
func reversed(t *evidence.Trial) *evidence.Trial {
	r := *t
	r.Sender, r.Receiver, r.Path = t.Receiver, t.Sender, make([]evidence.Hop, 0, len(t.Path))
	by := ""
	for _, h := range slices.Backward(t.Path) {
		h.By, by = by, h.By // how packets get here is between two hops
		h.Data, h.Back, h.Out = h.Back, h.Data, !h.Out
		r.Path = append(r.Path, h)
	}
	return &r
}

// joined reports whether fewer packets at hop i than at an earlier one hold about the same bytes: then they were put
// together on the way (GRO), and none is missing. What encapsulation adds to each packet is known.
func (l *ladder) joined(before, i int, lost float64) bool {
	a, b := l.path[before].Data, l.path[i].Data
	_, outer := planned(l.o, before)
	_, inner := planned(l.o, i)
	if b.Packets == 0 {
		return false
	}
	outer += l.link(before)
	inner += l.link(i)
	return a.Bytes-a.Packets*outer-(b.Bytes-b.Packets*inner) < lost*(a.Size()-outer)/2
}

// link returns how many bytes of a packet at hop i belong to its link layer: those of VXLAN and Geneve devices count what
// is inside the inner Ethernet header (vxlan_rcv, drivers/net/vxlan/vxlan_core.c; iptunnel_xmit, net/ipv4/ip_tunnel_core.c).
func (l *ladder) link(i int) float64 {
	tunnels := func(j int) bool { return j < len(l.path) && (l.path[j].By == "vxlan" || l.path[j].By == "geneve") }
	if !l.path[i].Out && tunnels(i) || l.path[i].Out && tunnels(i+1) {
		return 0
	}
	return etherHeader
}

// Packets returns how many datagrams or requests entered the path in a row's trials, how many of them the probe counted
// as lost, and how many of these counters show at steps of the path; 0 sent if the probe does not report its loss, or
// only that of a part of what it sent, as the search of a capacity does.
func Packets(r *analysis.Row) (sent, lost, located float64) {
	all := r.Evidence()
	sizes := meanSizes(all)
	for _, o := range all {
		v, known := o.Get(record.Loss)
		if _, search := o.Get(record.Capacity); search || !known || o.Evidence.Protocol == "tcp" || inFragments(o.Evidence) {
			continue
		}
		whole := entered(o.Evidence)
		sent, lost = sent+whole, lost+v.Value*whole
		found, _ := gaps(o, sizes)
		socket, counted := o.Get(record.LossSocket) // of the window, like the loss; the kernel's counter also holds what was lost before and after
		located += socket.Value * whole
		for _, g := range found {
			if g.rule != atSocket || !counted {
				located += g.lost
			}
		}
	}
	return sent, lost, located
}

// inFragments reports whether the sender's node sends datagrams as fragments: then the devices of the path count those, not
// datagrams.
func inFragments(t *evidence.Trial) bool {
	return both(t.Nodes[t.Sender.Node], "ip", "FragCreates") > fragmented*entered(t)
}
