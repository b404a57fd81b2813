package probe

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// modeFlags are those of the send and the receive mode of datagrams.
func modeFlags(m event.Mode, nap time.Duration) []string {
	return []string{"--send", m.Send, "--batch", strconv.Itoa(m.Batch), "--recv", m.Recv, "--nap", nap.String()}
}

// udpStream returns the command lines of a udp-stream run. A receiver of a paced stream
// waits in its socket unless it is told to poll: polling would add its interval to the
// arrival times, and to jitter.
func udpStream(w Window, m event.Mode, rate Bitrate, polls bool) (server, client []string) {
	nap := time.Duration(event.DefaultNap)
	if rate > 0 && !polls {
		nap = 0
	}
	return engineRun(w, "udp-stream", m.Size, append([]string{"--rate", fmt.Sprint(float64(rate))}, modeFlags(m, nap)...)...)
}

// udpCapacity implements Capacity for what sends datagrams in mode m.
func udpCapacity(m event.Mode) (by Probe, kind string, err error) {
	c := &UDPCapacity{Size: m.Size, Send: m.Send, Batch: m.Batch, Recv: m.Recv}
	return c, c.Kind(), nil
}

// parseUDP reads throughput (bit/s of delivered payload), packet.rate (packet/s
// delivered), the ladder offered, sent, received, delivered (packet/s), loss (of
// what was sent), loss.socket (of what was sent, dropped at the receiving
// socket's buffer), reordered (of what was delivered), jitter (s; when at least
// two datagrams were delivered), silence (s, the longest time without an arrival)
// and window. The packet rate comes first when rateFirst.
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
