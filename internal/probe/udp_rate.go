package probe

import (
	"cmp"

	"github.com/weir-bench/weir/internal/engine/event"
)

// UDPRate measures delivered datagrams per second. It is UDPStream with small datagrams, whose cost
// is nearly all per packet.
type UDPRate struct {
	Streams int     `yaml:"streams"` // at once, each with a socket and a thread at both ends; default 1
	Size    int     `yaml:"size"`    // bytes of payload per datagram; default 18
	Rate    Bitrate `yaml:"rate"`    // bit/s of payload, all streams together; default unlimited
	Send    string  `yaml:"send"`    // single (one sendto per datagram, the default), mmsg (sendmmsg), gso (UDP_SEGMENT: one buffer for many datagrams, split as late as possible) or xdp (AF_XDP: frames for the device, past the sender's IP stack)
	Batch   int     `yaml:"batch"`   // datagrams per call; default 1 for single, 32 for mmsg and xdp, for gso as many as fit into 65507 bytes, at most 64
	Recv    string  `yaml:"recv"`    // single (recvmsg), mmsg (recvmmsg) or gro (UDP_GRO: keeps coalesced datagrams in one buffer); default gro for gso, else mmsg

	polls bool // the receiver polls even if the stream is paced; see Pace
}

func (p UDPRate) Info() Info {
	return Info{
		Title: "UDP packet rate", Short: "UDP packet rate", Unit: "packet/s", DeliveryUnit: "packet/s", Datagrams: true,
		About:  "UDP packets per second, small packets (native)",
		Method: "Small datagrams, sent as fast as possible: the cost of a packet, whatever it carries.",
	}
}

func (p UDPRate) mode() event.Mode {
	return event.Mode{Size: or(p.Size, smallDatagram), Send: p.Send, Batch: p.Batch, Recv: p.Recv}.Filled()
}

func (p UDPRate) Check() error { return cmp.Or(p.mode().Check(), checkFlows(p.Send, p.Streams)) }

func (p UDPRate) Pace(rate float64) (Probe, error) {
	p.Rate, p.polls = Bitrate(rate*8*float64(p.mode().Size)), true
	return &p, nil
}

func (p UDPRate) Capacity() (by Probe, kind string, err error) {
	return udpCapacity(p.mode(), p.Streams)
}

func (p UDPRate) Commands(w Window) (server, client []string) {
	return udpStream(w, p.mode(), p.Streams, p.Rate, p.polls)
}

// Parse reads packet.rate first; see parseUDP.
func (p UDPRate) Parse(out Output) (Measured, error) { return parseUDP(out, true) }
