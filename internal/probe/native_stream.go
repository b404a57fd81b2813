package probe

import (
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// Parse reads throughput (bit/s), retransmits (segments), silence (s, the longest
// time in which nothing of a stream arrived) and window. Throughput is
// 0 when a retransmission timeout, 200 ms at least (net/ipv4/tcp.h, TCP_RTO_MIN),
// lasted longer than the window.
func (p TCPStream) Parse(out Output) (Measured, error) {
	var r event.TCPStream
	n := parseNative(out, "tcp-stream", &r)
	settings := map[string]any{"streams": r.Streams, "mss": r.MSS, "congestion": r.Congestion, "serverCongestion": r.FarCongestion,
		"rcvbuf": r.RcvBuf, "send": r.Send, "recv": r.Recv, "dscp": r.DSCP}
	pause := 0.0
	if r.Rate > 0 {
		settings["rate"] = r.Rate
		// Two segments at once are the least (tcp_min_tso_segs, net/ipv4/tcp_output.c).
		pause = 2 * 8 * float64(r.MSS) * float64(r.Streams) / r.Rate
	}
	m, _ := n.measured("tcp", r.Head, []record.Value{
		{Name: "throughput", Unit: "bit/s", Value: float64(r.Bytes) * 8 / r.Window},
		{Name: "retransmits", Unit: "1", Value: float64(r.Retransmits)},
		{Name: "silence", Unit: "s", Value: r.Silence},
		{Name: "window", Unit: "s", Value: r.Window},
	}, settings)
	if n.require(r.Silence <= r.Window, "a silence of %g s in %g s", r.Silence, r.Window); n.err != nil {
		return Measured{}, n.err
	}
	m.Pause = pause
	return m, nil
}

// Parse reads throughput (bit/s of delivered payload), packet.rate (packet/s
// delivered), the ladder offered, sent, received, delivered (packet/s), loss (of
// what was sent), loss.socket (of what was sent, dropped at the receiving
// socket's buffer), reordered (of what was delivered), jitter (s; when at least
// two datagrams were delivered), silence (s, the longest time without an arrival)
// and window.
func (p UDPStream) Parse(out Output) (Measured, error) { return parseUDP(out, false) }

// Parse reads what UDPStream reads, with packet.rate first.
func (p UDPRate) Parse(out Output) (Measured, error) { return parseUDP(out, true) }

func parseUDP(out Output, rateFirst bool) (Measured, error) {
	var r event.UDPStream
	n := parseNative(out, "udp-stream", &r)
	n.require(r.Sent > 0, "nothing was sent")
	n.require(r.Offered >= r.Sent && r.Sent >= r.Received && r.Received >= r.Delivered,
		"the ladder offered %d, sent %d, received %d, delivered %d goes up", r.Offered, r.Sent, r.Received, r.Delivered)
	n.require(r.Received-r.Delivered == r.Dropped, "received %d, delivered %d, dropped in between %d", r.Received, r.Delivered, r.Dropped)
	n.require(r.Bytes == r.Delivered*int64(r.Size), "%d bytes in %d datagrams of %d", r.Bytes, r.Delivered, r.Size)
	n.require(r.Reordered <= r.Delivered, "reordered %d of %d", r.Reordered, r.Delivered)
	n.require(r.Silence <= max(r.Window, r.Span), "a silence of %g s in %g s", r.Silence, max(r.Window, r.Span))
	// Datagrams that queued up while they were sent took longer to arrive: the longer
	// of the two times is the one in which the path carried them. One time for all
	// steps keeps the ladder a ladder.
	t := max(r.Window, r.Span)
	perSecond := func(n int64) float64 { return float64(n) / t }
	ofSent := func(n int64) float64 { return float64(n) / float64(max(r.Sent, 1)) }
	values := []record.Value{
		{Name: "throughput", Unit: "bit/s", Value: float64(r.Bytes) * 8 / t},
		{Name: "packet.rate", Unit: "packet/s", Value: perSecond(r.Delivered)},
		{Name: "offered", Unit: "packet/s", Value: perSecond(r.Offered)},
		{Name: "sent", Unit: "packet/s", Value: perSecond(r.Sent)},
		{Name: "received", Unit: "packet/s", Value: perSecond(r.Received)},
		{Name: "delivered", Unit: "packet/s", Value: perSecond(r.Delivered)},
		{Name: "loss", Unit: "1", Value: ofSent(r.Sent - r.Delivered)},
		{Name: "loss.socket", Unit: "1", Value: ofSent(r.Dropped)},
		{Name: "reordered", Unit: "1", Value: float64(r.Reordered) / float64(max(r.Delivered, 1))},
	}
	if rateFirst {
		values[0], values[1] = values[1], values[0]
	}
	if r.Delivered >= 2 {
		values = append(values, record.Value{Name: "jitter", Unit: "s", Value: r.Jitter})
	}
	values = append(values,
		record.Value{Name: "silence", Unit: "s", Value: r.Silence},
		record.Value{Name: "window", Unit: "s", Value: r.Window})
	// nap is the receiver's polling interval in seconds; 0 when it was woken up.
	settings := map[string]any{"sndbuf": r.SndBuf, "rcvbuf": r.RcvBuf, "send": r.Send, "batch": r.Batch, "recv": r.Recv, "dscp": r.DSCP, "nap": r.Nap}
	if r.Rate > 0 {
		settings["rate"] = r.Rate
	}
	m, err := n.measured("udp", r.Head, values, settings)
	if err == nil && r.Rate > 0 {
		m.Pause = 8 * float64(r.Size) * float64(r.Batch) / r.Rate
	}
	return m, err
}
