package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// tcp-crr makes a connection per transaction: connect, one request, one reply, close. The server
// closes first, as HTTP/1.0 servers do, and the client closes when it has read the end, so
// TIME-WAIT is at the server and the client's port is free again at once. The client uses crrPorts
// ports in turn. Without that bound the kernel would use about 28000: the first transactions would
// meet an empty table, later ones a table full of TIME-WAIT sockets, and so would every NAT on the
// path. A SYN that meets its own old connection in TIME-WAIT is accepted because its sequence
// number is higher (RFC 1122, section 4.2.2.13; tcp_timewait_state_process,
// net/ipv4/tcp_minisocks.c). Resetting connections (SO_LINGER 0) would free them too, but the
// packets that end a connection are part of its cost.
const crrPorts = 128

type connector struct {
	c       config
	stop    *sock.Stopper
	from    netip.Addr
	ports   []uint16
	turn    int
	busy    int64
	request []byte
	reply   []byte
	connect *tally.Ledger // one slot: the time to connect
	whole   *tally.Ledger
	edge    uint64       // 1 if the next request makes the server read its gauge
	used    wire.Reading // by this thread in the measured window
}

func runTCPCRR(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	t, err := dialTCP(ctx, c, s) // the server accepts short connections while this one is open
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.fd)
	var r event.CRR
	c.CC = t.cc
	k, err := newConnector(c, s, t.fd, crrPorts)
	if err == nil {
		r, err = onThread(func() (event.CRR, error) { return k.run(ctx, out) })
	}
	var far wire.Reading
	if err == nil {
		if far, err = t.reading(c, s); err == nil {
			err = t.finish()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
	}
	r.Own = own(k.used, far, false)
	r.Congestion, r.FarCongestion, r.SndBuf, r.RcvBuf = t.cc, t.far.CC, t.sndBuf, t.far.RcvBuf
	return r, nil
}

// reading asks what the server's accepting thread used in the window.
func (t *tcpConn) reading(c config, s *sock.Stopper) (r wire.Reading, err error) {
	deadline := sock.Now() + int64(c.timeout)
	if err = sock.WriteFull(t.fd, []byte{'\n'}, deadline, s); err == nil {
		err = sock.ReadJSON(t.fd, &r, deadline, s)
	}
	if err != nil {
		return r, fmt.Errorf("the server's CPU time: %w", err)
	}
	if err = r.Check(); err != nil {
		err = fmt.Errorf("impossible: the server's %w", err)
	}
	return r, err
}

// newConnector finds this many free ports on the address of fd.
func newConnector(c config, s *sock.Stopper, fd, ports int) (*connector, error) {
	k := &connector{c: c, stop: s, whole: new(tally.NewLedger(1, 0)), connect: new(tally.NewLedger(1, 0)), request: make([]byte, c.Size), reply: make([]byte, c.Size)}
	own, err := sock.OwnAddr(fd)
	if err != nil {
		return nil, err
	}
	k.from = own.Addr()
	var fds []int
	defer func() { sock.CloseAll(fds) }()
	for range ports {
		fd, err := unix.Socket(sock.Family(k.from), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("ports: %w", err)
		}
		fds = append(fds, fd)
		if err := unix.Bind(fd, sock.Sockaddr(netip.AddrPortFrom(k.from, 0))); err != nil {
			return nil, fmt.Errorf("ports: bind %v: %w", k.from, err)
		}
		at, err := sock.OwnAddr(fd)
		if err != nil {
			return nil, err
		}
		k.ports = append(k.ports, at.Port())
	}
	return k, nil
}

