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
		a := h2Asker{client, w.c.sizesOf(i), map[int]*http.Request{}}
		if w.c.Workload == "grpc-rr" {
			w.each = append(w.each, &grpcAsker{a, map[int]*web.Call{}})
		} else {
			w.each = append(w.each, &a)
		}
	}
}

func (a *h2Asker) exchange() (x exchanged, err error) {
	x.bytes = a.next()
	if a.requests[x.bytes] == nil {
		if a.requests[x.bytes], err = web.Request(x.bytes); err != nil {
			return x, err
		}
	}
	r, err := a.ask(a.requests[x.bytes])
	if err != nil {
		return x, err
	}
	return x, web.Check(r, x.bytes)
}

func (a *h2Asker) ask(q *http.Request) (*http.Response, error) {
	r, err := a.Do(q)
	if err == nil && r.ProtoMajor != 2 {
		r.Body.Close()
		err = fmt.Errorf("response: %s, want HTTP/2", r.Proto)
	}
	return r, err
}

func (a *h2Asker) close() { a.CloseIdleConnections() }

// A grpcAsker makes calls of gRPC over a stream of that connection.
type grpcAsker struct {
	h2Asker
	calls map[int]*web.Call // by size
}

func (a *grpcAsker) exchange() (x exchanged, err error) {
	x.bytes = a.next()
	c := a.calls[x.bytes]
	if c == nil {
		if c, err = web.NewCall(x.bytes); err != nil {
			return x, err
		}
		a.calls[x.bytes] = c
	}
	r, err := a.ask(c.Request())
	if err != nil {
		return x, err
	}
	return x, c.Check(r)
}
