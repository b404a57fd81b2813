package relay

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A link is the connection to one neighbor: a UDP socket that receives only from it.
type link struct {
	conn     *net.UDPConn
	raw      syscall.RawConn
	session  *session // nil without encryption
	wait     time.Duration
	counters *Counters
	v6       bool

	mu       sync.Mutex
	frames   []byte // waiting to be sent, with their lengths
	datagram []byte // buffer for the next one
	max      int    // UDP payload that fits the path's MTU
	timer    *time.Timer
}

func newLink(n Neighbor, encrypt bool, wait time.Duration, c *Counters) (*link, error) {
	conn, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(n.Local), net.UDPAddrFromAddrPort(n.Remote))
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, wait: wait, counters: c, v6: n.Remote.Addr().Is6()}
	if l.raw, err = conn.SyscallConn(); err == nil {
		err = l.dontFragment()
	}
	if err == nil && encrypt {
		l.session, err = newSession()
	}
	if err == nil {
		err = l.measure()
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if wait > 0 {
		l.timer = time.AfterFunc(wait, l.flush)
		l.timer.Stop()
	}
	return l, nil
}

func (l *link) close() error {
	if l.timer != nil {
		l.timer.Stop()
	}
	return ignoreClosed(l.conn.Close())
}

func (l *link) dontFragment() error {
	return l.control(func(fd int) error {
		if l.v6 {
			return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO)
		}
		return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
	})
}

// measure asks the kernel for the path's MTU, which can change while the relay runs.
func (l *link) measure() error {
	return l.control(func(fd int) error {
		level, option, headers := unix.IPPROTO_IP, unix.IP_MTU, 20+8
		if l.v6 {
			level, option, headers = unix.IPPROTO_IPV6, unix.IPV6_MTU, 40+8
		}
		mtu, err := unix.GetsockoptInt(fd, level, option)
		if err == nil {
			l.max = min(mtu-headers, maxDatagram)
		}
		return err
	})
}

func (l *link) control(f func(fd int) error) error {
	var failed error
	if err := l.raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// queue adds a frame to the next datagram, first sending what waits if the frame does not fit.
func (l *link) queue(frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fits(len(frame)) {
		l.send()
	}
	if !l.fits(len(frame)) { // too large even for a datagram of its own: has the path's MTU grown?
		if err := l.measure(); err != nil || !l.fits(len(frame)) {
			l.counters.tooLarge.Add(1)
			return
		}
	}
	if l.timer != nil && len(l.frames) == 0 {
		l.timer.Reset(l.wait)
	}
	l.frames = appendFrame(l.frames, frame)
}

func (l *link) fits(frame int) bool {
	return len(l.frames)+FrameOverhead+frame+Overhead(l.session != nil) <= l.max
}

func (l *link) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.send()
}

// send is flush for callers that hold the lock.
func (l *link) send() {
	if len(l.frames) == 0 {
		return
	}
	l.datagram = l.datagram[:0]
	ok := true
	if l.session == nil {
		l.datagram = append(append(l.datagram, kindFrames), l.frames...)
	} else if l.datagram, ok = l.session.seal(l.datagram, l.frames); !ok {
		// The frames are whole, so split finds nothing malformed.
		_ = split(l.frames, func([]byte) { l.counters.noKey.Add(1) })
	}
	l.frames = l.frames[:0]
	if ok {
		l.write(l.datagram)
	}
}

func (l *link) write(b []byte) {
	_, err := l.conn.Write(b)
	if errors.Is(err, unix.ECONNREFUSED) { // the error of an earlier datagram
		_, err = l.conn.Write(b)
	}
	if err != nil {
		l.counters.send.Add(1)
		if errors.Is(err, unix.EMSGSIZE) {
			_ = l.measure() // the path's MTU shrank; if measure fails, the next datagram fails too and is counted
		}
		return
	}
	l.counters.datagramsOut.Add(1)
	l.counters.bytesOut.Add(uint64(len(b)))
}

// read calls each with every frame from the neighbor, and idle when none is left, until closed.
func (l *link) read(each func(frame []byte), idle func()) error {
	var opened []byte // buffer for unsealed frames
	return readAll(l.raw, func(b []byte) {
		l.counters.datagramsIn.Add(1)
		l.counters.bytesIn.Add(uint64(len(b)))
		var err error
		if opened, err = l.take(opened[:0], b, each); errors.Is(err, errForged) {
			l.counters.forged.Add(1)
		} else if err != nil {
			l.counters.malformed.Add(1)
		}
	}, idle)
}

var errForged = errors.New("not sealed by the neighbor")

// take reads one datagram. It opens sealed frames in buf, and returns buf for reuse.
func (l *link) take(buf, b []byte, each func(frame []byte)) ([]byte, error) {
	if len(b) < kindSize {
		return buf, errMalformed
	}
	kind, b := b[0], b[kindSize:]
	switch {
	case kind == kindFrames && l.session == nil:
		return buf, split(b, each)
	case kind == kindSealed && l.session != nil:
		buf, err := l.session.open(buf, b)
		if err != nil {
			return buf, err
		}
		return buf, split(buf, each)
	case (kind == kindHello || kind == kindAnswer) && l.session != nil:
		err := l.session.readHello(b)
		if err == nil && kind == kindHello {
			l.write(l.session.hello(kindAnswer))
		}
		return buf, err
	case kind == kindFrames: // an attempt to bypass the encryption
		return buf, errForged
	}
	return buf, errMalformed
}

// helloEvery is the time between hellos.
const helloEvery = 100 * time.Millisecond

// sendHellos sends our key until the neighbor confirms it.
func (l *link) sendHellos(ctx context.Context) {
	tick := time.NewTicker(helloEvery)
	defer tick.Stop()
	for {
		if !l.session.isAcked() {
			l.write(l.session.hello(kindHello))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
