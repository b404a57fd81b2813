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
	size    int
	request *http.Request
}

func (w *webRun) prepareH2(n int, trust *tls.Config) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	dialer := net.Dialer{Timeout: w.c.timeout}
	transport := &http.Transport{Protocols: protocols, TLSClientConfig: trust, DisableCompression: true, TLSHandshakeTimeout: w.c.timeout,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", w.c.server.String())
		}}
	client := &http.Client{Transport: transport, Timeout: w.c.timeout}
	for range n {
		r, err := web.Request(w.c.Size)
		if err != nil {
			return err
		}
		w.each = append(w.each, &h2Asker{client, w.c.Size, r})
	}
	return nil
}

func (a *h2Asker) exchange() (exchanged, error) {
	r, err := a.Do(a.request)
	if err != nil {
		return exchanged{}, err
	}
	if r.ProtoMajor != 2 {
		return exchanged{}, fmt.Errorf("response: %s, want HTTP/2", r.Proto)
	}
	return exchanged{}, web.Check(r, a.size)
}

func (a *h2Asker) close() { a.CloseIdleConnections() }
