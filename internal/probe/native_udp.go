package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/record"
)

// A udpPath is how datagrams of size bytes enter the kernel at one end and leave it
// at the other: the send mode and the receive mode. The same datagrams cost very
// different amounts by mode, so every result says which one was used.
type udpPath struct {
	size  int
	send  string
	batch int
	recv  string
}

const (
	defaultMmsg = 32
	defaultGSO  = 64
	maxMmsg     = 1024
	maxGSO      = 128
	minUDP      = 16    // bytes: the engine's header
	maxUDP      = 65507 // bytes of one buffer: 65535 - IPv4 header 20 - UDP header 8
	// lookEvery is how often a receiver polls for datagrams that are sent as fast as
	// possible. If each datagram woke it up, the sender would pay for the wake-up, and
	// pay more the faster the receiver is: that would hide the path.
	lookEvery = 50 * time.Microsecond
)

var (
	sendPaths = []string{"single", "mmsg", "gso"}
	recvPaths = []string{"single", "mmsg", "gro"}
)

// filled returns p with its defaults.
func (p udpPath) filled() udpPath {
	p.send = or(p.send, "single")
	switch p.send {
	case "mmsg":
		p.batch = or(p.batch, defaultMmsg)
	case "gso":
		p.batch = or(p.batch, max(1, min(defaultGSO, maxUDP/max(p.size, 1))))
		p.recv = or(p.recv, "gro")
	}
	p.batch, p.recv = or(p.batch, 1), or(p.recv, "mmsg")
	return p
}

// flags are those of the send and the receive mode.
func (p udpPath) flags(nap time.Duration) []string {
	return []string{"--send", p.send, "--batch", strconv.Itoa(p.batch), "--recv", p.recv, "--nap", nap.String()}
}

// commands are those of a udp-stream run. A receiver of a paced stream waits in its
// socket unless it is told to poll: polling would add its interval to the arrival
// times, and to jitter.
func (p udpPath) commands(w Window, rate Bitrate, polls bool) (server, client []string) {
	nap := lookEvery
	if rate > 0 && !polls {
		nap = 0
	}
	return engineRun(w, "udp-stream", p.size, append([]string{"--rate", fmt.Sprint(float64(rate))}, p.flags(nap)...)...)
}

// capacity implements Pacer for what sends datagrams by this path.
func (p udpPath) capacity() (by Probe, kind string, err error) {
	c := &UDPCapacity{Size: p.size, Send: p.send, Batch: p.batch, Recv: p.recv}
	return c, c.Kind(), nil
}

func (p udpPath) check() error {
	most := map[string]int{"single": 1, "mmsg": maxMmsg, "gso": maxGSO}[p.send]
	switch {
	case p.size < minUDP || p.size > maxUDP:
		return fmt.Errorf("size: %d is outside %d..%d bytes: every datagram carries a header", p.size, minUDP, maxUDP)
	case most == 0:
		return fmt.Errorf("send: %q is not one of %s", p.send, strings.Join(sendPaths, ", "))
	case !slices.Contains(recvPaths, p.recv):
		return fmt.Errorf("recv: %q is not one of %s", p.recv, strings.Join(recvPaths, ", "))
	case p.batch < 1 || p.batch > most:
		return fmt.Errorf("batch: %d is outside 1..%d of %s", p.batch, most, p.send)
	case p.send == "gso" && p.batch > 1 && p.batch*p.size > maxUDP:
		return fmt.Errorf("batch: %d datagrams of %d bytes exceed the %d of one buffer: use at most %d of this size", p.batch, p.size, maxUDP, maxUDP/p.size)
	}
	return nil
}

// parseUDP reads throughput (bit/s of delivered payload), packet.rate (packet/s
// delivered), the ladder offered, sent, received, delivered (packet/s), loss (of
// what was sent), loss.socket (of what was sent, dropped at the receiving
// socket's buffer), reordered (of what was delivered), jitter (s; when at least
// two datagrams were delivered), silence (s, the longest time without an arrival)
// and window. The packet rate comes first when rateFirst.
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
	// What queued up during sending took longer to arrive: the longer of the two
	// times is the one in which the path carried it. One time for all steps keeps
	// the ladder a ladder.
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
	// The receiver's polling interval in seconds; 0 when it was woken up.
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
