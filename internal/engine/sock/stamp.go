package sock

import (
	"encoding/binary"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel stamps packets on request, with CLOCK_REALTIME
// (Documentation/networking/timestamping.rst). The engine uses two of those stamps:
//
//   - sending, SCHED: taken when the packet is handed to its first device
//     (__dev_queue_xmit, net/core/dev.c), before any queueing discipline and any
//     encapsulation. SOFTWARE is later, in the driver of the last device, and
//     would charge the sender's encapsulation to the application. SCHED needs no
//     help from a driver. If a packet crosses several devices of the sender, its
//     first stamp counts.
//   - receiving, SOFTWARE: taken when the packet enters the namespace of the
//     socket (net_timestamp_check, net/core/dev.c). If the device that
//     decapsulates is in that namespace too, decapsulation comes later.
const (
	// OPT_ID numbers the stamps of sending: datagrams with a stamp from 0, or bytes of a stream.
	// OPT_TSONLY returns a stamp without the packet, which needs no privilege. OPT_STATS is off: it
	// would add statistics to every stamp.
	socketStamps = unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE |
		unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY
	messageStamp = unix.SOF_TIMESTAMPING_TX_SCHED

	tstampSched        = 1 // SCM_TSTAMP_SCHED, include/uapi/linux/errqueue.h
	originTimestamping = 4 // SO_EE_ORIGIN_TIMESTAMPING, the same file
)

// A Stamped sends and receives messages without allocating, and reads the kernel's stamps. It must
// not be copied: its headers point into it.
type Stamped struct {
	FD   int
	On   bool  // received messages carry stamps
	Live bool  // one did
	Rx   int64 // when the kernel received the last message, ns since 1970; 0: unknown
	Spin bool  // Recv with MSG_DONTWAIT tries Polls times
	// Dropped is how many messages the socket had no room for, if it counts them, as of the last one with a stamp.
	Dropped uint32

	from    *unix.RawSockaddrAny // sender of the last datagram; nil on a connected socket
	FromLen uint32

	iov     unix.Iovec
	hdr     unix.Msghdr
	control [256]byte
	ask     [64]byte // control message that asks for a stamp
	askLen  int
}

// Polls is how often a spinning end looks for a message before it looks at anything else: about 10 µs
// in all.
const Polls = 64

// NewStamped wraps fd. from, unless nil, receives the addresses of datagrams.
func NewStamped(fd int, from *unix.RawSockaddrAny) *Stamped {
	s := &Stamped{FD: fd, from: from, askLen: unix.CmsgSpace(4)}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&s.ask[0]))
	h.Level, h.Type = unix.SOL_SOCKET, unix.SO_TIMESTAMPING
	h.SetLen(unix.CmsgLen(4))
	binary.NativeEndian.PutUint32(s.ask[unix.CmsgLen(0):], messageStamp)
	return s
}

// TurnOn makes the kernel stamp received messages, and number the stamps of sending from 0.
func (s *Stamped) TurnOn() error {
	// Only turning OPT_ID on resets the number.
	if err := s.TurnOff(); err != nil {
		return err
	}
	err := set(s.FD, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, socketStamps, "time stamps")
	s.On = err == nil
	return err
}

// TurnOff also discards unread stamps.
func (s *Stamped) TurnOff() error {
	s.On = false
	err := set(s.FD, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, 0, "time stamps")
	ReadErrors(s.FD, nil)
	return err
}

// Recv reads into b, not empty; with stamp it also reads the time stamp.
func (s *Stamped) Recv(b []byte, flags int, stamp bool) (int, unix.Errno) {
	s.Rx = 0
	tries := 1
	if s.Spin && flags&unix.MSG_DONTWAIT != 0 {
		tries = Polls
	}
	if !stamp {
		s.FromLen = unix.SizeofSockaddrAny
		return hotRecvFrom(s.FD, b, uintptr(flags), s.from, &s.FromLen, tries)
	}
	s.point(b, s.control[:])
	if s.from != nil {
		s.hdr.Name, s.hdr.Namelen = (*byte)(unsafe.Pointer(s.from)), unix.SizeofSockaddrAny
	}
	n, errno := 0, unix.Errno(0)
	for ; tries > 0; tries-- {
		if n, errno = hotRecvMessage(s.FD, &s.hdr, uintptr(flags)); errno != unix.EAGAIN {
			break
		}
	}
	if errno != 0 {
		return 0, errno
	}
	if s.from != nil {
		s.FromLen = s.hdr.Namelen
	}
	if s.On {
		s.Rx, s.Dropped = parseReceived(s.control[:min(int(s.hdr.Controllen), len(s.control))])
		s.Live = s.Live || s.Rx > 0
	}
	return n, 0
}

// Send writes b, not empty, to the sender of the last datagram, or to the peer of a connected
// socket. With stamp it requests a stamp of sending.
func (s *Stamped) Send(b []byte, stamp bool) (int, unix.Errno) {
	if !stamp {
		return hotSendTo(s.FD, b, 0, s.from, s.FromLen)
	}
	s.point(b, s.ask[:s.askLen])
	if s.from != nil {
		s.hdr.Name, s.hdr.Namelen = (*byte)(unsafe.Pointer(s.from)), s.FromLen
	}
	return hotSendMessage(s.FD, &s.hdr)
}

