package probe

import (
	"cmp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
)

// QUICRR measures response times over QUIC between two ends of weir, by quic-go: a new stream of one connection for each request.
type QUICRR struct {
	Size     int    `yaml:"size"`     // bytes of the response, to 1 MiB; default 64
	Sizes    string `yaml:"sizes"`    // instead of size: a file with up to 1000 lines of bytes (1 to 1048576) and their weight (1 to 10^9), or the same between commas
	InFlight int    `yaml:"inflight"` // requests in flight, each over a stream of its own, to 100; default 1
	Rate     int    `yaml:"rate"`     // requests/s on a schedule; default none: each follows the answer before
}

// quicRoom is what a packet of QUIC has at most besides the bytes of a response: its own headers, those of the stream, and the tag.
const quicRoom = 50

func (p QUICRR) Info() Info {
	i := Info{Title: "QUIC request/response", Short: "QUIC response time", Unit: "s", DeliveryUnit: "1/s", Datagrams: true,
		About:  "response time over QUIC, a new stream of one connection for each request (native)",
		Method: "A request over a new stream of one QUIC connection, and its response, by quic-go at both ends, whose goroutines take part of the time. QUIC sends again what the path loses, which takes time and counts in no loss. Packets are as large as the path's MTU allows, to 1452 bytes of UDP payload, and discovery of the MTU is off. With a rate, time counts from when a request was due. A response of another size fails the trial."}
	if size := or(p.Size, defaultMessage); p.Rate == 0 && p.Sizes == "" && or(p.InFlight, 1) == 1 && size <= event.MinPacket-quicRoom { // longer ones are packets in a row, which no probe prices
		i.Asks = Asks{1, 1, size}
	}
	return i
}

func (p QUICRR) Check() error {
	return cmp.Or(checkSizes(p.Sizes, p.Size), checkWebRate("quic-rr", p.Rate), event.CheckMessages("quic-rr", or(p.Size, defaultMessage), or(p.InFlight, 1)))
}

// Commands implements Probe. Packets fill the path's MTU; the engine refuses a path that cannot carry those of QUIC.
func (p QUICRR) Commands(w Window) (server, client []string) {
	headers := 20 + 8 // IPv4, UDP
	if w.Server.Addr().Is6() {
		headers = 40 + 8
	}
	flags := append(webFlags(w, p.InFlight, p.Rate), "--packet", strconv.Itoa(min(w.MTU-headers, event.MaxPacket)))
	if p.Sizes != "" {
		flags = append(flags, "--sizes", p.Sizes)
	}
	return engineRun(w, "quic-rr", or(p.Size, defaultMessage), flags...)
}

// Parse reads the values of web; the responses crossed the path.
func (p QUICRR) Parse(out Output) (Measured, error) {
	var r event.Web
	n := parseNative(out, "quic-rr", &r)
	if n.err == nil {
		n.require(event.CheckPacket(r.Packet) == nil, "packets of %d bytes", r.Packet)
	}
	m, err := n.web("udp", r, false, false, or(p.InFlight, 1))
	m.bodies(r, or(p.Size, defaultMessage), p.Sizes)
	m.Datagram, m.Shared = r.Packet, or(p.InFlight, 1) > 1
	return m, err
}
