package probe

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// UDPStream measures the rate of delivered UDP payload and where the rest was lost.
type UDPStream struct {
	Streams int     `yaml:"streams"` // at once, each with a socket and a thread at both ends; default 1
	Size    int     `yaml:"size"`    // bytes of payload per datagram; default 1400, which fits an MTU of 1450
	Rate    Bitrate `yaml:"rate"`    // bit/s of payload, all streams together; default unlimited
	Send    string  `yaml:"send"`    // single (one sendto per datagram, the default), mmsg (sendmmsg), gso (UDP_SEGMENT: one buffer for many datagrams, split as late as possible) or xdp (AF_XDP: frames for the device, past the sender's IP stack)
	Batch   int     `yaml:"batch"`   // datagrams per call; default 1 for single, 32 for mmsg and xdp, for gso as many as fit into 65507 bytes, at most 64
	Recv    string  `yaml:"recv"`    // single (recvmsg), mmsg (recvmmsg) or gro (UDP_GRO: keeps coalesced datagrams in one buffer); default gro for gso, else mmsg
	// Full packets of the path's MTU per call, instead of size and batch; for single, fragments of one datagram.
	Packets int `yaml:"packets"`
	Buffers

	polls bool // the receiver polls even if the stream is paced; see Pace
}

func (p UDPStream) Info() Info {
	i := Info{
		Title: "UDP stream", Short: "UDP", Unit: "bit/s", DeliveryUnit: "bit/s", Datagrams: true,
		About:    "UDP throughput at one datagram size, and where datagrams are lost (native)",
		Method:   "Datagrams of one size, sent as fast as possible. weir counts what the application received.",
		Measures: udpThroughput,
		Differs:  "one sendto per datagram, no pacing; the receiver takes many per call (recvmmsg) and has a large buffer, so it loses less than others",
	}
	if p.Send == "gso" {
		i.Title, i.Short, i.Measures, i.Differs = "UDP stream (GSO, GRO)", "UDP with GSO", "", ""
		i.About = "UDP throughput with UDP_SEGMENT and UDP_GRO: many datagrams per pass through the kernel (native)"
	}
	return i
}

func (p UDPStream) mode(w Window) event.Mode {
	size, batch := or(p.Size, defaultDatagram), p.Batch
	switch {
	case p.Packets > 0 && or(p.Send, event.SendSingle) == event.SendSingle:
		size = fullDatagram(w, p.Packets)
	case p.Packets > 0:
		size, batch = fullDatagram(w, 1), p.Packets
	}
	return event.Mode{Size: size, Send: p.Send, Batch: batch, Recv: p.Recv}.Filled()
}

// fullDatagram returns the payload in bytes of the largest datagram that needs at most n packets.
// All fragments except the last carry a multiple of 8 bytes (RFC 791, section 3.2; RFC 8200,
// section 4.5).
func fullDatagram(w Window, n int) int {
	const ipv4, ipv6, fragment, udp = 20, 40, 8, 8
	room := min(w.MTU, 65535) - ipv4 // the loopback device's MTU exceeds the largest packet
	if w.Server.Addr().Is6() {
		room = w.MTU - ipv6
		if n > 1 {
			room -= fragment
		}
	}
	return (n-1)*(room&^7) + room - udp
}

// leastMTU is the smallest MTU of a path (RFC 791: every host accepts packets of this size).
const leastMTU = 576

// Check returns an error that names the option and its bound. The size that Packets implies depends
// on the path, so only the engine can reject one that is too large.
func (p UDPStream) Check() error {
	switch {
	case p.Packets < 0:
		return fmt.Errorf("packets: %d is not 1 or more", p.Packets)
	case p.Packets > 0 && (p.Size > 0 || p.Batch > 0):
		return fmt.Errorf("packets: %d determines size and batch: leave those out", p.Packets)
	}
	err := p.mode(Window{MTU: leastMTU}).Check()
	if err != nil && p.Packets > 0 {
		err = fmt.Errorf("packets: %d, on a path with an MTU of %d: %w", p.Packets, leastMTU, err)
	}
	return cmp.Or(err, checkFlows(p.Send, p.Streams), p.Buffers.check())
}

func (p UDPStream) Pace(rate float64) (Probe, error) {
	p.Rate, p.polls = Bitrate(rate), true
	return &p, nil
}

func (p UDPStream) Capacity() (by Probe, kind string, err error) {
	if p.Packets > 0 {
		return nil, "", errors.New("packets: a share of what the path carries needs datagrams of one size on all paths: give size instead")
	}
	return udpCapacity(p.mode(Window{}), p.Streams)
}

func (p UDPStream) Commands(w Window) (server, client []string) {
	server, client = udpStream(w, p.mode(w), p.Streams, p.Rate, p.polls)
	return server, append(client, p.Buffers.flags()...)
}