func (s *Stamped) point(b, control []byte) {
	carry(&s.hdr, &s.iov, b)
	s.hdr.Name, s.hdr.Namelen, s.hdr.Control = nil, 0, nil
	if len(control) > 0 {
		s.hdr.Control = &control[0]
	}
	s.hdr.SetControllen(len(control))
}

// Sent returns the next stamp of sending from the error queue; ok is false when none is there yet.
// It never blocks. It drops network errors between stamps, which the next call on the socket
// returns.
func (s *Stamped) Sent() (id uint32, t int64, ok bool) {
	var none [1]byte
	for {
		s.point(none[:], s.control[:])
		if _, errno := hotRecvMessage(s.FD, &s.hdr, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); errno != 0 {
			return 0, 0, false
		}
		if id, t, ok := parseSent(s.control[:min(int(s.hdr.Controllen), len(s.control))]); ok {
			return id, t, true
		}
	}
}

// Arrived returns when the kernel received the last message, on the clock of Now; if it did not stamp it, now.
func (s *Stamped) Arrived() int64 {
	t, wall := bothClocks()
	if s.Rx == 0 || s.Rx > wall { // the clock of the stamps was set
		return t
	}
	return t - (wall - s.Rx)
}

// bothClocks reads the clock of Now and that of the kernel's stamps at one moment. A thread that loses its CPU between the
// two reads repeats them.
func bothClocks() (now, wall int64) {
	const (
		close = 5_000 // ns, several times what three reads take
		tries = 4
	)
	for range tries {
		before := Now()
		x := time.Now()
		now, wall = int64(x.Sub(epoch)), x.UnixNano()
		if Now()-before < close {
			break
		}
	}
	return now, wall
}

// parseReceived returns the time of receipt in control data, or 0, and how many messages the socket had no room for before
// this one (SO_RXQ_OVFL, socket(7)), or 0.
func parseReceived(b []byte) (t int64, dropped uint32) {
	for len(b) > 0 {
		level, kind, data, rest := nextControl(b)
		switch {
		case level != unix.SOL_SOCKET:
		case kind == unix.SCM_TIMESTAMPING:
			t = parseStamp(data)
		case kind == unix.SO_RXQ_OVFL && len(data) >= 4:
			dropped = binary.NativeEndian.Uint32(data)
		}
		b = rest
	}
	return t, dropped
}

// parseSent reads the control data of a stamp of sending; ok is false for other entries of an error
// queue.
func parseSent(b []byte) (id uint32, t int64, ok bool) {
	for len(b) > 0 {
		level, kind, data, rest := nextControl(b)
		switch {
		case level == unix.SOL_SOCKET && kind == unix.SCM_TIMESTAMPING:
			t = parseStamp(data)
		case (level == unix.IPPROTO_IP && kind == unix.IP_RECVERR || level == unix.IPPROTO_IPV6 && kind == unix.IPV6_RECVERR) && len(data) >= 16:
			// struct sock_extended_err, include/uapi/linux/errqueue.h
			errno, origin := unix.Errno(binary.NativeEndian.Uint32(data)), data[4]
			info := binary.NativeEndian.Uint32(data[8:])
			id = binary.NativeEndian.Uint32(data[12:])
			ok = errno == unix.ENOMSG && origin == originTimestamping && info == tstampSched
		}
		b = rest
	}
	return id, t, ok && t > 0
}

// parseStamp reads the first time of a struct scm_timestamping, the only one that software fills.
func parseStamp(b []byte) int64 {
	if len(b) < 16 {
		return 0
	}
	sec, nsec := int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:]))
	if sec < 0 || sec > 1<<32 || nsec < 0 || nsec >= 1e9 {
		return 0
	}
	return sec*1e9 + nsec
}

// nextControl cuts the first control message off b (cmsg(3), 64-bit). A malformed message ends the
// list.
func nextControl(b []byte) (level, kind int32, data, rest []byte) {
	head := unix.CmsgLen(0)
	if len(b) < head {
		return 0, 0, nil, nil
	}
	n := binary.NativeEndian.Uint64(b)
	if n < uint64(head) || n > uint64(len(b)) {
		return 0, 0, nil, nil
	}
	level, kind = int32(binary.NativeEndian.Uint32(b[8:])), int32(binary.NativeEndian.Uint32(b[12:]))
	return level, kind, b[head:n], b[min(unix.CmsgSpace(int(n)-head), len(b)):]
}

// Wall returns the time t of Now on the clock of the kernel's stamps, ns since 1970.
func Wall(t int64) int64 {
	x := time.Now()
	return x.UnixNano() - (int64(x.Sub(epoch)) - t)
}

// sinceBoot is CLOCK_MONOTONIC at time 0 of Now, which runs with it.
var sinceBoot = func() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it exists everywhere
	return t.Nano() - Now()
}()

// Monotonic returns the time t of Now on CLOCK_MONOTONIC, which all processes of this machine share, ns.
func Monotonic(t int64) int64 { return t + sinceBoot }
