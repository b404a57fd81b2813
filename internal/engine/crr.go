package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
)

// tcp-crr makes a connection per transaction: connect, one request, one reply,
// close. The server closes first, as servers of HTTP/1.0 do, and the client
// closes when it has read the end, so TIME-WAIT is at the server and the client's
// port is free again at once. The client uses crrPorts ports in turn. Without that
// bound the kernel would take some 28000 ports, and the first transactions would
// meet an empty table, the later ones one that is full of TIME-WAIT sockets, and
// so would every NAT on the path. A SYN that finds its own old connection in
// TIME-WAIT is accepted, since its sequence number is higher (RFC 1122, section
// 4.2.2.13; tcp_timewait_state_process, net/ipv4/tcp_minisocks.c). Resetting
// connections instead (SO_LINGER 0) would also free them, but the packets that
// end a connection are a part of its cost.
const crrPorts = 128

// A connector makes short connections.
type connector struct {
	c       config
	stop    *stopper
	from    netip.Addr
	ports   []uint16
	turn    int
	busy    int64
	request []byte
	reply   []byte
	connect *ledger // one slot, for the time of connecting
	whole   *ledger
	board   *board // nil when nobody watches
}

func runTCPCRR(ctx context.Context, c config, s *stopper, out events) (any, error) {
	t, err := dialTCP(ctx, c, s) // the server serves short connections as long as this one is open
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.fd)
	var r event.CRR
	out.say("%s to %s (%v): requests: %d bytes, a connection for each; %s\n", c.Workload, c.name, c.server, c.Size, t.describe(c))
	k, err := newConnector(c, s, t.fd)
	if err == nil {
		if out.people != nil {
			k.board = newBoard()
			out.watch(k.board.ask, transactions)
		}
		err = <-onThread(func() error {
			r, err = k.run(ctx, out)
			return err
		})
	}
	if err == nil {
		err = t.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
	}
	r.Congestion, r.FarCongestion, r.SndBuf, r.RcvBuf = t.cc, t.far.CC, t.sndBuf, t.far.RcvBuf
	return r, nil
}

// newConnector finds ports that are free now on the address that fd is bound to.
func newConnector(c config, s *stopper, fd int) (*connector, error) {
	whole, connect := newLedger(1, 0), newLedger(1, 0)
	k := &connector{c: c, stop: s, whole: &whole, connect: &connect, request: make([]byte, c.Size), reply: make([]byte, c.Size)}
	own, err := ownAddr(fd)
	if err != nil {
		return nil, err
	}
	k.from = own.Addr()
	var fds []int
	defer func() { closeAll(fds) }()
	for range crrPorts {
		fd, err := unix.Socket(family(k.from), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("ports: %w", err)
		}
		fds = append(fds, fd)
		if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(k.from, 0))); err != nil {
			return nil, fmt.Errorf("ports: bind %v: %w", k.from, err)
		}
		at, err := ownAddr(fd)
		if err != nil {
			return nil, err
		}
		k.ports = append(k.ports, at.Port())
	}
	return k, nil
}

func (k *connector) run(ctx context.Context, out events) (r event.CRR, err error) {
	seq := uint64(0)
	for end := now() + int64(k.c.Warmup); now() < end; seq++ {
		if err := k.transact(ctx, seq, false); err != nil {
			return r, err
		}
	}
	if err := out.begin(); err != nil {
		return r, err
	}
	begin := now()
	last := begin
	made := func() tally { return tally{At: last - begin, Count: k.whole.answered} }
	for end := begin + int64(k.c.Duration); last < end; seq++ {
		if err := k.transact(ctx, seq, true); err != nil {
			return r, err
		}
		last = now()
		if k.board.wanted() {
			k.board.post(made())
		}
	}
	k.board.close(made())
	if err := out.end(); err != nil {
		return r, err
	}
	a := asker{c: k.c, book: *k.whole}
	if r.RR, err = a.result(last - begin); err != nil {
		return r, err
	}
	r.Stamps = "none: a connection exchanges several packets, of which one pair of stamps tells little"
	r.Ports, r.PortsBusy = len(k.ports), k.busy
	r.ConnectHist, err = event.EncodeHist(k.connect.hist)
	return r, err
}

// transact makes one transaction. Whatever goes wrong ends the run: TCP loses nothing.
func (k *connector) transact(ctx context.Context, seq uint64, measured bool) error {
	if k.stop.stopped() {
		return errStopped
	}
	fd, start, err := k.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	connected := now()
	if err := k.exchange(fd, seq); err != nil {
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // frees the port
		unix.Close(fd)
		return err
	}
	x := slot{seq: seq, start: start, sent: start, measured: measured, sample: -1}
	answered := now()
	err = k.connect.enter(x, connected)
	if err == nil {
		err = k.whole.enter(x, answered)
	}
	if err == nil {
		err = k.awaitEnd(fd)
	}
	unix.Close(fd)
	return err
}

// dial connects from the next port that is free. The clock starts before connect.
func (k *connector) dial(ctx context.Context) (fd int, start int64, err error) {
	for range k.ports {
		port := k.ports[k.turn]
		k.turn = (k.turn + 1) % len(k.ports)
		if fd, err = k.socket(port); err == nil {
			start = now()
			err = unix.Connect(fd, sockaddr(k.c.server))
			if errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EINTR) { // SO_SNDTIMEO is over
				err = waitConnected(ctx, fd, start+int64(k.c.timeout))
			}
			if err == nil {
				return fd, start, nil
			}
			unix.Close(fd)
		}
		// The port is another program's, or its old connection still ends.
		if !errors.Is(err, unix.EADDRINUSE) && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return -1, 0, err
		}
		k.busy++
	}
	return -1, 0, fmt.Errorf("none of %d ports is free: %w", len(k.ports), err)
}

func (k *connector) socket(port uint16) (fd int, err error) {
	fd, err = unix.Socket(family(k.from), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil && k.c.CC != "" {
		err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, k.c.CC)
	}
	if err == nil && k.c.sndBuf > 0 {
		_, err = setBuffer(fd, unix.SO_SNDBUF, k.c.sndBuf)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = setTimeouts(fd, tick)
	}
	if err == nil {
		err = unix.Bind(fd, sockaddr(netip.AddrPortFrom(k.from, port)))
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// exchange sends the request and reads its reply.
func (k *connector) exchange(fd int, seq uint64) error {
	deadline := now() + int64(k.c.timeout)
	header{kind: kindConnect, run: k.c.Run, seq: seq & mask40}.put(k.request)
	if err := writeFull(fd, k.request, deadline, k.stop); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if err := readFull(fd, k.reply, deadline, k.stop); err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	if h, ok := parseHeader(k.reply); !ok || h.kind != kindConnect|kindAnswer || h.run != k.c.Run || h.seq != seq&mask40 {
		return fmt.Errorf("reply: the server answered another request: %+v", h)
	}
	return nil
}

// awaitEnd reads the end of the connection.
func (k *connector) awaitEnd(fd int) error {
	deadline := now() + int64(k.c.timeout)
	for {
		n, errno := recv(fd, k.reply)
		switch {
		case again(errno):
			if err := mayWait(deadline, k.stop); err != nil {
				return fmt.Errorf("close: %w", err)
			}
		case errno != 0:
			return fmt.Errorf("close: %w", errno)
		case n > 0:
			return fmt.Errorf("close: %d bytes after the reply", n)
		default:
			return nil
		}
	}
}
