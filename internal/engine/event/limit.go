package event

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of the engine's parameters.
const (
	MaxMessage  = 16 << 20 // bytes per write or message over TCP
	MinDatagram = 16       // bytes: every datagram, and every tcp-crr request, carries a header
	MaxDatagram = 65507    // bytes: 65535 - IPv4 header 20 - UDP header 8
	MinNumbered = 64       // bytes of udp-outage: its replies tell of arrivals
	MaxShort    = 1024     // bytes of connect-outage: a segment, for which no server waits
	MaxBody     = 1 << 20  // bytes of a response of HTTP, and of a message that a NATS server takes unless told otherwise
	MinNATS     = 8        // bytes: every message of NATS carries a number

	MaxWebInflight = 100 // of HTTP, QUIC, DNS and NATS
	MaxDSCP        = 63

	// MinPaced is the lowest rate of a paced TCP stream, bit/s: its queue of MinQueue bytes drains
	// within a second.
	MinPaced = 8 * MinQueue
	MinQueue = 16 << 10

	// A path of QUIC carries datagrams of MinPacket bytes (RFC 9000, section 14). MaxPacket is the largest of quic-go, which fits Ethernet
	// with the headers of IPv6 and UDP.
	MinPacket = 1200
	MaxPacket = 1452

	// DefaultRcvBuf is what a server asks for its UDP socket, bytes: about 10 ms of the highest packet
	// rate, so a server that is off its CPU for that long loses nothing. The kernel grants
	// net.core.rmem_max at most, unless the server has CAP_NET_ADMIN outside of any user namespace
	// (sk_setsockopt, SO_RCVBUFFORCE, net/core/sock.c), and reports twice what it grants (socket(7)).
	DefaultRcvBuf = 4 << 20

	MaxBuffer   = 1 << 30 // bytes that a socket is asked to buffer
	MaxInflight = 1024
	// MaxPipeline is how many bytes the buffers of a connection hold in either direction before
	// autotuning (tcp(7), tcp_rmem and tcp_wmem).
	MaxPipeline = 64 << 10

	MinPing = 100 * time.Microsecond // from one ICMP echo to the next
	MaxPing = time.Hour

	MinRequests     = 1 // per second, of udp-open
	MaxRequests     = 1_000_000
	DefaultRequests = 2000
	DefaultMessages = 1000 // per second, of tcp-outage
	DefaultConnects = 500  // per second, of connect-outage
	MaxConnects     = 2000
)

// How datagrams enter and leave the kernel. The modes differ greatly in cost, so every result names
// them.
const (
	SendSingle = "single" // one datagram per sendto
	SendMmsg   = "mmsg"   // many per sendmmsg; each traverses the kernel by itself
	SendGSO    = "gso"    // many in one buffer, which the kernel cuts as late as it can (UDP_SEGMENT, udp(7))
	SendXDP    = "xdp"    // frames for the device, past the sender's IP stack (AF_XDP)

	RecvSingle = "single" // one datagram per recvmsg
	RecvMmsg   = "mmsg"   // all that are waiting, up to a batch, per recvmmsg
	RecvGRO    = "gro"    // the same; datagrams that arrived in one buffer stay together (UDP_GRO, udp(7))

	DefaultMmsg = 32
	MaxMmsg     = 1024 // UIO_MAXIOV, include/uapi/linux/uio.h
	// DefaultGSO is the smallest UDP_MAX_SEGMENTS of any kernel (include/linux/udp.h); newer ones
	// take MaxGSO.
	DefaultGSO = 64
	MaxGSO     = 128
	// MaxXDP is how many frames the kernel sends per call (TX_BATCH_SIZE, net/xdp/xsk.c).
	MaxXDP = 32
)

// DefaultNap returns how often the receiver polls for datagrams that are sent as fast as possible. That is long
// compared with a wake-up: the sender would pay for one with every packet, the more so the faster the receiver is, and
// that would hide the path. Whole buffers of UDP_GRO come less often: there, longer naps help, with a wait after each
// (ADR 62).
func (m Mode) DefaultNap() time.Duration {
	if m.Recv == RecvGRO {
		return 200 * time.Microsecond
	}
	return 50 * time.Microsecond
}

// DefaultWrite returns how many bytes a TCP stream writes per call. With Nagle's algorithm off, the rest of every write that
// fills no whole buffer of the kernel travels alone: 128 KiB become three packets, two of them large, and
// 1 MiB seventeen (ADR 61). A call of a paced stream, of rate > 0 bit/s, takes as long as its bytes, so it is
// smaller: its thread reads the clock and its CPU time only between calls.
func DefaultWrite(rate float64) int {
	if rate > 0 {
		return 128 << 10
	}
	return 1 << 20
}

var (
	SendModes = []string{SendSingle, SendMmsg, SendGSO, SendXDP}
	RecvModes = []string{RecvSingle, RecvMmsg, RecvGRO}
)

// Within returns an error that names a value outside its bounds.
func Within[T cmp.Ordered](name string, v, least, most T, unit string) error {
	if v >= least && v <= most {
		return nil
	}
	return errors.New(strings.TrimSpace(fmt.Sprintf("%s %v is outside %v..%v %s", name, v, least, most, unit)))
}

