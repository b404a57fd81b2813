package packettrace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/lang"
)

// A script builds events: of one packet after another, each at a place, 100 ns apart.
type script struct {
	at     int64
	events []Event
}

// via adds an event. kind is the engine's, or 0 for a packet whose content is hidden; headers are the bytes
// in front of the engine's.
func (s *script) via(k Kind, node, dev string, packet, socket uint64, kind wire.Kind, seq uint64, headers, ttl int) {
	s.at += 100
	head := make([]byte, headers+64)
	if i := headers - 28; i >= 0 {
		head[i], head[i+8], head[i+9] = 0x45, byte(ttl), 17
	}
	if kind != 0 {
		wire.Header{Kind: kind, Run: 9, Seq: seq}.Put(head[headers:])
	}
	s.events = append(s.events, Event{At: s.at, Kind: k, Node: node, Dev: dev, Packet: packet, Socket: socket, Len: headers + 64, Head: head})
}

// request adds a request through a tunnel and a relay in user space, whose packets are sealed.
func (s *script) request(seq uint64, reply bool) {
	kind, from, to := wire.KindEcho, "p1", "p2"
	if reply {
		kind, from, to = wire.KindEcho|wire.KindAnswer, "p2", "p1"
	}
	h1, h2 := "h"+from[1:], "h"+to[1:]
	s.via(Queue, from, "eth0", 1, 50, kind, seq, 42, 64)
	s.via(Xmit, from, "eth0", 1, 50, kind, seq, 42, 64)
	s.via(Enter, h1, "v0", 1, 0, kind, seq, 28, 64)
	s.via(Receive, h1, "v0", 1, 0, kind, seq, 28, 64)
	s.via(Queue, h1, "tap0", 1, 0, kind, seq, 42, 63) // routed to the relay
	s.via(Xmit, h1, "tap0", 1, 0, kind, seq, 42, 63)
	s.via(Queue, h1, "eth0", 1, 60, 0, 0, 84, 0) // the same memory, another packet
	s.via(Xmit, h1, "eth0", 1, 60, 0, 0, 84, 0)
	s.via(Enter, h2, "eth0", 1, 0, 0, 0, 70, 0)
	s.via(Receive, h2, "eth0", 1, 0, 0, 0, 70, 0)
	s.via(Receive, h2, "tap0", 2, 70, kind, seq, 28, 63)
	s.via(Queue, h2, "vx0", 2, 70, kind, seq, 42, 62)
	s.via(Queue, h2, "e1", 2, 70, kind, seq, 92, 62)
	s.via(Enter, to, "eth0", 2, 0, kind, seq, 78, 62)
	s.via(GRO, to, "vx0", 2, 0, kind, seq, 28, 62)
	s.via(Receive, to, "vx0", 2, 0, kind, seq, 28, 62)
}

