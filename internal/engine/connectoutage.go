package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A lost first packet is sent again after a second (RFC 6298, section 2): in a connection that takes this long, the first
// packet was sent again.
const handshakeTimeout = time.Second

// connectRoom is how long connections, each with a port, can be under way before the oldest is given up: long
// enough for the kernel to send a first packet again twice.
const connectRoom = 3 * handshakeTimeout

// An attempt is a connection on its way. The server closes it, as it does those of tcp-crr, so no port waits at the client.
type attempt struct {
	fd       int
	seq      uint64
	from     int64
	measured bool
	sent     bool // the request
	answered bool // and it waits for the end
	got      int
}

// A connectOutage begins connections on a schedule.
type connectOutage struct {
	*connector
	poll     int // epoll
	interval float64
	seq      uint64
	first    uint64
	begin    int64
	window   *tally.Outages
	open     []attempt // by the turn of their port
	alive    int64     // when this thread last looked for events
	result   event.ConnectOutages
}

func runConnectOutage(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	dial := c
	dial.rate = 0
	t, err := dialTCP(ctx, dial, s) // the server accepts short connections while this one is open
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.fd)
	r, err := onThread(func() (event.ConnectOutages, error) {
		k, err := newConnector(c, s, t.fd, int(c.rate*connectRoom.Seconds()))
		if err != nil {
			return event.ConnectOutages{}, err
		}
		a := &connectOutage{connector: k, interval: 1e9 / c.rate, open: make([]attempt, len(k.ports))}
		for i := range a.open {
			a.open[i].fd = -1
		}
		if a.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return event.ConnectOutages{}, err
		}
		defer a.close()
		if err := a.measure(out); err != nil {
			return event.ConnectOutages{}, err
		}
		far, _ := t.reading(c, s) // an outage: what the server used is unknown
		a.result.Own = own(a.used, far, false)
		return a.result, nil
	})
	if err != nil {
		return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
	}
	r.Stamps = event.NoStamps + "a connection exchanges several packets"
	if err := t.finish(); err != nil {
		return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
	}
	r.ServerStamps, r.SndBuf, r.RcvBuf = r.Stamps, t.sndBuf, t.far.RcvBuf
	return r, nil
}

func (a *connectOutage) measure(out events) error {
	gauge := sock.NewGauge(-1)
	defer gauge.Close()
	a.result.Errors = map[string]int64{}
	if _, err := ticks(a.interval, int64(a.c.Warmup), a.listen, func() error { return a.connect(false) }); err != nil {
		return err
	}
	out.begin()
	a.first, a.begin, a.edge = a.seq, sock.Now(), 1
	a.window = newWindow(a.c, a.interval, a.first, a.begin)
	a.window.Stream = true
	before := gauge.Read()
	offered, err := ticks(a.interval, int64(a.c.Duration), a.listen, func() error { return a.connect(true) })
	if err != nil {
		return err
	}
	length := sock.Now() - a.begin
	a.used = gauge.Read().Since(before)
	out.end()
	a.edge = 1
	err = a.connect(false)
	for end := sock.Now() + int64(a.c.timeout); err == nil && a.pending() && sock.Now() < end; {
		err = a.listen(sock.Now() + int64(askEvery))
	}
	if err != nil {
		return err
	}
	for i := range a.open {
		a.abandon(i)
	}
	begin := sock.Monotonic(a.begin)
	r := a.window.Found(begin, begin+int64(a.c.Duration))
	r.Head = event.NewHead(a.c.Workload, a.c.server.String(), a.c.Size, time.Duration(length))
	r.Rate, r.Offered = a.c.rate, offered
	a.result.Outages = r.RoundTripOnly()
	a.result.Ports, a.result.PortsBusy = len(a.ports), a.busy
	return nil
}

func (a *connectOutage) pending() bool {
	for i := range a.open {
		if a.open[i].fd >= 0 {
			return true
		}
	}
	return false
}

func (a *connectOutage) close() {
	for i := range a.open {
		a.abandon(i)
	}
	unix.Close(a.poll)
}

