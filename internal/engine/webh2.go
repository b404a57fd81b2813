package engine

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/web"
)

// An h2Asker asks over a stream of the connection that all share.
type h2Asker struct {
	*web.Stream
	next     func() int // size of the next answer
	ask      func(size int) (web.Ask, error)
	requests map[int]web.Ask // by size
}

// prepareH2 connects. A stream that is alone has a thread of its own, which waits in the socket; several are goroutines, which the runtime
// wakes.
func (w *webRun) prepareH2(ctx context.Context, t tcpConn, n int, trust *tls.Config) error {
	k, err := newConnector(w.c, w.stop, t.fd, 1)
	if err != nil {
		return err
	}
	fd, _, err := k.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	conn := net.Conn(&blockingConn{fd, w.stop, w.c.timeout})
	if w.threads = n == 1; !w.threads {
		if conn, err = goConn(fd); err != nil {
			return err
		}
	}
	var h *web.H2
	if err := <-sock.OnThread(func() (err error) { h, err = web.NewH2(conn, trust, w.c.timeout); return err }); err != nil {
		conn.Close()
		return fmt.Errorf("connect: %w", err)
	}
	ask := web.NewGet
	if w.c.Workload == "grpc-rr" {
		ask = web.NewCall
	}
	for i := range n {
		w.each = append(w.each, &h2Asker{h.Stream(), w.c.sizesOf(i), ask, map[int]web.Ask{}})
	}
	return nil
}

func (a *h2Asker) exchange() (x exchanged, err error) {
	x.bytes = a.next()
	if a.requests[x.bytes] == nil {
		if a.requests[x.bytes], err = a.ask(x.bytes); err != nil {
			return x, err
		}
	}
	q := a.requests[x.bytes]
	r, err := a.Do(q.Request())
	if err != nil {
		return x, err
	}
	return x, q.Check(r)
}

func (a *h2Asker) close() { a.Close() }
