package packettrace

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// A mark is what an event's packet carries of the engine's header. Encrypted packets carry none.
type mark struct {
	found   bool
	reply   bool
	stamped bool // the sockets stamp it, too
	run     uint32
	seq     uint64
	at      int // bytes from the beginning of Head
}

// magic is how the engine's header begins.
var magic = func() []byte {
	b := make([]byte, wire.HeaderSize)
	wire.Header{}.Put(b)
	return b[:2]
}()

// markOf finds the engine's header in a packet, behind any number of others.
func markOf(head []byte) (m mark) {
	for at := 0; ; at++ {
		i := bytes.Index(head[at:], magic)
		if i < 0 {
			return m
		}
		at += i
		h, ok := wire.ParseHeader(head[at:])
		if kind := h.Kind &^ wire.KindAnswer; ok && (kind == wire.KindEcho || kind == wire.KindStamped) {
			return mark{true, h.Kind&wire.KindAnswer != 0, kind == wire.KindStamped, h.Run, h.Seq, at}
		}
	}
}

// A marked event is one with its mark.
type marked struct {
	Event
	mark
}

// A pass is one packet's way from end to end: its events in order.
type pass []marked

// A transaction is a request and its reply.
type transaction struct{ request, reply pass }

// ends are where packets begin and end.
type ends struct{ client, server string }

// transactions finds the requests of the run in events, which are in order of time, from the earliest to
// the latest with a reply, and the drops of packets whose request got none.
//
// One request at a time is under way. All that happens from its first event to its reply's first event
// belongs to it, except packets of others: those with another request's mark, and those without one that are
// too short to contain it.
//
// Events of two clocks are matched by their marks alone.
func transactions(events []Event, at ends) (all []transaction, drops []marked) {
	if slices.ContainsFunc(events, func(e Event) bool { return e.Clock != "" }) {
		return acrossMachines(events, at), nil
	}
	ms := make([]marked, len(events))
	for i, e := range events {
		ms[i] = marked{e, markOf(e.Head)}
	}
	run, ok := runOf(ms)
	if !ok {
		return nil, nil
	}
	type span struct{ request, reply int } // of the first event
	var seqs []uint64
	spans := map[uint64]span{}
	begins := func(m marked, node string, reply bool) bool {
		return m.found && m.run == run && m.reply == reply && m.Node == node && (m.Kind == Queue || m.Kind == Xmit)
	}
	for i, m := range ms {
		s, known := spans[m.seq]
		switch {
		case !known && begins(m, at.client, false):
			seqs = append(seqs, m.seq)
			spans[m.seq] = span{i, -1}
		case known && s.reply < 0 && begins(m, at.server, true):
			spans[m.seq] = span{s.request, i}
		}
	}
	for n, seq := range seqs {
		s, end := spans[seq], len(ms)
		if n+1 < len(seqs) {
			end = spans[seqs[n+1]].request
		}
		if s.reply < 0 {
			for _, m := range ms[s.request:end] {
				if m.Kind == Drop && m.found && m.run == run && m.seq == seq {
					drops = append(drops, m)
				}
			}
			continue
		}
		if n+1 == len(seqs) || s.reply > end {
			continue // the last reply can be incomplete, and one that came late was not alone
		}
		all = append(all, transaction{passOf(ms[s.request:s.reply], ms[s.request]), passOf(ms[s.reply:end], ms[s.reply])})
	}
	return all, drops
}

// runOf returns the run that most requests belong to.
func runOf(ms []marked) (run uint32, ok bool) {
	n := map[uint32]int{}
	for _, m := range ms {
		if m.found {
			n[m.run]++
		}
	}
	for _, r := range slices.Sorted(maps.Keys(n)) {
		if !ok || n[r] > n[run] {
			run, ok = r, true
		}
	}
	return run, ok
}

// passOf leaves those of the events between two packets that belong to the first.
func passOf(between []marked, first marked) (p pass) {
	least := first.Len - first.at + udpHeader // of a datagram that contains it
	for _, m := range between {
		own := m.found && m.run == first.run && m.seq == first.seq && m.reply == first.reply
		hidden := !m.found && m.Len >= least
		if m.Kind != Drop && (own || hidden) {
			p = append(p, m)
		}
	}
	return p
}

const udpHeader = 8 // bytes

// shape identifies a way: passes with equal shapes took the same.
func (p pass) shape() string {
	var s strings.Builder
	for i, m := range p {
		fmt.Fprintf(&s, "%s %s %s %v\n", m.Kind, m.Node, m.Dev, i > 0 && another(p[i-1], m))
	}
	return s.String()
}

// another reports whether m begins another packet than the event before it in a pass: because its buffer is
// another, or has a socket of its own, since the kernel uses the same memory again. A packet that enters a
// namespace loses its socket (skb_scrub_packet, net/core/skbuff.c); one that a program sends has one.
func another(before, m marked) bool {
	return before.Packet != m.Packet || m.Socket != 0 && m.Socket != before.Socket
}

// last returns the index of the event where the kernel stamps the arrival: the last time that a device
// received the packet in its softirq's queue (netif_rx), or, without such a device, the last of the pass.
func (p pass) last() int {
	for i, m := range slices.Backward(p) {
		if m.Kind == Enter {
			return i
		}
	}
	return len(p) - 1
}

// does says what happened between two events of a pass.
func does(a, b marked) Does {
	if a.Clock != b.Clock {
		return DoesWire
	}
	same := a.Node == b.Node && a.Dev == b.Dev
	deeper := b.depth() - a.depth()
	switch {
	case another(a, b):
		return DoesUser
	case same && a.Kind == Queue && b.Kind == Xmit:
		return DoesQueue
	case same && a.Kind == Enter && (b.Kind == Receive || b.Kind == GRO):
		return DoesSoftirq
	case same && a.Kind == GRO && b.Kind == Receive:
		return DoesGRO
	case a.found && !b.found || a.found && b.found && deeper >= leastHeader:
		return DoesEncap
	case !a.found && b.found || a.found && b.found && deeper <= -leastHeader:
		return DoesDecap
	case a.Kind == Xmit || a.Kind == Queue:
		return DoesCross
	case a.Node != b.Node || !a.found:
		return DoesKernel
	case b.ttl() < a.ttl():
		return DoesRoute
	}
	return DoesBridge
}

const (
	leastHeader    = 20 // bytes of what a tunnel adds at least: an IPv4 header
	ethernetHeader = 14
)

// depth is how many bytes of headers precede the engine's, those of the device included: they are gone
// already where a device receives.
func (m marked) depth() int {
	if m.Kind == Queue || m.Kind == Xmit || m.Packet == 0 { // packet sockets keep it
		return m.at
	}
	return m.at + ethernetHeader
}

// ttl is how many more routers the engine's own packet can pass; 0 if it is not found.
func (m marked) ttl() byte {
	if i := m.at - udpHeader - 20; m.found && i >= 0 && m.Head[i]>>4 == 4 && m.Head[i+9] == 17 {
		return m.Head[i+8]
	}
	if i := m.at - udpHeader - 40; m.found && i >= 0 && m.Head[i]>>4 == 6 {
		return m.Head[i+7]
	}
	return 0
}

// usual returns the transactions whose two ways are the most frequent ones.
func usual(all []transaction) (same []transaction) {
	n := map[string][]transaction{}
	best := ""
	for _, x := range all {
		key := x.request.shape() + "\n" + x.reply.shape()
		n[key] = append(n[key], x)
	}
	for key, of := range n {
		if c := cmp.Compare(len(of), len(n[best])); c > 0 || c == 0 && key < best {
			best = key
		}
	}
	return n[best]
}
