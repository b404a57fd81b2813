package engine

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/web"
)

// A quicAsker asks over a stream of the connection that all share.
type quicAsker struct {
	*web.QUIC
	next func() int // size of the next answer
}

// prepareQUIC greets the server over UDP, so that it connects its socket to this one, and then leaves both to the library.
func (w *webRun) prepareQUIC(ctx context.Context, t tcpConn, n int) error {
	if err := web.CheckQUIC(); err != nil {
		return err
	}
	c := w.c
	c.CC, c.Secret = "", t.far.Secret // the rest as in the hello over TCP
	u := &udpClient{fd: -1, control: t.fd, run: c.Run, server: c.server, timeout: c.timeout, stop: w.stop, buf: make([]byte, 1<<16)}
	err := u.greet(ctx, c)
	if u.fd >= 0 {
		defer unix.Close(u.fd)
	}
	if err != nil {
		return err
	}
	if _, err := t.reading(w.c, w.stop); err != nil { // see server.prepareQUIC
		return err
	}
	if err := sock.StopErrors(u.fd, c.server.Addr().Is6()); err != nil {
		return err
	}
	conn, err := goUDP(u.fd)
	if err != nil {
		return err
	}
	q, err := web.DialQUIC(ctx, conn, c.server, t.far.Certificate, c.Packet, c.timeout)
	if err != nil {
		return err
	}
	w.result.Congestion, w.result.FarCongestion, w.result.Packet = web.QUICCongestion, web.QUICCongestion, c.Packet
	for i := range n {
		w.each = append(w.each, &quicAsker{q, c.sizesOf(i)})
	}
	return nil
}

func (a *quicAsker) exchange() (x exchanged, err error) {
	x.bytes = a.next()
	return x, a.Exchange(x.bytes)
}

func (a *quicAsker) close() { a.Close() }
