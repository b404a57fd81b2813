package sock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// ErrSilent means that the other end missed the deadline.
var ErrSilent = errors.New("the other end is silent")

// ReadFull fills b; the error is io.EOF if the connection ended before the first byte.
func ReadFull(fd int, b []byte, deadline int64, s *Stopper) error {
	return fill(Recv, fd, b, deadline, s)
}

// HotReadFull is ReadFull in a hot loop.
func HotReadFull(fd int, b []byte, deadline int64, s *Stopper) error {
	return fill(func(fd int, b []byte) (int, unix.Errno) { return HotRecv(fd, b, 0) }, fd, b, deadline, s)
}

func fill(read func(int, []byte) (int, unix.Errno), fd int, b []byte, deadline int64, s *Stopper) error {
	n, err := move(read, fd, b, deadline, s)
	if err == io.EOF && n > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ReadAll reads until the connection ends, or b is full.
func ReadAll(fd int, b []byte, deadline int64, s *Stopper) ([]byte, error) {
	n, err := move(Recv, fd, b, deadline, s)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

func WriteFull(fd int, b []byte, deadline int64, s *Stopper) error {
	_, err := move(Send, fd, b, deadline, s)
	return err
}

// HotWriteFull is WriteFull in a hot loop.
func HotWriteFull(fd int, b []byte, deadline int64, s *Stopper) error {
	_, err := move(func(fd int, b []byte) (int, unix.Errno) { return HotSend(fd, b, 0) }, fd, b, deadline, s)
	return err
}

// Await waits until there is something to read, the socket is shut down, or the deadline has passed. A
// thread that looked more often would wake up the runtime's monitor, see hot.go.
func Await(fd int, deadline int64) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	wait := unix.NsecToTimespec(max(deadline-Now(), 0))
	_, _ = unix.Ppoll(p, &wait, nil) // the next call on the socket fails, too
}

// move calls f until it has moved all of b, and returns how much it moved.
func move(f func(int, []byte) (int, unix.Errno), fd int, b []byte, deadline int64, s *Stopper) (done int, err error) {
	for done < len(b) {
		n, errno := f(fd, b[done:])
		switch {
		case Again(errno):
			if err := MayWait(deadline, s); err != nil {
				return done, err
			}
		case errno != 0:
			return done, errno
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return done, nil
}

// MayWait returns an error if the run was stopped or the deadline has passed.
func MayWait(deadline int64, s *Stopper) error {
	switch {
	case s.Stopped():
		return ErrStopped
	case Now() > deadline:
		return ErrSilent
	}
	return nil
}

func ReadJSON(fd int, v any, deadline int64, s *Stopper) error {
	line, err := ReadLine(fd, deadline, s)
	if err != nil {
		return err
	}
	return wire.StrictJSON(line, v)
}

// ReadLine reads one line, without its newline. It reads byte by byte because the next bytes are
// not its own; control messages are rare and short.
func ReadLine(fd int, deadline int64, s *Stopper) ([]byte, error) {
	var line [wire.MaxLine]byte
	for n := range line {
		if err := ReadFull(fd, line[n:n+1], deadline, s); err != nil {
			return nil, err
		}
		if line[n] == '\n' {
			return line[:n], nil
		}
	}
	return nil, fmt.Errorf("control message is longer than %d bytes", wire.MaxLine)
}

func WriteJSON(fd int, v any, deadline int64, s *Stopper) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFull(fd, append(b, '\n'), deadline, s)
}

// A Message receives and answers datagrams without allocating; x/sys/unix allocates an address per
// datagram. It must not be copied: its header points into it.
type Message struct {
	Buf     []byte
	Name    unix.RawSockaddrAny
	control [64]byte
	iov     unix.Iovec
	Hdr     unix.Msghdr
}

func NewMessage() *Message {
	m := &Message{Buf: make([]byte, 1<<16)}
	carry(&m.Hdr, &m.iov, m.Buf)
	m.Hdr.Name = (*byte)(unsafe.Pointer(&m.Name))
	m.Hdr.Control = &m.control[0]
	return m
}

// carry makes b, not empty, the bytes of a message.
func carry(h *unix.Msghdr, iov *unix.Iovec, b []byte) {
	iov.Base = &b[0]
	iov.SetLen(len(b))
	h.Iov = iov
	h.SetIovlen(1)
}

// Recv waits for a datagram. drops is how many the socket had dropped when the kernel queued this
// one (SO_RXQ_OVFL, socket(7)).
func (m *Message) Recv(fd, flags int) (n int, drops uint32, errno unix.Errno) {
	m.Hdr.Namelen = unix.SizeofSockaddrAny
	m.Hdr.SetControllen(len(m.control))
	if n, errno = recvMessage(fd, &m.Hdr, flags); errno != 0 {
		return 0, 0, errno
	}
	drops, _ = readControl(m.control[:m.Hdr.Controllen], 0)
	return n, drops, 0
}

func recvMessage(fd int, m *unix.Msghdr, flags int) (int, unix.Errno) {
	n, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), uintptr(flags))
	return int(n), errno
}

// Answer sends the first n bytes of the buffer to the sender of the last datagram.
func (m *Message) Answer(fd, n int) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&m.Buf[0])), uintptr(n),
		unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(&m.Name)), uintptr(m.Hdr.Namelen))
	return errno
}

// Connect connects a socket to the sender of the last datagram.
func (m *Message) Connect(fd int) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&m.Name)), uintptr(m.Hdr.Namelen))
	return errno
}

// From returns the sender of the last datagram, without a zone.
func (m *Message) From() netip.Addr { return addr(&m.Name).WithZone("") }

// addr returns the address of a kernel's name, as AddrPort does.
func addr(name *unix.RawSockaddrAny) netip.Addr {
	switch name.Addr.Family {
	case unix.AF_INET:
		return netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr)
	case unix.AF_INET6:
		sa := (*unix.RawSockaddrInet6)(unsafe.Pointer(name))
		return inet6(sa.Addr, sa.Scope_id)
	}
	return netip.Addr{}
}

// Send writes b, not empty, to a connected socket.
func Send(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// Recv reads from a connected socket into b, not empty.
func Recv(fd int, b []byte) (int, unix.Errno) { return RecvFlags(fd, b, 0) }

func RecvFlags(fd int, b []byte, flags int) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(flags), 0, 0)
	return int(n), errno
}

// Again reports that a call returned without a result because its timeout passed or a signal
// arrived after all: a moment to check whether to stop.
func Again(errno unix.Errno) bool { return errno == unix.EAGAIN || errno == unix.EINTR }