// A request with stamps takes longer where a further device stamps it again; the path is that of the others.
func TestStampsOnTheWay(t *testing.T) {
	var s script
	for seq := range uint64(9) {
		kind, again := wire.KindEcho, int64(0)
		if seq%2 == 1 {
			kind, again = wire.KindStamped, 400
		}
		for i, ends := range [][2]string{{"p1", "p2"}, {"p2", "p1"}} {
			if i == 1 {
				kind |= wire.KindAnswer
			}
			s.via(Queue, ends[0], "mv0", 1, 50, kind, seq, 42, 64)
			s.at += again
			s.via(Queue, ends[0], "eth0", 1, 50, kind, seq, 42, 64)
			s.via(Enter, ends[1], "eth0", 1, 0, kind, seq, 28, 64)
			s.at += 5000
		}
	}
	trace, err := New(Recording{Client: "p1", Server: "p2", Mode: ByBPF, Count: 100, Rounds: []Round{{Events: s.events, Stamps: 1.7e-6, StampsTraced: 1.7e-6}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]float64{"path": {trace.Path, 0.4e-6}, "before": {trace.Before, 0.5e-6}, "again": {trace.Again, 0.8e-6}} {
		if math.Abs(c[0]-c[1]) > 1e-9 {
			t.Errorf("%s: %g s, want %g", name, c[0], c[1])
		}
	}
}

func TestHops(t *testing.T) {
	var s script
	for seq := range uint64(5) {
		s.request(seq, false)
		if seq == 2 { // of others, while the request is under way
			s.via(Queue, "h1", "eth0", 99, 0, 0, 0, 28-64+14, 0)
			s.via(Enter, "h2", "eth0", 98, 0, wire.KindEcho, 1, 28, 64)
		}
		s.at += 5000
		s.request(seq, true)
		s.at += 9000
	}
	trace, err := New(Recording{Network: "made-up", Client: "p1", Server: "p2", Mode: ByBPF, Size: 64, Count: 100, Rounds: []Round{{Events: s.events, Stamps: 2.6e-6}}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := trace.Text(&b, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "hops.golden", b.String())
	if trace.Requests != 4 || trace.Usual != 4 { // the last one can lack its end
		t.Errorf("%d of %d requests, want 4 of 4", trace.Usual, trace.Requests)
	}
	svg, err := lang.In(nil, trace.Picture()).SVG()
	if err != nil || !strings.Contains(svg, "user space") {
		t.Errorf("picture: %v\n%s", err, svg)
	}
}

// What recording costs is subtracted from every interval.
func TestCost(t *testing.T) {
	run := func(slower int64) []Event {
		var s script
		for seq := range uint64(4) {
			s.request(seq, false)
			s.request(seq, true)
		}
		for i := range s.events {
			s.events[i].At += int64(i) * slower
		}
		return s.events
	}
	trace, err := New(Recording{Client: "p1", Server: "p2", Mode: ByBPF, Count: 100, Rounds: []Round{{Events: run(40), Cost: 40e-9}}})
	if err != nil {
		t.Fatal(err)
	}
	// 13 intervals each way: to the last device that puts the packet into a softirq's queue.
	if got := fmt.Sprintf("%.0f %.0f %.0f", trace.Event*1e9, trace.Traced*1e9, trace.Path*1e9); got != "40 3640 2600" {
		t.Errorf("got %s: want an event of 40 ns, a path of 3640 ns with them and of 2600 ns without", got)
	}
}

// A request without a reply is not traced, and the drop of its packet is.
func TestDrops(t *testing.T) {
	var s script
	for seq := range uint64(4) {
		s.request(seq, false)
		s.via(Drop, "h1", "eth0", 77, 0, 0, 0, 28, 0) // of something else
		if seq == 1 {
			s.via(Drop, "p2", "vx0", 2, 0, wire.KindEcho, seq, 28, 62)
			s.events[len(s.events)-1].Reason = "SOCKET_RCVBUFF"
			continue
		}
		s.request(seq, true)
	}
	trace, err := New(Recording{Client: "p1", Server: "p2", Mode: ByBPF, Count: 100, Rounds: []Round{{Events: s.events}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(trace.Requests, trace.Drops); got != "2 [{p2 vx0 SOCKET_RCVBUFF 1}]" {
		t.Error(got)
	}
}

// A reply that comes after the next request was not alone on the path.
func TestLate(t *testing.T) {
	var s script
	s.request(0, false)
	s.request(1, false)
	s.request(0, true)
	s.request(1, true)
	s.request(2, false)
	s.request(2, true)
	s.request(3, false)
	all, drops := transactions(s.events, ends{"p1", "p2"})
	if len(all) != 2 || len(drops) > 0 || all[0].request[0].seq != 1 || all[1].request[0].seq != 2 {
		t.Errorf("%d requests and %d drops, want the requests 1 and 2", len(all), len(drops))
	}
}

func TestNothing(t *testing.T) {
	var s script
	s.request(0, false)
	for name, events := range map[string][]Event{"no event": nil, "no reply": s.events} {
		if _, err := New(Recording{Network: "x", Client: "p1", Server: "p2", Count: 1, Rounds: []Round{{Events: events}}}); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// On two machines no time is taken across their clocks: the path is what both say of their own part.
func TestApart(t *testing.T) {
	var events []Event
	add := func(clock string, at int64, k Kind, dev string, kind wire.Kind, seq uint64, headers int) {
		var s script
		s.via(k, clock, dev, 0, 0, kind, seq, headers, 64)
		s.events[0].At, s.events[0].Clock = at, clock
		events = append(events, s.events[0])
	}
	const ahead = 1e12 // of the other clock
	for seq := range uint64(4) {
		at, there := int64(seq)*100_000, int64(seq)*100_000+ahead
		add("a", at, Xmit, "wg", wire.KindEcho, seq, 28)
		add("a", at+1000, Xmit, "eth0", wire.KindEcho, seq, 78)
		add("b", there+5000, Enter, "eth0", wire.KindEcho, seq, 78)
		add("b", there+7000, Enter, "wg", wire.KindEcho, seq, 28)
		add("b", there+20_000, Xmit, "wg", wire.KindEcho|wire.KindAnswer, seq, 28)
		add("b", there+23_000, Xmit, "eth0", wire.KindEcho|wire.KindAnswer, seq, 78)
		add("a", at+34_000, Enter, "eth0", wire.KindEcho|wire.KindAnswer, seq, 78)
		add("a", at+38_000, Enter, "wg", wire.KindEcho|wire.KindAnswer, seq, 28)
	}
	InOrder(events)
	trace, err := New(Recording{Network: "wg", Client: "a", Server: "b", Mode: ByTaps, Size: 64, Count: 100, Rounds: []Round{{Events: events, Cost: 100e-9}}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := trace.Text(&b, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "apart.golden", b.String())
	b.Reset()
	if err := trace.Text(&b, lang.Chinese); err != nil {
		t.Fatal(err)
	}
	golden(t, "apart.zh.golden", b.String())
	// There and back: 33 µs pass on a between its last and its first device, 18 of them on b.
	got := fmt.Sprintf("%.1f %.1f %.1f %.1f %.1f", trace.Between*1e6, trace.Request.Path*1e6, trace.Reply.Path*1e6, trace.Traced*1e6, trace.Path*1e6)
	if got != "14.8 2.8 6.8 25.0 24.4" {
		t.Errorf("between, request, reply, traced and path are %s µs", got)
	}
	if _, err := lang.In(nil, trace.Picture()).SVG(); err != nil {
		t.Error(err)
	}
}
