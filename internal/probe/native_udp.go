package probe

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/unit"
)

func (p UDPStream) path(w Window) event.Mode {
	size, batch := or(p.Size, defaultDatagram), p.Batch
	switch {
	case p.Packets > 0 && or(p.Send, event.SendSingle) == event.SendSingle:
		size = fullDatagram(w, p.Packets)
	case p.Packets > 0:
		size, batch = fullDatagram(w, 1), p.Packets
	}
	return event.Mode{Size: size, Send: p.Send, Batch: batch, Recv: p.Recv}.Filled()
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

func (p UDPRate) path() event.Mode {
	return event.Mode{Size: or(p.Size, smallDatagram), Send: p.Send, Batch: p.Batch, Recv: p.Recv}.Filled()
}

// udpStream returns the command lines of a udp-stream run. On a schedule the receiver waits in its
// socket, so that the time of arrival, and jitter, are not those of its looking,
// unless it looks all the same.
func udpStream(w Window, m event.Mode, rate Bitrate, looks bool) (server, client []string) {
	nap := time.Duration(event.DefaultNap)
	if rate > 0 && !looks {
		nap = 0
	}
	return engineRun(w, "udp-stream", m.Size, "--rate", fmt.Sprint(float64(rate)),
		"--send", m.Send, "--batch", strconv.Itoa(m.Batch), "--recv", m.Recv, "--nap", nap.String())
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
	err := p.path(Window{MTU: leastMTU}).Check()
	if err != nil && p.Packets > 0 {
		err = fmt.Errorf("packets: %d, on a path with an MTU of %d: %w", p.Packets, leastMTU, err)
	}
	return err
}

// Check returns an error that names the option and its bound.
func (p UDPRate) Check() error { return p.path().Check() }

// Check returns an error that names the option and its bound.
func (p TCPStream) Check() error {
	if p.DSCP < 0 || p.DSCP > event.MaxDSCP {
		return fmt.Errorf("dscp: %d is outside 0..%d", p.DSCP, event.MaxDSCP)
	}
	if streams := or(p.Streams, 1); p.Rate > 0 && float64(p.Rate) < event.MinPaced*float64(streams) {
		return fmt.Errorf("rate: %s is below the %s that each of %d streams can be paced to",
			unit.Format(float64(p.Rate), "bit/s"), unit.Format(event.MinPaced, "bit/s"), streams)
	}
	return nil
}
