package engine

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"github.com/weir-bench/weir/internal/engine/web"
)

// An h2Asker asks over a stream of the connection that all share.
type h2Asker struct {
	*http.Client
	next     func() int            // size of the next answer
	requests map[int]*http.Request // by size
}

func (w *webRun) prepareH2(n int, trust *tls.Config) {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	dialer := net.Dialer{Timeout: w.c.timeout}
	transport := &http.Transport{Protocols: protocols, TLSClientConfig: trust, DisableCompression: true, TLSHandshakeTimeout: w.c.timeout,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", w.c.server.String())
		}}
	client := &http.Client{Transport: transport, Timeout: w.c.timeout}
	for i := range n {
		w.each = append(w.each, &h2Asker{client, w.c.sizesOf(i), map[int]*http.Request{}})
	}
}

func (a *h2Asker) exchange() (x exchanged, err error) {
	x.bytes = a.next()
	if a.requests[x.bytes] == nil {
		if a.requests[x.bytes], err = web.Request(x.bytes); err != nil {
			return x, err
		}
	}
	r, err := a.Do(a.requests[x.bytes])
	if err != nil {
		return x, err
	}
	if r.ProtoMajor != 2 {
		return x, fmt.Errorf("response: %s, want HTTP/2", r.Proto)
	}
	return x, web.Check(r, x.bytes)
}

func (a *h2Asker) close() { a.CloseIdleConnections() }
