package sock

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadErrors empties the error queue of a socket with IP_RECVERR (ip(7)) and returns
// the number of errors. Unless it is nil, seen counts them by what they were.
func ReadErrors(fd int, seen map[string]int) (found int) {
	var data [64]byte
	var control [512]byte
	for {
		_, n, _, _, err := unix.Recvmsg(fd, data[:], control[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if err != nil {
			return found
		}
		found++
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil || seen == nil {
			continue
		}
		for _, m := range messages {
			v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
			v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
			if v4 || v6 {
				seen[describeError(m.Data)]++
			}
		}
	}
}

// describeError decodes a struct sock_extended_err and the address that follows it
// (include/uapi/linux/errqueue.h).
func describeError(b []byte) string {
	if len(b) < 16 {
		return "an error that the kernel cut short"
	}
	errno := unix.Errno(binary.NativeEndian.Uint32(b))
	name := unix.ErrnoName(errno)
	if name == "" {
		name = fmt.Sprintf("error %d", int(errno))
	}
	origin, icmpType, icmpCode := b[4], b[5], b[6]
	if errno == unix.EMSGSIZE {
		name += fmt.Sprintf(" (MTU %d)", binary.NativeEndian.Uint32(b[8:]))
	}
	switch origin {
	case unix.SO_EE_ORIGIN_LOCAL:
		return name + " on this machine"
	case unix.SO_EE_ORIGIN_ICMP:
		return fmt.Sprintf("%s by ICMP type %d code %d from %s", name, icmpType, icmpCode, offender(b[16:]))
	case unix.SO_EE_ORIGIN_ICMP6:
		return fmt.Sprintf("%s by ICMPv6 type %d code %d from %s", name, icmpType, icmpCode, offender(b[16:]))
	}
	return name
}

// offender decodes the struct sockaddr of the node that sent the error.
func offender(b []byte) string {
	if len(b) < 2 {
		return "an unknown node"
	}
	switch f := binary.NativeEndian.Uint16(b); {
	case f == unix.AF_INET && len(b) >= 8:
		return netip.AddrFrom4([4]byte(b[4:8])).String()
	case f == unix.AF_INET6 && len(b) >= 24:
		return netip.AddrFrom16([16]byte(b[8:24])).String()
	}
	return "an unknown node"
}

// reportErrors makes the kernel report datagrams that a queue of this machine refused:
// without IP_RECVERR a full qdisc looks like success (udp_send_skb, net/ipv4/udp.c).
func reportErrors(fd int, v6 bool) error {
	level, opt := unix.IPPROTO_IP, unix.IP_RECVERR
	if v6 {
		level, opt = unix.IPPROTO_IPV6, unix.IPV6_RECVERR
	}
	if err := unix.SetsockoptInt(fd, level, opt, 1); err != nil {
		return fmt.Errorf("report errors: %w", err)
	}
	return nil
}

// An errQueue reads the error queue of a socket without allocating. It must not be
// copied: its header points into it.
type errQueue struct {
	fd      int
	hdr     unix.Msghdr
	control [32]uint64
}

func newErrQueue(fd int) *errQueue {
	q := &errQueue{fd: fd}
	q.hdr.Control = (*byte)(unsafe.Pointer(&q.control))
	return q
}

// next takes the next entry; ok is false when there is none.
func (q *errQueue) next() (unix.SockExtendedErr, bool) {
	for {
		q.hdr.SetControllen(len(q.control) * 8)
		if _, errno := hotRecvMessage(q.fd, &q.hdr, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); errno != 0 {
			return unix.SockExtendedErr{}, false
		}
		control := unsafe.Slice((*byte)(unsafe.Pointer(&q.control)), int(q.hdr.Controllen))
		if e, ok := extendedErr(control); ok {
			return e, true
		}
	}
}

// extendedErr finds the entry in the ancillary data (ip(7), IP_RECVERR). The sockets
// that send have no other option set that adds data.
func extendedErr(b []byte) (e unix.SockExtendedErr, ok bool) {
	head := unix.CmsgLen(0)
	if len(b) < head+int(unsafe.Sizeof(e)) {
		return e, false
	}
	return *(*unix.SockExtendedErr)(unsafe.Pointer(&b[head])), true
}