// CheckMessages returns an error unless a workload can have messages of size bytes and
// inflight requests in flight.
func CheckMessages(workload string, size, inflight int) error {
	least, most := MinDatagram, MaxDatagram
	switch {
	case workload == "udp-outage", workload == "tcp-outage":
		least = MinNumbered
	case workload == "connect-outage":
		least, most = MinNumbered, MaxShort
	case strings.HasPrefix(workload, "http-"), strings.HasPrefix(workload, "dns-"), workload == "h2-rr", workload == "grpc-rr", workload == "quic-rr":
		least, most = 1, MaxBody
	case workload == "nats":
		least, most = MinNATS, MaxBody
	case workload == "tcp-crr":
		most = MaxMessage
	case strings.HasPrefix(workload, "tcp-"):
		least, most = 1, MaxMessage
	}
	switch {
	case most == MaxBody && inflight > MaxWebInflight:
		return fmt.Errorf("%s: %d requests in flight is outside 1..%d: each has a connection or stream", workload, inflight, MaxWebInflight)
	case inflight < 1 || inflight > MaxInflight:
		return fmt.Errorf("%s: %d requests in flight is outside 1..%d", workload, inflight, MaxInflight)
	case inflight > 1 && workload == "tcp-rr" && inflight*size > MaxPipeline:
		return fmt.Errorf("tcp-rr: %d requests of %d bytes in flight are more than %d bytes: each end could wait for the other to read",
			inflight, size, MaxPipeline)
	}
	return Within(workload+": size", size, least, most, "bytes")
}

func CheckRate[T int | float64](workload string, rate T) error {
	if rate >= MinRequests && rate <= MaxRequests {
		return nil
	}
	return fmt.Errorf("%s: rate %v is outside %d..%d requests/s", workload, rate, MinRequests, MaxRequests)
}

// CheckPacket returns an error if datagrams of QUIC cannot have so many bytes.
func CheckPacket(bytes int) error {
	if bytes < MinPacket {
		return fmt.Errorf("packets of %d bytes: QUIC sends datagrams of %d on every path (RFC 9000, section 14), with the headers of UDP and IP %d over IPv4 and %d over IPv6: the path needs such an MTU",
			bytes, MinPacket, MinPacket+28, MinPacket+48)
	}
	return Within("packets:", bytes, MinPacket, MaxPacket, "bytes")
}

// CheckPaced returns an error if a rate, bit/s, is too low to pace this many streams.
func CheckPaced(rate float64, streams int) error {
	if rate > 0 && rate < MinPaced*float64(streams) {
		return fmt.Errorf("rate %.0f is below %d bit/s per stream, the lowest that can be paced", rate, MinPaced)
	}
	return nil
}

// CheckQueues returns an error if a way to send cannot have this many streams: an AF_XDP socket owns a queue of the device,
// and weir binds the first (xsk_bind, net/xdp/xsk.c).
func CheckQueues(send string, streams int) error {
	if send == SendXDP && streams > 1 {
		return fmt.Errorf("--send xdp with %d streams: it sends on the first queue of the device; use one stream, or --send mmsg", streams)
	}
	return nil
}

// A Mode is how datagrams of Size bytes are sent and received.
type Mode struct {
	Size  int    // bytes of payload per datagram
	Send  string // one of SendModes; "" is SendSingle
	Batch int    // datagrams per call; 0 is 1 for single, DefaultMmsg, or as many as a gso buffer holds, at most DefaultGSO
	Recv  string // one of RecvModes; "" is RecvGRO for SendGSO, else RecvMmsg
}

// Filled returns m with its defaults.
func (m Mode) Filled() Mode {
	m.Send, m.Recv = cmp.Or(m.Send, SendSingle), cmp.Or(m.Recv, map[string]string{SendGSO: RecvGRO}[m.Send], RecvMmsg)
	batch := map[string]int{SendMmsg: DefaultMmsg, SendXDP: MaxXDP, SendGSO: max(1, min(DefaultGSO, MaxDatagram/max(m.Size, 1)))}[m.Send]
	m.Batch = cmp.Or(m.Batch, batch, 1)
	return m
}

func (m Mode) Check() error {
	most := map[string]int{SendSingle: 1, SendMmsg: MaxMmsg, SendGSO: MaxGSO, SendXDP: MaxXDP}[m.Send]
	switch {
	case m.Size < MinDatagram || m.Size > MaxDatagram:
		return fmt.Errorf("size: %d is outside %d..%d bytes: every datagram carries a header", m.Size, MinDatagram, MaxDatagram)
	case most == 0:
		return fmt.Errorf("send: %q is not one of %s", m.Send, strings.Join(SendModes, ", "))
	case !slices.Contains(RecvModes, m.Recv):
		return fmt.Errorf("recv: %q is not one of %s", m.Recv, strings.Join(RecvModes, ", "))
	case m.Batch < 1 || m.Batch > most:
		return fmt.Errorf("batch: %d is outside 1..%d of %s", m.Batch, most, m.Send)
	case m.Send == SendGSO && m.Batch > 1 && m.Batch*m.Size > MaxDatagram:
		return fmt.Errorf("batch: %d datagrams of %d bytes are more than the %d of one buffer: at most %d of this size", m.Batch, m.Size, MaxDatagram, MaxDatagram/m.Size)
	}
	return nil
}

// MaxGoals bounds the goals of one search, which takes a second or more for each.
const MaxGoals = 8

// CheckGoals checks the largest losses, 0..1, that a search tolerates.
func CheckGoals(losses []float64) error {
	for i, loss := range losses {
		switch {
		case loss < 0 || loss >= 1:
			return fmt.Errorf("loss %g%% is outside 0%%..100%%", 100*loss)
		case slices.Contains(losses[:i], loss):
			return fmt.Errorf("loss %g%% is a goal twice", 100*loss)
		}
	}
	return Within("goals:", len(losses), 1, MaxGoals, "")
}
