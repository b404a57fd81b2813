package probe

import (
	"strconv"

	"github.com/weir-bench/weir/record"
)

// Parse reads throughput (bit/s), retransmits (segments), silence (s, the longest
// time in which nothing of a stream arrived) and window. Throughput is
// 0 when a retransmission timeout, 200 ms at least (net/ipv4/tcp.h, TCP_RTO_MIN),
// lasted longer than the window.
func (p TCPStream) Parse(out Output) (Measured, error) {
	r, err := parseNative(out.Client, "tcp-stream")
	if err != nil {
		return Measured{}, err
	}
	window, bytes, silence := r.seconds("window"), r.count("bytes"), r.number("silence")
	settings := []string{"size", "streams", "mss", "congestion", "serverCongestion", "rcvbuf", "send", "recv", "dscp"}
	pause := 0.0
	if _, paced := r.fields["rate"]; paced {
		settings = append(settings, "rate")
		// Two segments at once are the least (tcp_min_tso_segs, net/ipv4/tcp_output.c).
		pause = 2 * 8 * r.count("mss") * r.count("streams") / r.number("rate")
	}
	m, _ := r.measured("tcp", []record.Value{
		{Name: "throughput", Unit: "bit/s", Value: bytes * 8 / window},
		{Name: "retransmits", Unit: "1", Value: r.count("retransmits")},
		{Name: "silence", Unit: "s", Value: silence},
		{Name: "window", Unit: "s", Value: window},
	}, settings...)
	if r.require(silence <= window, "a silence of %g s in %g s", silence, window); r.err != nil {
		return Measured{}, r.err
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
	r, err := parseNative(out.Client, "udp-stream")
	if err != nil {
		return Measured{}, err
	}
	size, bytes := r.count("size"), r.count("bytes")
	offered, sent, received, delivered := r.count("offered"), r.count("sent"), r.count("received"), r.count("delivered")
	dropped, reordered := r.count("dropped"), r.count("reordered")
	window, span, silence := r.seconds("window"), r.number("span"), r.number("silence")
	if r.err != nil {
		return Measured{}, r.err
	}
	r.require(sent > 0, "nothing was sent")
	r.require(offered >= sent && sent >= received && received >= delivered,
		"the ladder offered %.0f, sent %.0f, received %.0f, delivered %.0f goes up", offered, sent, received, delivered)
	r.require(received-delivered == dropped, "received %.0f, delivered %.0f, dropped in between %.0f", received, delivered, dropped)
	r.require(bytes == delivered*size, "%.0f bytes in %.0f datagrams of %.0f", bytes, delivered, size)
	r.require(reordered <= delivered, "reordered %.0f of %.0f", reordered, delivered)
	r.require(silence <= max(window, span), "a silence of %g s in %g s", silence, max(window, span))
	if r.err != nil {
		return Measured{}, r.err
	}
	// What queued up while it was sent took longer to arrive: the longer of the
	// two times is the one in which the path carried it. One time for all steps
	// keeps the ladder a ladder.
	t := max(window, span)
	values := []record.Value{
		{Name: "throughput", Unit: "bit/s", Value: bytes * 8 / t},
		{Name: "packet.rate", Unit: "packet/s", Value: delivered / t},
		{Name: "offered", Unit: "packet/s", Value: offered / t},
		{Name: "sent", Unit: "packet/s", Value: sent / t},
		{Name: "received", Unit: "packet/s", Value: received / t},
		{Name: "delivered", Unit: "packet/s", Value: delivered / t},
		{Name: "loss", Unit: "1", Value: (sent - delivered) / sent},
		{Name: "loss.socket", Unit: "1", Value: dropped / sent},
		{Name: "reordered", Unit: "1", Value: reordered / max(delivered, 1)},
	}
	if rateFirst {
		values[0], values[1] = values[1], values[0]
	}
	if delivered >= 2 {
		values = append(values, record.Value{Name: "jitter", Unit: "s", Value: r.number("jitter")})
	}
	values = append(values,
		record.Value{Name: "silence", Unit: "s", Value: silence},
		record.Value{Name: "window", Unit: "s", Value: window})
	// Seconds from one look of the receiver to the next; 0 when it was woken up.
	nap := strconv.FormatFloat(r.number("nap"), 'f', -1, 64)
	rate := r.number("rate")
	m, err := r.measured("udp", values, "size", "sndbuf", "rcvbuf", "send", "batch", "recv", "dscp")
	if err == nil {
		m.Found["nap"] = nap
		if rate > 0 {
			m.Found["rate"] = strconv.FormatFloat(rate, 'f', -1, 64)
			m.Pause = 8 * size * r.count("batch") / rate
		}
	}
	return m, err
}
