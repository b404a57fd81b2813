// Package costmodel models what a packet costs: the CPU time of a sender and a receiver per pass
// through a network, per segment and per byte, and what would remain if a part of that were free.
// It uses the CPU clocks of the engine's own threads (values cpu.own.client and cpu.own.server; ADR
// 10), which other programs hardly affect, so disturbed trials count too.
//
// It must not judge causes (package finding does), format numbers or compose sentences.
package costmodel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

// confidence is that of every interval here, each by itself.
const confidence = 0.95

// Which end of the traffic a cost is of. The engine's client sends.
const (
	Sender   = "sender"
	Receiver = "receiver"
)

// Kinds of traffic, by what one pass through the stack carries.
const (
	UDP  = "udp"      // a datagram
	Mmsg = "udp-mmsg" // a datagram; one system call sends many
	GSO  = "udp-gso"  // several datagrams in one buffer (UDP_SEGMENT)
	TCP  = "tcp"      // a write; the kernel decides what shares a pass
	// Paths that are not busy: both ends wait.
	Requests = "requests" // a request or its reply
	Paced    = "paced"    // a datagram of a stream with a rate
)

// A Traffic is what cells that share a model have in common.
type Traffic struct {
	Kind   string            `json:"kind"`
	Mode   string            `json:"mode"`             // how both ends hand data over, SEND/RECV/STREAMS
	Levels map[string]string `json:"levels,omitempty"` // of all factors but network, probe and those of the size
}

func (t Traffic) key() string { return t.Kind + " " + t.Mode + " " + levels(t.Levels) }

// busy reports whether the sender of such traffic never waits for anything but the path.
func (t Traffic) busy() bool { return t.Kind != Requests && t.Kind != Paced }

// A Size is what one pass carries.
type Size struct {
	Bytes    float64 `json:"bytes"`    // of payload in one datagram or write
	Segments float64 `json:"segments"` // datagrams of one buffer; 1 without GSO
}

func (s Size) payload() float64 { return s.Bytes * s.Segments }

// headers is the size of IPv4's and UDP's headers, bytes.
const headers = 28

// A cost is what one trial measured.
type cost struct {
	sender, receiver float64 // s of CPU time per pass, at this end
	rate             float64 // passes that arrived, 1/s
}

// A cell holds the costs of one traffic of one size on one network, by block. Several trials of a block
// are not replicates: the cell has their mean.
type cell struct {
	size Size
	by   map[int]cost
	n    map[int]float64
}

func (c *cell) add(block int, x cost) {
	if c.by == nil {
		c.by, c.n = map[int]cost{}, map[int]float64{}
	}
	c.n[block]++
	m, n := c.by[block], c.n[block]
	c.by[block] = cost{m.sender + (x.sender-m.sender)/n, m.receiver + (x.receiver-m.receiver)/n, m.rate + (x.rate-m.rate)/n}
}

func (c cost) of(end string) float64 {
	if end == Receiver {
		return c.receiver
	}
	return c.sender
}

// sizes are the factors that Size replaces.
var sizes = []string{analysis.Network, analysis.Probe, "size", "packets", "batch", "rate", "pair"}

// observe reads a trial; false if it has no cost by the threads' clocks.
func observe(r *record.Result) (t Traffic, size Size, x cost, ok bool) {
	client, a := r.Value(record.CPUOwn.At("client"))
	server, b := r.Value(record.CPUOwn.At("server"))
	o := r.Observed
	bytes := float64(record.Size.Of(o))
	// An end that polls uses its CPU whatever the path costs.
	if r.Status != record.OK || !a || !b || bytes <= 0 || record.Wait.Of(o) == record.Spinning {
		return t, size, x, false
	}
	t.Levels = maps.Clone(r.Config)
	maps.DeleteFunc(t.Levels, func(f, _ string) bool { return slices.Contains(sizes, f) })
	t.Mode = fmt.Sprint(record.Send.Of(o), "/", record.Recv.Of(o), "/", record.Streams.Of(o))
	size = Size{bytes, 1}
	sent, datagrams := r.Get(record.Sent)
	delivered, arrived := r.Get(record.Delivered)
	throughput, stream := r.Get(record.Throughput)
	transactions, closed := r.Get(record.Transactions)
	_, lossy := r.Get(record.Loss)
	received, counted := r.Get(record.Received)
	out, in, took := 0.0, 0.0, 0.0 // passes per second, and those that reached the receiver's socket ÷ those delivered
	switch {
	case datagrams && arrived:
		t.Kind = UDP
		out, in = sent.Value, delivered.Value
		if counted && in > 0 {
			took = received.Value / in
		}
		switch batch := float64(record.Batch.Of(o)); {
		case record.Rate.In(o):
			t.Kind = Paced
		case record.Send.Of(o) == "gso" && batch >= 1:
			t.Kind, size.Segments = GSO, batch
			out, in = out/batch, in/batch
		case record.Send.Of(o) == "mmsg":
			t.Kind = Mmsg
		}
	case closed && lossy: // over UDP
		t.Kind = Requests
		out, in = 2*transactions.Value, 2*transactions.Value // each end sends one message and receives one
	case stream && record.MSS.In(o) && !record.Rate.In(o):
		t.Kind = TCP
		out, in = throughput.Value/8/bytes, throughput.Value/8/bytes
	}
	// A fragmented datagram takes several passes.
	if mtu := float64(record.PathMTU.Of(o)); t.Kind != TCP && mtu > 0 && bytes+headers > mtu || !(out > 0 && in > 0) {
		return t, size, x, false
	}
	return t, size, cost{client.Value / out, server.Value / (in * max(1, took)), in}, true
}

// levels writes factor levels in a fixed order.
func levels(m map[string]string) string {
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, f+"="+m[f])
	}
	return strings.Join(parts, " ")
}
