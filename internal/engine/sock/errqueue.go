package sock

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadErrors empties the error queue of a socket with IP_RECVERR (ip(7)) and returns the number of
// errors, counted by description in seen unless it is nil.
func ReadErrors(fd int, seen map[string]int) (found int) {
	for q := newErrQueue(fd); ; found++ {
		e, from, ok := q.next()
		if !ok {
			return found
		}
		if seen != nil {
			seen[describeError(e, from)]++
		}
	}
}

// describeError names an error and the node that sent it.
func describeError(e unix.SockExtendedErr, from []byte) string {
	errno := unix.Errno(e.Errno)
	name := unix.ErrnoName(errno)
	if name == "" {
		name = fmt.Sprintf("error %d", int(errno))
	}
	if errno == unix.EMSGSIZE {
		name += fmt.Sprintf(" (MTU %d)", e.Info)
	}
	switch e.Origin {
	case unix.SO_EE_ORIGIN_LOCAL:
		return name + " on this machine"
	case unix.SO_EE_ORIGIN_ICMP:
		return fmt.Sprintf("%s by ICMP type %d code %d from %s", name, e.Type, e.Code, offender(from))
	case unix.SO_EE_ORIGIN_ICMP6:
		return fmt.Sprintf("%s by ICMPv6 type %d code %d from %s", name, e.Type, e.Code, offender(from))
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

// reportErrors makes the kernel report datagrams that a queue of this machine refused: without
// IP_RECVERR a full qdisc looks like success (udp_send_skb, net/ipv4/udp.c).
func reportErrors(fd int, v6 bool) error {
	level, opt := ipOption(v6, unix.IP_RECVERR, unix.IPV6_RECVERR)
	return set(fd, level, opt, 1, "report errors")
}

// StopErrors undoes that, and forgets what was reported: an error that is left fails the next call of a library.
func StopErrors(fd int, v6 bool) error {
	level, opt := ipOption(v6, unix.IP_RECVERR, unix.IPV6_RECVERR)
	if err := set(fd, level, opt, 0, "report no errors"); err != nil {
		return err
	}
	_, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	return err
}

// An errQueue reads an error queue without allocating. It must not be copied: its header points
// into it.
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

// next takes the next entry and the address that follows it; ok is false when the queue is empty.
func (q *errQueue) next() (e unix.SockExtendedErr, from []byte, ok bool) {
	for {
		q.hdr.SetControllen(len(q.control) * 8)
		if _, errno := hotRecvMessage(q.fd, &q.hdr, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); errno != 0 {
			return e, nil, false
		}
		if e, from, ok = extendedErr(unsafe.Slice((*byte)(unsafe.Pointer(&q.control)), int(q.hdr.Controllen))); ok {
			return e, from, true
		}
	}
}

// extendedErr decodes the struct sock_extended_err in the ancillary data, and the address that
// follows it (include/uapi/linux/errqueue.h; ip(7), IP_RECVERR). Sockets with relevant errors have
// no other option set that adds data.
func extendedErr(b []byte) (e unix.SockExtendedErr, from []byte, ok bool) {
	head, size := unix.CmsgLen(0), int(unsafe.Sizeof(e))
	if len(b) < head+size {
		return e, nil, false
	}
	return *(*unix.SockExtendedErr)(unsafe.Pointer(&b[head])), b[head+size:], true
}
