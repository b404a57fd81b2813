package header

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
)

// A Stack is the headers around the payload on the underlay.
type Stack struct {
	Path     plan.Path
	Protocol Protocol
	Datagram int  // UDP: payload bytes of one datagram
	IPv6     bool // the ends use IPv6, whatever the underlay uses
}

type Protocol string

const (
	TCP Protocol = "tcp" // full segments with timestamps, which Linux uses by default
	UDP Protocol = "udp"
)

const (
	ipv4         = 20 // RFC 791, without options
	ipv6         = 40 // RFC 8200, section 3
	ipv6Fragment = 8  // RFC 8200, section 4.5
	udpHeader    = 8  // RFC 768
	tcpHeader    = 20 // RFC 9293, without options
	tcpTimestamp = 12 // RFC 7323: 10 and two of padding; TCPOLEN_TSTAMP_ALIGNED, include/net/tcp.h
	minFrame     = 60 // IEEE 802.3: 64 with the check sequence, which plan.WireOverhead counts
	maxLength    = 65535
)

// Ceiling returns the payload rate in bit/s that the headers leave of a link of rate bit/s on the
// wire. A frame costs plan.EthernetHeader and plan.WireOverhead bytes besides its IP packet, and at
// least the shortest Ethernet frame. It returns 0, which means no ceiling, if rate is 0 or the path
// never leaves the host, and an error if the path cannot carry such packets.
func Ceiling(rate float64, h Stack) (float64, error) {
	packets, err := PacketCeiling(rate, h)
	if err != nil {
		return 0, err
	}
	return packets * 8 * float64(h.payload()), nil
}

// PacketCeiling is Ceiling in datagrams (UDP) or segments (TCP) per second. A fragmented datagram
// counts once.
func PacketCeiling(rate float64, h Stack) (float64, error) {
	if err := h.check(rate); err != nil {
		return 0, fmt.Errorf("ceiling: %w", err)
	}
	if rate == 0 || h.Path.Outer == 0 {
		return 0, nil
	}
	wire := 0.0
	for _, p := range h.packets() {
		wire += h.wire(p)
	}
	return rate / 8 / wire, nil
}

// wire returns the bytes that an IP packet of p bytes costs on the underlay. Packets that share an
// underlay packet are assumed to fill it: the lowest possible cost.
func (h Stack) wire(p int) float64 {
	shared, around := h.Path.Shared, h.Path.Tag+plan.EthernetHeader+plan.WireOverhead
	if shared == 0 {
		return float64(max(p+h.Path.Overhead+h.Path.Tag+plan.EthernetHeader, minFrame) + plan.WireOverhead)
	}
	own := float64(p + h.Path.Overhead - shared)
	return own + float64(shared+around)*own/float64(h.Path.Outer-shared)
}

func (h Stack) payload() int {
	if h.Protocol == UDP {
		return h.Datagram
	}
	return h.Path.MTU - h.ip() - tcpHeader - tcpTimestamp
}

func (h Stack) ip() int {
	if h.IPv6 {
		return ipv6
	}
	return ipv4
}

// packets returns the sizes of the IP packets that carry one segment or datagram.
func (h Stack) packets() []int {
	if h.Protocol == TCP {
		return []int{h.Path.MTU}
	}
	left := udpHeader + h.Datagram
	if h.ip()+left <= h.Path.MTU {
		return []int{h.ip() + left}
	}
	// Every fragment except the last carries a multiple of 8 bytes (RFC 791, section 3.2; RFC 8200,
	// section 4.5). Linux fills them: ip_append_data, net/ipv4/ip_output.c.
	head := h.fragmentHead()
	room := h.Path.MTU - head
	var sizes []int
	for left > room {
		full := room &^ 7
		sizes = append(sizes, head+full)
		left -= full
	}
	return append(sizes, head+left)
}

func (h Stack) fragmentHead() int {
	if h.IPv6 {
		return ipv6 + ipv6Fragment
	}
	return ipv4
}

// check returns an error if h's path cannot carry its packets.
func (h Stack) check(rate float64) error {
	maxDatagram := maxLength - udpHeader // RFC 8200 does not count the IP header
	if !h.IPv6 {
		maxDatagram -= ipv4
	}
	p := h.Path
	switch {
	case !(rate >= 0 && rate <= maxRate):
		return fmt.Errorf("link rate %g bit/s is outside 0..%g", rate, maxRate)
	case p.Overhead < 0 || p.Tag < 0:
		return fmt.Errorf("encapsulation of %d bytes with a tag of %d is negative", p.Overhead, p.Tag)
	case p.Shared < 0 || p.Shared > p.Overhead:
		return fmt.Errorf("%d bytes of the encapsulation that packets share are outside 0..%d", p.Shared, p.Overhead)
	case p.MTU > maxLength+ipv6:
		return fmt.Errorf("path MTU %d is above %d", p.MTU, maxLength+ipv6)
	case p.Outer != 0 && p.MTU+p.Overhead > p.Outer:
		return fmt.Errorf("path MTU %d with %d bytes of encapsulation is above the underlay's MTU %d: "+
			"the tunnel would fragment; lower the path's MTU to %d", p.MTU, p.Overhead, p.Outer, p.Outer-p.Overhead)
	}
	switch h.Protocol {
	case TCP:
		if h.payload() < 1 {
			return fmt.Errorf("path MTU %d leaves no room for TCP: want at least %d", p.MTU, p.MTU-h.payload()+1)
		}
	case UDP:
		if h.Datagram < 1 || h.Datagram > maxDatagram {
			return fmt.Errorf("datagram of %d bytes is outside 1..%d", h.Datagram, maxDatagram)
		}
		if least := h.fragmentHead() + 8; p.MTU < least {
			return fmt.Errorf("path MTU %d leaves no room for a fragment: want at least %d", p.MTU, least)
		}
	default:
		return fmt.Errorf("protocol %q is not one of %s, %s", h.Protocol, TCP, UDP)
	}
	return nil
}

// maxRate bounds the rate of a link: a thousand times the fastest Ethernet (IEEE 802.3df, 800
// Gbit/s), rounded.
const maxRate = 1e15
