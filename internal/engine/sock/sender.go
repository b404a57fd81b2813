package sock

import (
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A Sender sends datagrams over a path, as fast as it can or on a schedule of absolute times:
// datagram k is due at k times the interval. A sender that falls behind catches up; datagrams that
// it cannot send by the end count as offered, not as sent.
type Sender struct {
	Path     Path
	Batch    int     // datagrams per call; 0 is 1
	Interval float64 // ns; 0: no schedule
	Whole    bool    // never fragment: too large a datagram is an error
	First    uint64  // number of the first datagram of the next run
	Stop     *Stopper

	Offered, Sent            int64
	Took                     int64 // ns of sending: the whole window, longer if the last call was
	Refused                  int64 // datagrams that a queue of this machine refused, or that were too large
	noBuffer, full, tooLarge int64 // attempts that failed with ENOBUFS, EAGAIN, EMSGSIZE
}

// SpinBelow is how long before its time a sender stops sleeping and watches the clock: waking up
// takes about this long.
const SpinBelow = 60_000 // ns

// Run sends for d nanoseconds, counting from zero. On a schedule a batch leaves when its first
// datagram is due, so the others are early. ENOBUFS, EAGAIN and EMSGSIZE cost only the datagrams of
// the call. Any other error, and EMSGSIZE if Whole, ends the run because the server or the route to
// it is gone.
func (x *Sender) Run(k wire.Kind, d int64) error {
	x.Offered, x.Sent, x.Refused, x.noBuffer, x.full, x.tooLarge = 0, 0, 0, 0, 0, 0
	begin := Now()
	slots := int64(math.MaxInt64)
	if x.Interval > 0 {
		slots = int64(math.Ceil(float64(d) / x.Interval))
	}
	attempts := int64(0)
	for attempts < slots {
		t := Now()
		if x.Interval > 0 {
			t = x.wait(t, begin+int64(float64(attempts)*x.Interval))
		}
		if x.Stop.Stopped() {
			return ErrStopped
		}
		if t-begin >= d {
			break
		}
		n := min(int64(max(x.Batch, 1)), slots-attempts)
		sent, tried, errno := x.Path.Send(k, x.First+uint64(x.Sent), int(n), t)
		x.Sent += int64(sent)
		attempts += int64(tried)
		if errno != 0 && !x.forgive(errno, int64(tried)) {
			return errno
		}
		if !Again(errno) {
			x.Refused += int64(tried - sent)
		}
	}
	x.Offered, x.Took = attempts, max(Now()-begin, d)
	if x.Interval > 0 {
		x.Offered = max(slots, attempts) // more if the path still had datagrams of the last run
		x.wait(Now(), begin+d)
	}
	return nil
}

// forgive counts an error of n attempts that does not affect later ones.
func (x *Sender) forgive(errno unix.Errno, n int64) bool {
	switch {
	case errno == unix.ENOBUFS:
		x.noBuffer += n
	case Again(errno):
		x.full += n
	case errno == unix.EMSGSIZE && !x.Whole:
		x.tooLarge += n
	default:
		return false
	}
	return true
}

// wait sleeps until shortly before a time, then watches the clock, and returns the time; t is now.
func (x *Sender) wait(t, until int64) int64 {
	for ; t < until && !x.Stop.Stopped(); t = Now() {
		if left := until - t; left > SpinBelow {
			HotNap(time.Duration(min(left-SpinBelow, int64(Tick)))) // a nap cut short is repeated
		}
	}
	return t
}

func (x *Sender) Errors() map[string]int64 {
	return map[string]int64{"ENOBUFS": x.noBuffer, "EAGAIN": x.full, "EMSGSIZE": x.tooLarge}
}

// A Path hands datagrams to the kernel.
type Path interface {
	// Send sends 1 to n datagrams, at most a batch, numbered from seq and marked with time t. It
	// returns how many the kernel took, and for how many the outcome is now known. It must not
	// allocate.
	Send(k wire.Kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno)
	// Close frees what the path has besides the connected socket.
	Close()
}

// NewPath prepares a connected socket to send in mode m.
func NewPath(fd int, run uint32, m event.Mode) (Path, error) {
	b := datagrams{run: run, size: m.Size, buf: make([]byte, max(m.Batch, 1)*m.Size)}
	switch m.Send {
	case event.SendMmsg:
		n := len(b.buf) / b.size
		p := &mmsgPath{fd: fd, datagrams: b, msgs: make([]mmsghdr, n), iovs: make([]unix.Iovec, n), errors: newErrQueue(fd)}
		for i := range n {
			carry(&p.msgs[i].hdr, &p.iovs[i], b.buf[i*b.size:][:b.size])
		}
		return p, nil
	case event.SendGSO:
		// From now on the kernel cuts longer buffers into such datagrams.
		err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, m.Size)
		if err != nil {
			return nil, fmt.Errorf("gso of %d bytes: %w%s", m.Size, err, Lacks(err, "UDP_SEGMENT, which came with Linux 4.18", "use --send single or mmsg"))
		}
		return &gsoPath{fd, b}, nil
	case event.SendXDP:
		return newXDP(fd, run, m)
	}
	return &singlePath{fd, b}, nil
}

