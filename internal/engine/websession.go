package engine

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/web"
)

// A blockingConn is a connected socket for libraries, on a thread that waits in the socket.
type blockingConn struct {
	fd      int
	stop    *sock.Stopper
	timeout time.Duration // of each call
}

func (c *blockingConn) Read(b []byte) (int, error) {
	deadline := sock.Now() + int64(c.timeout)
	for len(b) > 0 {
		n, errno := sock.HotRecv(c.fd, b, 0)
		switch {
		case sock.Again(errno):
			if err := sock.MayWait(deadline, c.stop); err != nil {
				return 0, err
			}
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
	return 0, nil
}

func (c *blockingConn) Write(b []byte) (int, error) {
	if err := sock.HotWriteFull(c.fd, b, sock.Now()+int64(c.timeout), c.stop); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *blockingConn) Close() error                     { return unix.Close(c.fd) }
func (c *blockingConn) LocalAddr() net.Addr              { return nil }
func (c *blockingConn) RemoteAddr() net.Addr             { return nil }
func (c *blockingConn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *blockingConn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *blockingConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// prepare makes the run's exchangers.
func (w *webRun) prepare(ctx context.Context, t tcpConn) error {
	n := max(w.c.Inflight, 1)
	sock.RoomFor(n)
	if w.c.Workload == "quic-rr" {
		return w.prepareQUIC(ctx, t, n)
	}
	if w.c.Workload == "h2-rr" || w.c.Workload == "grpc-rr" {
		trust, err := web.Trust(t.far.Certificate, false, "h2")
		if err != nil {
			return err
		}
		return w.prepareH2(ctx, t, n, trust)
	}
	w.threads = true
	ports := 1
	if w.c.Workload == "http-connect" || w.c.Workload == "dns-lookup" {
		ports = crrPorts
	}
	for range n {
		k, err := newConnector(w.c, w.stop, t.fd, ports)
		if err != nil {
			return err
		}
		if strings.HasPrefix(w.c.Workload, "dns-") {
			x, err := newDNSAsker(ctx, k)
			if err != nil {
				return err
			}
			w.each = append(w.each, x)
			w.c.Size, w.datagrams = len(x.queries[0]), !w.c.overTCP
			continue
		}
		x := &webAsker{ctx: ctx, connector: k, fresh: w.c.Workload == "http-connect", next: w.c.sizesOf(len(w.each))}
		if w.c.tls {
			if x.trust, err = web.Trust(t.far.Certificate, w.c.resume); err != nil {
				return err
			}
		}
		w.each = append(w.each, x)
	}
	return nil
}

// A webAsker asks over HTTP/1.1, and over TLS unless trust is nil.
type webAsker struct {
	*connector
	ctx   context.Context
	trust *tls.Config
	fresh bool       // a connection for each exchange
	next  func() int // size of the next answer
	conn  *blockingConn
	http  *web.HTTP // nil: no connection
	once  bool      // there was one
}

func (a *webAsker) exchange() (x exchanged, err error) {
	if a.http == nil {
		if x, err = a.open(); err != nil {
			return x, fmt.Errorf("connect: %w", err)
		}
		x.renewed = a.once && !a.fresh
		a.once = true
	}
	x.bytes = a.next()
	over, err := a.http.Exchange(x.bytes)
	if err != nil || !over {
		return x, err
	}
	if a.fresh {
		err = a.awaitEnd()
	}
	a.close()
	return x, err
}

func (a *webAsker) open() (x exchanged, err error) {
	fd, start, err := a.dial(a.ctx)
	if err != nil {
		return x, err
	}
	a.conn = &blockingConn{fd, a.stop, a.c.timeout}
	connected, conn := sock.Now(), net.Conn(a.conn)
	x.connect = connected - start
	if a.trust != nil {
		c := tls.Client(a.conn, a.trust)
		if err := c.Handshake(); err != nil {
			a.conn.Close()
			return x, fmt.Errorf("TLS: %w", err)
		}
		x.handshake, x.resumed = sock.Now()-connected, c.ConnectionState().DidResume
		conn = c
	}
	a.http = web.NewHTTP(conn, a.fresh)
	return x, nil
}

// awaitEnd waits until the server has closed the connection, which it does first (see crrPorts): that of TLS, then that of TCP.
func (a *webAsker) awaitEnd() error {
	if err := a.http.AwaitEnd(); err != nil {
		return err
	}
	var b [1]byte
	if _, err := a.conn.Read(b[:]); !errors.Is(err, io.EOF) {
		return fmt.Errorf("end: %w", cmp.Or(err, errors.New("bytes after the end of TLS")))
	}
	return nil
}

func (a *webAsker) close() {
	if a.http != nil {
		a.conn.Close()
	}
	a.http = nil
}
