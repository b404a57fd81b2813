package lab

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
)

// endpoint asks the stand-in for an API server in p to change an endpoint.
func (l *lab) endpoint(ctx context.Context, p *place, e *plan.Endpoint) error {
	method := http.MethodPut
	if e.Gone {
		method = http.MethodDelete
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/endpoints/%s", plan.APIPort, e.Service)
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	inside := func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		err = p.ns.Do(func() (err error) {
			c, err = (&net.Dialer{}).DialContext(ctx, network, addr) // of an address, it makes the socket on this thread
			return err
		})
		return c, err
	}
	answer, err := (&http.Client{Transport: &http.Transport{DialContext: inside, DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return fmt.Errorf("ask the stand-in for an API server: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return fmt.Errorf("endpoint of %s: %s: %s", e.Service, answer.Status, strings.TrimSpace(string(why)))
	}
	return nil
}
