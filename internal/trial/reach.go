package trial

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// Reach returns when a packet of size bytes, IP header included, has gone from
// client to server and one of the same size has come back, unfragmented. What
// has not carried such a packet is not measured.
func Reach(ctx context.Context, site *target.Site, client, server plan.End, size int, timeout time.Duration) error {
	var srv, cli program
	addr := netip.AddrPortFrom(server.Addr, port).String()
	srv.start(ctx, site.Nodes[server.Node], []string{"weir", "engine", "serve", addr})
	defer srv.stop()
	if err := srv.ready(ctx); err != nil {
		return fmt.Errorf("%s: %w", server.Node, err)
	}
	cli.start(ctx, site.Nodes[client.Node], []string{"weir", "engine", "reach", addr,
		"--size", strconv.Itoa(size), "--timeout", timeout.String()})
	return cli.wait()
}
