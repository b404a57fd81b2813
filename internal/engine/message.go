package engine

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A message receives datagrams and answers them without allocating: the
// functions of x/sys/unix make a new address for every datagram. It must not be
// copied, since its header points into it.
type message struct {
	buf     []byte
	name    unix.RawSockaddrAny
	control [64]byte
	iov     unix.Iovec
	hdr     unix.Msghdr
}

func newMessage() *message {
	m := &message{buf: make([]byte, 1<<16)}
	m.iov.Base = &m.buf[0]
	m.iov.SetLen(len(m.buf))
	m.hdr.Name = (*byte)(unsafe.Pointer(&m.name))
	m.hdr.Iov = &m.iov
	m.hdr.SetIovlen(1)
	m.hdr.Control = &m.control[0]
	return m
}

// recv waits for a datagram. drops is how many datagrams the socket had dropped
// when this one was put into its buffer (SO_RXQ_OVFL, socket(7)).
func (m *message) recv(fd, flags int) (n int, drops uint32, errno unix.Errno) {
	m.hdr.Namelen = unix.SizeofSockaddrAny
	m.hdr.SetControllen(len(m.control))
	r, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&m.hdr)), uintptr(flags))
	if errno != 0 {
		return 0, 0, errno
	}
	return int(r), m.drops(), 0
}

// drops finds the counter in the ancillary data. The kernel adds it only when it
// is not zero, and no other option that adds data is set on these sockets.
func (m *message) drops() uint32 {
	if int(m.hdr.Controllen) < unix.CmsgLen(4) {
		return 0
	}
	c := (*unix.Cmsghdr)(unsafe.Pointer(&m.control[0]))
	if c.Level != unix.SOL_SOCKET || c.Type != unix.SO_RXQ_OVFL {
		return 0
	}
	return *(*uint32)(unsafe.Pointer(&m.control[unix.CmsgLen(0)]))
}

// answer sends the first n bytes of the buffer to where the last datagram came
// from.
func (m *message) answer(fd, n int) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&m.buf[0])), uintptr(n),
		unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&m.name)), uintptr(m.hdr.Namelen))
	return errno
}

// from returns where the last datagram came from, without a zone.
func (m *message) from() netip.Addr {
	switch m.name.Addr.Family {
	case unix.AF_INET:
		sa := (*unix.RawSockaddrInet4)(unsafe.Pointer(&m.name))
		return netip.AddrFrom4(sa.Addr)
	case unix.AF_INET6:
		sa := (*unix.RawSockaddrInet6)(unsafe.Pointer(&m.name))
		return netip.AddrFrom16(sa.Addr).Unmap()
	}
	return netip.Addr{}
}

// send writes b to a connected socket. b must not be empty.
func send(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// recv reads from a connected socket into b, which must not be empty.
func recv(fd int, b []byte) (int, unix.Errno) { return recvFlags(fd, b, 0) }

func recvFlags(fd int, b []byte, flags int) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(flags), 0, 0)
	return int(n), errno
}

// again reports that a call ended without result because its time was up, or a
// signal came after all: neither is an answer, and both are a moment to look
// whether to stop.
func again(errno unix.Errno) bool { return errno == unix.EAGAIN || errno == unix.EINTR }
