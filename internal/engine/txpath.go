package engine

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A txPath hands datagrams to the kernel.
type txPath interface {
	// send sends up to n datagrams, n being 1 at least and the batch at most,
	// numbered from seq and marked with the time t. It returns how many the
	// kernel took, and of how many the fate is known now. It must not allocate.
	send(k kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno)
}

// newPath makes the way to send that c asks for, on a connected socket.
func newPath(fd int, c config) (txPath, error) {
	b := datagrams{run: c.Run, size: c.Size, buf: make([]byte, max(c.Batch, 1)*c.Size)}
	switch c.Send {
	case event.SendMmsg:
		return newMmsgPath(fd, b), nil
	case event.SendGSO:
		// From here on whatever is longer than one datagram is cut into such.
		err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, c.Size)
		if err != nil {
			return nil, fmt.Errorf("gso of %d bytes: %w%s", c.Size, err, lacks(err, "UDP_SEGMENT, which came with Linux 4.18", "send single or mmsg"))
		}
		return &gsoPath{fd, b}, nil
	}
	return &singlePath{fd, b}, nil
}

// lacks explains an error of setsockopt when the kernel does not know the option.
func lacks(err error, what, instead string) string {
	if errors.Is(err, unix.ENOPROTOOPT) {
		return fmt.Sprintf(": this kernel lacks %s; %s", what, instead)
	}
	return ""
}

// datagrams are the bytes of a batch, one datagram after another.
type datagrams struct {
	run  uint32
	size int
	buf  []byte
}

// stamp writes the headers of n datagrams and returns their bytes. They leave in
// one call, so they share its time.
func (d *datagrams) stamp(k kind, seq uint64, n int, t int64) []byte {
	h := header{kind: k, run: d.run, seq: seq, sent: uint64(t) & mask40}
	for i := range n {
		h.put(d.buf[i*d.size:])
		h.seq++
	}
	return d.buf[:n*d.size]
}

// singlePath sends one datagram per system call.
type singlePath struct {
	fd int
	datagrams
}

func (p *singlePath) send(k kind, seq uint64, _ int, t int64) (sent, tried int, errno unix.Errno) {
	if _, errno := hotSend(p.fd, p.stamp(k, seq, 1, t), 0); errno != 0 {
		return 0, 1, errno
	}
	return 1, 1, 0
}

// mmsgPath saves system calls; the kernel sends the datagrams one by one.
type mmsgPath struct {
	fd int
	datagrams
	msgs   []mmsghdr
	iovs   []unix.Iovec
	errors *errQueue
}

func newMmsgPath(fd int, d datagrams) *mmsgPath {
	n := len(d.buf) / d.size
	p := &mmsgPath{fd: fd, datagrams: d, msgs: make([]mmsghdr, n), iovs: make([]unix.Iovec, n), errors: newErrQueue(fd)}
	for i := range n {
		p.iovs[i].Base = &d.buf[i*d.size]
		p.iovs[i].SetLen(d.size)
		p.msgs[i].hdr.Iov = &p.iovs[i]
		p.msgs[i].hdr.SetIovlen(1)
	}
	return p
}

func (p *mmsgPath) send(k kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno) {
	p.stamp(k, seq, n, t)
	sent, errno = hotSendMany(p.fd, p.msgs[:n])
	switch {
	case errno != 0:
		return 0, 1, errno
	case sent < n:
		return sent, sent + 1, p.why()
	}
	return sent, sent, 0
}

// why returns the error of the datagram at which sendmmsg stopped. After a success
// the call does not tell it (__sys_sendmmsg, net/socket.c), and an answer by ICMP to
// the datagram before is then no longer pending: a server that is gone would never
// be noticed. The error queue has it; what is not there was refused for want of room.
func (p *mmsgPath) why() unix.Errno {
	if e, ok := p.errors.next(); ok {
		return unix.Errno(e.Errno)
	}
	return unix.ENOBUFS
}

// gsoPath sends a batch as one buffer.
type gsoPath struct {
	fd int
	datagrams
}

// send counts a buffer of which a queue on this machine refused something as
// sent: the kernel may have cut it before that queue, let part of it pass, and
// told of the last piece alone (dev_hard_start_xmit, net/core/dev.c). What did
// not arrive is then a loss of the path.
func (p *gsoPath) send(k kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno) {
	_, errno = hotSend(p.fd, p.stamp(k, seq, n, t), 0)
	if errno != 0 && errno != unix.ENOBUFS {
		return 0, n, errno
	}
	return n, n, errno
}

// explain adds to an error of sending what it means on this path.
func explain(c config, err error) error {
	if c.Send != event.SendGSO {
		return err
	}
	switch {
	case errors.Is(err, unix.EINVAL) && c.Batch > event.DefaultGSO:
		return fmt.Errorf("%w: this kernel may take %d datagrams per buffer and not %d (UDP_MAX_SEGMENTS), or %d bytes do not fit into one packet of the path", err, event.DefaultGSO, c.Batch, c.Size)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EMSGSIZE):
		return fmt.Errorf("%w: gso does not fragment, and a datagram of %d bytes with its headers may not fit the MTU of the path: lower --size, or send single or mmsg", err, c.Size)
	case errors.Is(err, unix.EIO):
		return fmt.Errorf("%w: gso needs a route without IPsec whose device can compute checksums: send single or mmsg", err)
	}
	return err
}
