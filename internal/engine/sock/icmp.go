package sock

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"golang.org/x/sys/unix"
)

// ICMP (RFC 792, RFC 4443): type, code, checksum, identifier, sequence number.
const (
	icmpHeader  = 8
	echoRequest = 8
	echoReply   = 0
	echo6       = 128
	echoReply6  = 129
)

type ICMP struct {
	FD     int
	v6     bool
	Raw    bool
	id     uint16
	cookie uint64 // starts the data if there is room
	packet []byte // the request
	Buf    []byte
}

// NewICMP opens a socket for echoes with size bytes of data. The kernel offers datagram sockets for
// the groups in net.ipv4.ping_group_range (icmp(7)) and raw sockets for CAP_NET_RAW.
func NewICMP(to netip.Addr, size int) (*ICMP, error) {
	s := &ICMP{v6: to.Is6(), id: uint16(rand.Uint32()), cookie: rand.Uint64(), Buf: make([]byte, 1<<16)}
	proto := unix.IPPROTO_ICMP
	if s.v6 {
		proto = unix.IPPROTO_ICMPV6
	}
	var err error
	s.FD, err = unix.Socket(Family(to), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, proto)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		s.Raw = true
		s.FD, err = unix.Socket(Family(to), unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: ping %v: socket: %w (needs CAP_NET_RAW, or a group in net.ipv4.ping_group_range)", to, err)
	}
	if err := s.prepare(to); err != nil {
		unix.Close(s.FD)
		return nil, fmt.Errorf("engine: ping %v: %w", to, err)
	}
	s.packet = make([]byte, icmpHeader+size)
	s.packet[0] = echoRequest
	if s.v6 {
		s.packet[0] = echo6
	}
	binary.BigEndian.PutUint16(s.packet[4:], s.id)
	if size >= 8 {
		binary.BigEndian.PutUint64(s.packet[icmpHeader:], s.cookie)
	}
	return s, nil
}

// prepare makes the kernel drop everything but replies from the address; a raw socket sees all ICMP
// of the machine otherwise.
func (s *ICMP) prepare(to netip.Addr) error {
	var err error
	if s.Raw && s.v6 {
		var f unix.ICMPv6Filter // a set bit blocks its type
		for i := range f.Data {
			f.Data[i] = ^uint32(0)
		}
		f.Data[echoReply6/32] &^= 1 << (echoReply6 % 32)
		err = unix.SetsockoptICMPv6Filter(s.FD, unix.IPPROTO_ICMPV6, unix.ICMPV6_FILTER, &f)
	} else if s.Raw {
		err = unix.SetsockoptInt(s.FD, unix.SOL_RAW, unix.ICMP_FILTER, ^(1 << echoReply))
	}
	return cmp.Or(err, SetTimeouts(s.FD, Tick), unix.Connect(s.FD, Sockaddr(netip.AddrPortFrom(to, 0))))
}

func (s *ICMP) Send(seq uint16) unix.Errno {
	binary.BigEndian.PutUint16(s.packet[6:], seq)
	if !s.v6 { // the kernel computes ICMPv6's, which covers addresses
		s.packet[2], s.packet[3] = 0, 0
		binary.BigEndian.PutUint16(s.packet[2:], checksum(s.packet))
	}
	_, errno := HotSend(s.FD, s.packet, 0)
	return errno
}

// Parse returns the sequence number of a reply to this socket's requests.
func (s *ICMP) Parse(b []byte) (seq uint16, ok bool) {
	if s.Raw && !s.v6 { // raw IPv4 sockets include the IP header
		if len(b) < 20 {
			return 0, false
		}
		ihl := int(b[0]&15) * 4
		if ihl < 20 || len(b) < ihl {
			return 0, false
		}
		b = b[ihl:]
	}
	reply := byte(echoReply)
	if s.v6 {
		reply = echoReply6
	}
	if len(b) != len(s.packet) || b[0] != reply || b[1] != 0 {
		return 0, false
	}
	// The kernel chooses a datagram socket's identifier, and passes it only its own replies.
	if s.Raw && binary.BigEndian.Uint16(b[4:]) != s.id {
		return 0, false
	}
	if len(b) >= icmpHeader+8 && binary.BigEndian.Uint64(b[icmpHeader:]) != s.cookie {
		return 0, false
	}
	return binary.BigEndian.Uint16(b[6:]), true
}

// checksum is the Internet checksum (RFC 1071).
func checksum(b []byte) uint16 { return fold(sum(0, b)) }

// sum adds the 16-bit words of b to s; an odd last byte is the higher one of its word.
func sum(s uint32, b []byte) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}