func (k *connector) run(ctx context.Context, out events) (r event.CRR, err error) {
	gauge := sock.NewGauge(-1)
	defer gauge.Close()
	seq := uint64(0)
	for end := sock.Now() + int64(k.c.Warmup); sock.Now() < end; seq++ {
		if err := k.transact(ctx, seq, false); err != nil {
			return r, err
		}
	}
	out.begin()
	begin, before := sock.Now(), gauge.Read()
	last := begin
	k.edge = 1
	for end := begin + int64(k.c.Duration); last < end; seq++ {
		if err := k.transact(ctx, seq, true); err != nil {
			return r, err
		}
		last = sock.Now()
	}
	k.used = gauge.Read().Since(before)
	out.end()
	k.edge = 1
	if err := k.transact(ctx, seq, false); err != nil {
		return r, err
	}
	a := asker{c: k.c, book: *k.whole}
	if r.RR, err = a.result(last - begin); err != nil {
		return r, err
	}
	r.Stamps = event.NoStamps + "a connection exchanges several packets, of which one pair of stamps tells little"
	r.Ports, r.PortsBusy = len(k.ports), k.busy
	r.ConnectHist, err = event.EncodeHist(k.connect.Hist)
	return r, err
}

// transact makes one transaction. Any error ends the run: TCP loses nothing.
func (k *connector) transact(ctx context.Context, seq uint64, measured bool) error {
	if k.stop.Stopped() {
		return sock.ErrStopped
	}
	fd, start, err := k.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer unix.Close(fd)
	connected := sock.Now()
	if err := k.exchange(fd, seq); err != nil {
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // frees the port
		return err
	}
	x := tally.Slot{Seq: seq, Start: start, Sent: start, Measured: measured, Sample: -1}
	answered := sock.Now()
	if err := cmp.Or(k.connect.Enter(x, connected), k.whole.Enter(x, answered)); err != nil {
		return err
	}
	return k.awaitEnd(fd)
}

// dial connects from the next free port. The clock starts before connect.
func (k *connector) dial(ctx context.Context) (fd int, start int64, err error) {
	for range k.ports {
		port := k.ports[k.turn]
		k.turn = (k.turn + 1) % len(k.ports)
		if fd, err = k.socket(port); err == nil {
			start = sock.Now()
			err = unix.Connect(fd, sock.Sockaddr(k.c.server))
			if errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EINTR) { // SO_SNDTIMEO has passed
				err = sock.WaitConnected(ctx, fd, start+int64(k.c.timeout))
			}
			if err == nil {
				return fd, start, nil
			}
			unix.Close(fd)
		}
		if errors.Is(err, unix.ECONNREFUSED) { // the run has a connection to that server already
			err = fmt.Errorf("%w, although the server was listening: it has ended, or a firewall rejects connections", err)
		}
		// Another program has the port, or its old connection is still closing.
		if !errors.Is(err, unix.EADDRINUSE) && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return -1, 0, err
		}
		k.busy++
	}
	return -1, 0, fmt.Errorf("all %d ports are in use: %w", len(k.ports), err)
}

func (k *connector) socket(port uint16) (fd int, err error) {
	fd, err = unix.Socket(sock.Family(k.from), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = cmp.Or(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), sock.SetTimeouts(fd, sock.Tick))
	if err == nil && k.c.CC != "" {
		err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, k.c.CC)
	}
	if err == nil && k.c.sndBuf > 0 {
		_, err = sock.SetBuffer(fd, unix.SO_SNDBUF, k.c.sndBuf)
	}
	if err == nil {
		err = unix.Bind(fd, sock.Sockaddr(netip.AddrPortFrom(k.from, port)))
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (k *connector) exchange(fd int, seq uint64) error {
	deadline := sock.Now() + int64(k.c.timeout)
	wire.Header{Kind: wire.KindConnect, Run: k.c.Run, Seq: seq & wire.Mask40, Sent: k.edge}.Put(k.request)
	k.edge = 0
	if err := sock.HotWriteFull(fd, k.request, deadline, k.stop); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if err := sock.HotReadFull(fd, k.reply, deadline, k.stop); err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	if h, ok := wire.ParseHeader(k.reply); !ok || h.Kind != wire.KindConnect|wire.KindAnswer || h.Run != k.c.Run || h.Seq != seq&wire.Mask40 {
		return fmt.Errorf("reply: the server answered another request: %+v", h)
	}
	return nil
}

func (k *connector) awaitEnd(fd int) error {
	err := sock.HotReadFull(fd, k.reply[:1], sock.Now()+int64(k.c.timeout), k.stop)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		err = errors.New("bytes after the reply")
	}
	return fmt.Errorf("close: %w", err)
}