// Lacks explains an error of setsockopt if the kernel does not know the option.
func Lacks(err error, what, instead string) string {
	if errors.Is(err, unix.ENOPROTOOPT) {
		return fmt.Sprintf(": this kernel lacks %s; %s", what, instead)
	}
	return ""
}

type datagrams struct {
	run  uint32
	size int
	buf  []byte
}

func (d *datagrams) Close() {}

// stamp writes the headers of n datagrams and returns their bytes. They leave in one call, so they
// share one time.
func (d *datagrams) stamp(k wire.Kind, seq uint64, n int, t int64) []byte {
	h := wire.Header{Kind: k, Run: d.run, Seq: seq, Sent: uint64(t) & wire.Mask40}
	for i := range n {
		h.Put(d.buf[i*d.size:])
		h.Seq++
	}
	return d.buf[:n*d.size]
}

type singlePath struct {
	fd int
	datagrams
}

func (p *singlePath) Send(k wire.Kind, seq uint64, _ int, t int64) (sent, tried int, errno unix.Errno) {
	if _, errno := HotSend(p.fd, p.stamp(k, seq, 1, t), 0); errno != 0 {
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

func (p *mmsgPath) Send(k wire.Kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno) {
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

// why returns the error of the datagram at which sendmmsg stopped. The call does not return it
// after a success (__sys_sendmmsg, net/socket.c), and then an ICMP answer to the previous datagram
// is no longer pending: the loss of the server would go unnoticed. The error queue has it; a
// datagram without an entry was refused for lack of room.
func (p *mmsgPath) why() unix.Errno {
	if e, _, ok := p.errors.next(); ok {
		return unix.Errno(e.Errno)
	}
	return unix.ENOBUFS
}

type gsoPath struct {
	fd int
	datagrams
}

// Send counts a buffer as sent even if a queue of this machine refused part of it: the kernel can
// have cut it before that queue, let some pieces pass, and reported only the last
// (dev_hard_start_xmit, net/core/dev.c). Missing pieces are then losses of the path.
func (p *gsoPath) Send(k wire.Kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno) {
	_, errno = HotSend(p.fd, p.stamp(k, seq, n, t), 0)
	if errno != 0 && errno != unix.ENOBUFS {
		return 0, n, errno
	}
	return n, n, errno
}

// ExplainSend adds to an error of sending its meaning in mode m.
func ExplainSend(m event.Mode, err error) error {
	if m.Send != event.SendGSO {
		return err
	}
	switch {
	case errors.Is(err, unix.EINVAL) && m.Batch > event.DefaultGSO:
		return fmt.Errorf("%w: this kernel may take only %d datagrams per buffer, not %d (UDP_MAX_SEGMENTS), or %d bytes do not fit into one packet of the path", err, event.DefaultGSO, m.Batch, m.Size)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EMSGSIZE):
		return fmt.Errorf("%w: gso does not fragment, and a datagram of %d bytes with its headers may not fit the MTU of the path: lower --size, or use --send single or mmsg", err, m.Size)
	case errors.Is(err, unix.EIO):
		return fmt.Errorf("%w: gso needs a route without IPsec whose device can compute checksums: use --send single or mmsg", err)
	}
	return err
}
