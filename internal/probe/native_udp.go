package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/unit"
)

// minPaced is the lowest rate of a TCP stream, bit/s, as in the engine.
const minPaced = 8 * 16 << 10

// A udpPath is how datagrams of size bytes get into the kernel of one end and out
// of that of the other. The same datagrams cost very different amounts by these
// ways, so what was used stands in every result.
type udpPath struct {
	size  int
	send  string
	batch int
	recv  string
}

func (p UDPStream) path(w Window) udpPath {
	size, batch := or(p.Size, defaultDatagram), p.Batch
	switch {
	case p.Packets > 0 && or(p.Send, "single") == "single":
		size = fullDatagram(w, p.Packets)
	case p.Packets > 0:
		size, batch = fullDatagram(w, 1), p.Packets
	}
	return udpPath{size, p.Send, batch, p.Recv}.filled()
}

// fullDatagram is the payload, in bytes, of the largest datagram that needs no more
// than n packets on the path. All fragments but the last carry a multiple of 8 bytes
// (RFC 791, section 3.2; RFC 8200, section 4.5).
func fullDatagram(w Window, n int) int {
	const ipv4, ipv6, fragment, udp = 20, 40, 8, 8
	room := min(w.MTU, 65535) - ipv4 // the loopback device's is more than a packet can have
	if w.Server.Addr().Is6() {
		room = w.MTU - ipv6
		if n > 1 {
			room -= fragment
		}
	}
	return (n-1)*(room&^7) + room - udp
}

func (p UDPRate) path() udpPath {
	return udpPath{or(p.Size, smallDatagram), p.Send, p.Batch, p.Recv}.filled()
}

const (
	defaultMmsg = 32
	defaultGSO  = 64
	maxMmsg     = 1024
	maxGSO      = 128
	minUDP      = 16    // bytes: the engine's header
	maxUDP      = 65507 // bytes of one buffer: 65535 - IPv4 header 20 - UDP header 8
	// lookEvery is how often a receiver looks for datagrams that are sent as fast
	// as possible. Being woken up by each of them would be paid by the sender, and
	// the more dearly the faster the receiver is: it would hide the path.
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

// commands are those of a udp-stream run. On a schedule the receiver waits in its
// socket, so that the time of arrival, and jitter, are not those of its looking,
// unless it looks all the same.
func (p udpPath) commands(w Window, rate Bitrate, looks bool) (server, client []string) {
	nap := lookEvery
	if rate > 0 && !looks {
		nap = 0
	}
	return engineRun(w, "udp-stream", p.size, "--rate", fmt.Sprint(float64(rate)),
		"--send", p.send, "--batch", strconv.Itoa(p.batch), "--recv", p.recv, "--nap", nap.String())
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
		return fmt.Errorf("batch: %d datagrams of %d bytes are more than the %d of one buffer: at most %d of this size", p.batch, p.size, maxUDP, maxUDP/p.size)
	}
	return nil
}

// leastMTU is the smallest that a path has (RFC 791: every host takes so much).
const leastMTU = 576

// Check returns an error that names the option and its bound. What Packets come to is
// known only on a path, where the engine refuses more than a datagram or buffer holds.
func (p UDPStream) Check() error {
	switch {
	case p.Packets < 0:
		return fmt.Errorf("packets: %d is not 1 or more", p.Packets)
	case p.Packets > 0 && (p.Size > 0 || p.Batch > 0):
		return fmt.Errorf("packets: %d says what size and batch are, so neither can be given", p.Packets)
	}
	err := p.path(Window{MTU: leastMTU}).check()
	if err != nil && p.Packets > 0 {
		err = fmt.Errorf("packets: %d, on a path with an MTU of %d: %w", p.Packets, leastMTU, err)
	}
	return err
}

// Check returns an error that names the option and its bound.
func (p UDPRate) Check() error { return p.path().check() }

// Check returns an error that names the option and its bound.
func (p TCPStream) Check() error {
	if p.DSCP < 0 || p.DSCP > 63 {
		return fmt.Errorf("dscp: %d is outside 0..63", p.DSCP)
	}
	if streams := or(p.Streams, 1); p.Rate > 0 && float64(p.Rate) < minPaced*float64(streams) {
		return fmt.Errorf("rate: %s is below the %s that each of %d streams can be paced to",
			unit.Format(float64(p.Rate), "bit/s"), unit.Format(minPaced, "bit/s"), streams)
	}
	return nil
}