// Parse reads throughput first; see parseUDP.
func (p UDPStream) Parse(out Output) (Measured, error) { return parseUDP(out, false) }

func modeFlags(m event.Mode, nap time.Duration) []string {
	return []string{"--send", m.Send, "--batch", strconv.Itoa(m.Batch), "--recv", m.Recv, "--nap", nap.String()}
}

// udpStream returns the command lines of a udp-stream run. The receiver of a paced stream blocks
// unless polls is set, because polling adds its interval to arrival times and jitter.
func udpStream(w Window, m event.Mode, streams int, rate Bitrate, polls bool) (server, client []string) {
	nap := m.DefaultNap()
	if rate > 0 && !polls {
		nap = 0
	}
	flags := append([]string{"--rate", fmt.Sprint(float64(rate))}, modeFlags(m, nap)...)
	if streams > 1 {
		flags = append(flags, "--streams", strconv.Itoa(streams))
	}
	return engineRun(w, "udp-stream", m.Size, flags...)
}

// checkFlows checks a number of streams; 0 is 1.
func checkFlows(send string, streams int) error {
	return cmp.Or(event.Within("streams:", or(streams, 1), 1, maxStreams, ""), event.CheckQueues(send, streams))
}

// udpCapacity implements Capacity for datagrams in mode m.
func udpCapacity(m event.Mode, streams int) (by Probe, kind string, err error) {
	if streams > 1 {
		return nil, "", fmt.Errorf("streams: %d: the search for what the path carries has one stream, which may carry less: give a rate instead of a share", streams)
	}
	c := &UDPCapacity{Size: m.Size, Send: m.Send, Batch: m.Batch, Recv: m.Recv}
	return c, c.Kind(), nil
}

// parseUDP reads throughput (bit/s of delivered payload), packet.rate (packet/s delivered), the
// ladder offered, sent, received, delivered (packet/s), loss (share of sent), loss.socket (share of
// sent, dropped at the receiving socket's buffer), reordered and duplicated (shares of delivered), jitter (s, if at
// least two datagrams per stream arrived), silence (s, the longest time without an arrival), window, and own.
// With rateFirst, packet.rate comes first.
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
	// Queued datagrams can arrive after the sender's window: the longer of the two times is the one
	// in which the path carried them. One time for all steps keeps the ladder consistent.
	t := max(r.Window, r.Span)
	perSecond := func(n int64) float64 { return float64(n) / t }
	ofSent := func(n int64) float64 { return float64(n) / float64(max(r.Sent, 1)) }
	values := []record.Value{
		{Name: record.Throughput, Unit: "bit/s", Value: float64(r.Bytes) * 8 / t},
		{Name: record.PacketRate, Unit: "packet/s", Value: perSecond(r.Delivered)},
		{Name: record.Offered, Unit: "packet/s", Value: perSecond(r.Offered)},
		{Name: record.Sent, Unit: "packet/s", Value: perSecond(r.Sent)},
		{Name: record.Received, Unit: "packet/s", Value: perSecond(r.Received)},
		{Name: record.Delivered, Unit: "packet/s", Value: perSecond(r.Delivered)},
		{Name: record.Loss, Unit: "1", Value: ofSent(r.Sent - r.Delivered)},
		{Name: record.LossSocket, Unit: "1", Value: ofSent(r.Dropped)},
		{Name: record.Reordered, Unit: "1", Value: float64(r.Reordered) / float64(max(r.Delivered, 1))},
		{Name: record.Duplicated, Unit: "1", Value: float64(r.Duplicates) / float64(max(r.Delivered, 1))},
	}
	if rateFirst {
		values[0], values[1] = values[1], values[0]
	}
	if r.Delivered >= 2*int64(or(r.Streams, 1)) {
		values = append(values, record.Value{Name: record.Jitter, Unit: "s", Value: r.Jitter})
	}
	values = append(values,
		record.Value{Name: record.Silence, Unit: "s", Value: r.Silence},
		record.Value{Name: record.Window, Unit: "s", Value: r.Window})
	values = append(values, n.own(t, r.Own)...)
	// nap is the receiver's polling interval in seconds; 0 if it blocks.
	settings := []record.Observation{record.SndBuf.Is(r.SndBuf), record.RcvBuf.Is(r.RcvBuf), record.Send.Is(r.Send),
		record.Batch.Is(r.Batch), record.Recv.Is(r.Recv), record.DSCP.Is(r.DSCP), record.Nap.Is(r.Nap)}
	if r.Rate > 0 {
		settings = append(settings, record.Rate.Is(r.Rate))
	}
	if r.Streams > 1 {
		settings = append(settings, record.Streams.Is(r.Streams))
	}
	m, err := n.measured("udp", r.Head, values, settings...)
	if err == nil && r.Rate > 0 {
		m.Pause = 8 * float64(r.Size) * float64(r.Batch) * float64(or(r.Streams, 1)) / r.Rate
	}
	return m, err
}
