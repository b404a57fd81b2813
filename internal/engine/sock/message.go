package sock

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Message receives datagrams and answers them without allocating; the functions of
// x/sys/unix allocate an address per datagram. It must not be copied: its header points
// into it.
type Message struct {
	Buf     []byte
	Name    unix.RawSockaddrAny
	control [64]byte
	iov     unix.Iovec
	Hdr     unix.Msghdr
}

func NewMessage() *Message {
	m := &Message{Buf: make([]byte, 1<<16)}
	m.iov.Base = &m.Buf[0]
	m.iov.SetLen(len(m.Buf))
	m.Hdr.Name = (*byte)(unsafe.Pointer(&m.Name))
	m.Hdr.Iov = &m.iov
	m.Hdr.SetIovlen(1)
	m.Hdr.Control = &m.control[0]
	return m
}

// Recv waits for a datagram. drops is the number of datagrams that the socket had
// dropped when the kernel queued this one (SO_RXQ_OVFL, socket(7)).
func (m *Message) Recv(fd, flags int) (n int, drops uint32, errno unix.Errno) {
	m.Hdr.Namelen = unix.SizeofSockaddrAny
	m.Hdr.SetControllen(len(m.control))
	r, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&m.Hdr)), uintptr(flags))
	if errno != 0 {
		return 0, 0, errno
	}
	drops, _ = readControl(m.control[:m.Hdr.Controllen], 0)
	return int(r), drops, 0
}

// Answer sends the first n bytes of the buffer to the sender of the last datagram.
func (m *Message) Answer(fd, n int) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&m.Buf[0])), uintptr(n),
		unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&m.Name)), uintptr(m.Hdr.Namelen))
	return errno
}

// From returns the sender of the last datagram, without a zone.
func (m *Message) From() netip.Addr {
	switch m.Name.Addr.Family {
	case unix.AF_INET:
		sa := (*unix.RawSockaddrInet4)(unsafe.Pointer(&m.Name))
		return netip.AddrFrom4(sa.Addr)
	case unix.AF_INET6:
		sa := (*unix.RawSockaddrInet6)(unsafe.Pointer(&m.Name))
		return netip.AddrFrom16(sa.Addr).Unmap()
	}
	return netip.Addr{}
}

// Send writes b to a connected socket. b must not be empty.
func Send(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// Recv reads from a connected socket into b, which must not be empty.
func Recv(fd int, b []byte) (int, unix.Errno) { return RecvFlags(fd, b, 0) }

// RecvFlags is Recv with flags.
func RecvFlags(fd int, b []byte, flags int) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(flags), 0, 0)
	return int(n), errno
}

// Again reports that a call returned without a result because its timeout passed or a
// signal arrived after all. Neither is an answer; both are a moment to check whether to
// stop.
func Again(errno unix.Errno) bool { return errno == unix.EAGAIN || errno == unix.EINTR }