// abandon gives up the connection of a port, which frees it.
func (a *connectOutage) abandon(i int) {
	x := &a.open[i]
	if x.fd < 0 {
		return
	}
	if x.measured && !x.answered {
		a.result.Abandoned++
	}
	_ = unix.SetsockoptLinger(x.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	unix.Close(x.fd)
	x.fd = -1
}

// connect begins a connection from the next port. A connection that has had this port for longer than connectRoom is
// given up.
func (a *connectOutage) connect(measured bool) error {
	x := attempt{seq: a.seq, measured: measured, from: sock.Now()}
	a.seq++
	var errno error
	i := 0
	for range portTries {
		i = a.turn
		a.turn = (a.turn + 1) % len(a.ports)
		a.abandon(i)
		x.fd, errno = a.socket(a.ports[i])
		if errno == nil {
			if errno = dialNow(x.fd, a.c.server); errno != nil {
				unix.Close(x.fd)
			}
		}
		if !errors.Is(errno, unix.EADDRINUSE) && !errors.Is(errno, unix.EADDRNOTAVAIL) {
			break // else another program has the port, or its old connection is still closing
		}
		a.busy++
	}
	if measured {
		a.window.Sent(sock.Monotonic(x.from), sock.Monotonic(sock.Now()))
	}
	if errno != nil {
		return a.failed(x, errno)
	}
	a.open[i] = x
	return unix.EpollCtl(a.poll, unix.EPOLL_CTL_ADD, x.fd, &unix.EpollEvent{Events: unix.EPOLLOUT | unix.EPOLLIN | unix.EPOLLET, Fd: int32(i)})
}

// portTries is how many ports a connection tries if they are not free.
const portTries = 16

// dialNow begins to connect, and waits for nothing.
func dialNow(fd int, to netip.AddrPort) error {
	err := unix.SetNonblock(fd, true)
	if err == nil {
		err = unix.Connect(fd, sock.Sockaddr(to))
	}
	if errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

// failed counts the end of a connection without a reply: a result, unless this machine is the cause.
func (a *connectOutage) failed(x attempt, err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) || errno == unix.EMFILE || errno == unix.ENFILE {
		return fmt.Errorf("connect: %w", err)
	}
	if x.measured {
		name := unix.ErrnoName(errno)
		if name == "" {
			name = errno.Error()
		}
		a.result.Errors[name]++
	}
	return nil
}

// listen serves the connections until t, and all events that are waiting then.
func (a *connectOutage) listen(t int64) error {
	var events [64]unix.EpollEvent
	for {
		left := t - sock.Now()
		if a.stop.Stopped() {
			return sock.ErrStopped
		}
		if left > sock.SpinBelow {
			sock.HotPoll(a.poll, unix.POLLIN, min(time.Duration(left-sock.SpinBelow), time.Millisecond))
		}
		n, err := unix.EpollWait(a.poll, events[:], 0)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("connect: %w", err)
		}
		now := sock.Now()
		if away := now - a.alive; n > 0 && a.window != nil && away > 2*int64(time.Millisecond) {
			a.window.Away += away
		}
		a.alive = now
		for _, e := range events[:max(n, 0)] {
			if err := a.serve(int(e.Fd)); err != nil {
				return err
			}
		}
		if n <= 0 && left <= 0 {
			return nil
		}
	}
}

// serve takes a connection as far as it goes: its request, the reply, the end.
func (a *connectOutage) serve(i int) error {
	x := &a.open[i]
	if x.fd < 0 {
		return nil
	}
	if !x.sent {
		errno, err := unix.GetsockoptInt(x.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && errno != 0 {
			err = unix.Errno(errno)
		}
		if err == nil {
			wire.Header{Kind: wire.KindConnect, Run: a.c.Run, Seq: x.seq & wire.Mask40, Sent: a.mark(x)}.Put(a.request)
			_, e := sock.HotSend(x.fd, a.request, unix.MSG_DONTWAIT)
			if e == unix.EAGAIN { // not connected yet
				return nil
			}
			if e != 0 {
				err = e
			}
		}
		if err != nil {
			return a.end(x, err)
		}
		x.sent = true
	}
	for {
		n, errno := sock.HotRecv(x.fd, a.reply[x.got%len(a.reply):], unix.MSG_DONTWAIT)
		switch {
		case sock.Again(errno):
			return nil
		case errno != 0 && x.answered, errno == 0 && n == 0 && x.answered:
			return a.end(x, nil)
		case errno != 0:
			return a.end(x, errno)
		case n == 0:
			return a.end(x, unix.ECONNRESET)
		}
		if x.got += n; x.got >= len(a.reply) && !x.answered {
			a.replied(x)
		}
	}
}

// mark is 1 for the request at an edge of the window, at which the server reads its gauge.
func (a *connectOutage) mark(x *attempt) (edge uint64) {
	if a.window != nil && x.seq >= a.first && a.edge != 0 {
		edge, a.edge = 1, 0
	}
	return edge
}

func (a *connectOutage) replied(x *attempt) {
	x.answered = true
	t := sock.Now()
	far, ok := wire.ParseArrival(a.reply[wire.HeaderSize:])
	if a.window == nil || !ok {
		return
	}
	a.window.Replied(int(wire.Diff40(x.seq, a.first)), sock.Monotonic(t), 0, far)
	if x.measured && t-x.from >= int64(handshakeTimeout) {
		a.result.Slow++
	}
}

func (a *connectOutage) end(x *attempt, err error) error {
	unix.Close(x.fd)
	x.fd = -1
	if err == nil {
		return nil
	}
	return a.failed(*x, err)
}
