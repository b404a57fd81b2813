package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A tcpOutage sends messages over one connection on a schedule, whether or not the kernel takes them: those that it refuses
// wait here. A message is the place of its bytes in the stream.
type tcpOutage struct {
	*asker
	tcpConn
	interval float64 // ns
	window   *tally.Outages
	first    uint64 // number of the first message of the window
	begin    int64
	message  []byte
	written  uint64 // bytes
	clock    uint64 // number of the message that takes markClock
	in       []byte
	got      int    // bytes of the current reply
	replied  uint64 // messages
	broken   *event.Broken
}

func runTCPOutage(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	dial := c
	dial.rate = 0 // it is no stream to be paced
	t, err := dialTCP(ctx, dial, s)
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.fd)
	a := &tcpOutage{asker: newAsker(c, s, t.fd, 1, 1), tcpConn: t, interval: 1e9 / c.rate, message: make([]byte, c.Size), in: make([]byte, c.Size), clock: math.MaxUint64}
	a.mark = func(bool) error { a.clock = a.seq; return nil } // the next message takes it
	stamps := stampsOf(a.sock)
	var r event.TCPOutages
	var usual event.RR
	err = a.perform(nil, func() (err error) { r.Outages, err = a.measure(out); return err }, a.finish, &usual)
	if err == nil {
		err = a.tcpConn.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
	}
	r.Own, r.Stamps, r.ServerStamps = usual.Own, stamps, serverStamps(t.far)
	r.Broken, r.Timers = a.broken, timersOf(a.used)
	if len(a.farEdges) == 2 {
		r.ServerTimers = timersOf(a.farEdges[1])
	}
	r.Congestion, r.FarCongestion, r.SndBuf, r.RcvBuf = t.cc, t.far.CC, a.sndBuf, t.far.RcvBuf
	return r, nil
}

func timersOf(r wire.Reading) *event.Timers {
	if !r.Timers.Known {
		return nil
	}
	return &event.Timers{Timeouts: r.Timers.Timeouts, Recoveries: r.Timers.Recoveries, Time: float64(r.Timers.Time) / 1e3}
}

// measure must run on a thread of its own.
func (a *tcpOutage) measure(out events) (r event.Outages, err error) {
	var offered int64
	length, err := a.asker.measure(out, func(d time.Duration, measured bool) (err error) {
		if measured {
			a.first, a.begin = a.seq, sock.Now()
			a.window = newWindow(a.c, a.interval, a.first, a.begin)
			a.window.Stream = true
		}
		offered, err = ticks(a.interval, int64(d), a.listen, func() error { a.offer(measured); return nil })
		return err
	})
	if err != nil {
		return r, err
	}
	for end := sock.Now() + int64(a.c.timeout); a.replied < a.seq && a.broken == nil && sock.Now() < end; {
		if err := a.listen(sock.Now() + int64(askEvery)); err != nil {
			return r, err
		}
	}
	begin := sock.Monotonic(a.begin)
	r = a.window.Found(begin, begin+int64(a.c.Duration))
	r.Head = event.NewHead(a.c.Workload, a.c.server.String(), a.c.Size, time.Duration(length))
	r.Rate, r.Offered = a.c.rate, offered
	return r.RoundTripOnly(), nil
}

// offer makes a message due. On a broken connection it stays unanswered.
func (a *tcpOutage) offer(measured bool) {
	from := sock.Now()
	a.seq++
	a.flush()
	if measured {
		a.window.Sent(sock.Monotonic(from), sock.Monotonic(sock.Now()))
	}
}

// flush writes what is due, as far as the kernel takes it.
func (a *tcpOutage) flush() {
	size := uint64(len(a.message))
	for a.broken == nil && a.written < a.seq*size {
		n, at := a.written/size, a.written%size
		a.message[0] = 0
		if n == a.clock {
			a.message[0] = markClock
		}
		sent, errno := sock.HotSend(a.fd, a.message[at:], unix.MSG_DONTWAIT)
		if errno != 0 {
			a.fail(errno)
			return
		}
		a.written += uint64(sent)
	}
}

// fail notes an error that ends the connection. Others are part of an outage: a path that goes away and comes back reports
// some (EHOSTUNREACH, for one), and TCP goes on (RFC 1122, section 4.2.3.9).
func (a *tcpOutage) fail(errno unix.Errno) {
	why := unix.ErrnoName(errno)
	switch {
	case errno == 0:
		why = "closed"
	case sock.Again(errno), errno == unix.ENOBUFS, a.lives():
		return
	}
	a.broken = &event.Broken{At: sock.Monotonic(sock.Now()), Why: why}
}

// lives reports whether the kernel still has the connection.
func (a *tcpOutage) lives() bool {
	info, err := unix.GetsockoptTCPInfo(a.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	const tcpClose = 7 // TCP_CLOSE, include/net/tcp_states.h
	return err == nil && info.State != tcpClose
}

// listen reads replies, and writes what is due, until t and until no reply is waiting.
func (a *tcpOutage) listen(t int64) error {
	for {
		left := t - sock.Now()
		if a.stop.Stopped() {
			return sock.ErrStopped
		}
		if left > sock.SpinBelow {
			a.doze(left - sock.SpinBelow)
		}
		a.flush()
		if read, err := a.receive(); err != nil || !read && left <= 0 {
			return err
		}
	}
}

// doze waits for a reply, or for room to write, for at most d ns.
func (a *tcpOutage) doze(d int64) {
	events := int16(unix.POLLIN)
	switch {
	case a.broken != nil:
		sock.HotNap(time.Duration(min(d, int64(sock.Tick))))
		return
	case a.written < a.seq*uint64(len(a.message)):
		events |= unix.POLLOUT
	}
	sock.HotPoll(a.fd, events, time.Duration(d))
}

// receive reads at most one reply: a read returns the time at which its last byte came.
func (a *tcpOutage) receive() (read bool, err error) {
	if a.broken != nil {
		return false, nil
	}
	n, errno := a.sock.Recv(a.in[a.got:], unix.MSG_DONTWAIT, true)
	if errno != 0 || n == 0 {
		a.fail(errno)
		return false, nil
	}
	if a.got += n; a.got < len(a.in) {
		return true, nil
	}
	a.got = 0
	far, ok := wire.ParseArrival(a.in[wire.HeaderSize:])
	if !ok {
		return false, errors.New("reply: the server does not tell of arrivals")
	}
	if a.window != nil {
		a.window.Replied(int(int64(a.replied-a.first)), sock.Monotonic(a.sock.Arrived()), 0, far)
	}
	a.replied++
	return true, nil
}

// finish asks what the server's thread and connection used, which stays unknown if the connection can no longer be used.
func (a *tcpOutage) finish() ([]tally.FarSample, error) {
	if a.broken != nil || a.replied < a.seq {
		return nil, nil
	}
	err := a.mark(true)
	if err == nil {
		a.offer(false)
		for end := sock.Now() + int64(a.c.timeout); err == nil && a.replied < a.seq && a.broken == nil && sock.Now() < end; {
			err = a.listen(sock.Now() + int64(askEvery))
		}
	}
	if err != nil || a.replied < a.seq {
		return nil, err
	}
	if err := unix.Shutdown(a.fd, unix.SHUT_WR); err != nil {
		return nil, nil
	}
	b, _ := sock.ReadAll(a.fd, make([]byte, readingSize+tally.FarHeader+1), sock.Now()+int64(a.c.timeout), a.stop)
	var used wire.Reading
	if _, err := binary.Decode(b, binary.BigEndian, &used); err == nil {
		a.farEdges = []wire.Reading{{}, used}
	}
	return nil, nil
}
