package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// Engines are the native engine at both ends of a path. They stay from one trial to
// the next, so that a trial takes little more time than its window: many short
// trials then fit where a few long ones would, and neighbors in time form pairs.
type Engines struct {
	client, server program
	orders         io.WriteCloser
	addr           netip.AddrPort
	marked         atomic.Pointer[target.Reading] // of the client's host, at the mark that is being passed on
}

// StartEngines starts both and returns when the server listens. The caller stops
// them. n tells engines apart: two that run at the same time with one server node
// have different n.
func StartEngines(ctx context.Context, site *target.Site, client, server plan.End, n int) (*Engines, error) {
	e := &Engines{addr: netip.AddrPortFrom(server.Addr, uint16(enginePort+n))}
	cli, srv := site.Nodes[client.Node], site.Nodes[server.Node]
	e.client.cpus, e.server.cpus = apart(cli, srv)
	e.client.mark = &target.Mark{Lines: []string{event.MarkBegin, event.MarkEnd}, Sources: costSources,
		Take: func(r target.Reading) { e.marked.Store(&r) }}
	e.client.env, e.server.env = admitted(site), admitted(site)
	e.orders = e.client.pipe()
	e.server.start(ctx, srv, serving(site, []string{"weir", "engine", "serve", e.addr.String(), "--open", "--json"}))
	e.client.start(ctx, cli, []string{"weir", "engine", "agent"})
	if err := e.server.await(ctx, fmt.Sprintf("listen on port %d", e.addr.Port()), e.server.saysReady); err != nil {
		return nil, errors.Join(wrap("engine on "+server.Node, err), e.Stop())
	}
	return e, nil
}

// Stop ends both.
func (e *Engines) Stop() error {
	e.orders.Close()
	return errors.Join(e.client.stop(), e.server.stop())
}

// Alive reports whether both run. None are not alive.
func (e *Engines) Alive() bool { return e != nil && e.client.alive() && e.server.alive() }

// tokenVariable is where the engine looks for a token (package engine). The
// environment keeps it out of the list of processes.
const tokenVariable = "WEIR_TOKEN"

// admitted is what engines need in their environment to talk to each other on site.
func admitted(site *target.Site) []string {
	if site.Token == "" {
		return nil
	}
	return []string{tokenVariable + "=" + site.Token}
}

// serving is the command line of a server as site wants it: open, or with a token.
func serving(site *target.Site, argv []string) []string {
	if site.Token == "" {
		return argv
	}
	return slices.DeleteFunc(slices.Clone(argv), func(word string) bool { return word == "--open" })
}

// isOrder reports whether argv is a command of the engine, which a running engine
// can take as an order.
func isOrder(argv []string) bool { return len(argv) > 1 && argv[0] == "weir" && argv[1] == "engine" }

// order gives the client argv, a command of `weir engine`, and returns when it has
// answered. It calls on for every event line before the answer. It returns an error
// that the engine reports; when ctx ends first, it stops both.
func (e *Engines) order(ctx context.Context, argv []string, on func(line string)) error {
	line, err := json.Marshal(argv[2:])
	if err != nil {
		return err
	}
	answered := make(chan bool, 1)
	e.client.stderr.forget(nil)
	e.client.stdout.forget(func(line string) {
		switch {
		case strings.HasPrefix(line, event.MarkResult):
			answered <- true
		case strings.HasPrefix(line, event.MarkError):
			answered <- false
		case on != nil:
			on(line)
		}
	})
	if _, err := e.orders.Write(append(line, '\n')); err != nil {
		return errors.Join(fmt.Errorf("the engine takes no orders: %w", err), e.Stop())
	}
	select {
	case ok := <-answered:
		if ok {
			return nil
		}
		return e.said()
	case <-e.client.done:
		return errors.Join(errors.New("the engine ended"), e.Stop())
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), e.Stop())
	}
}

// said is the error that the engine reported last.
func (e *Engines) said() error {
	lines := strings.Split(strings.TrimSpace(string(e.client.stdout.Bytes())), "\n")
	var failed event.Error
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &failed); err != nil || failed.Error == "" {
		return fmt.Errorf("the engine failed: %.500s", lines[len(lines)-1])
	}
	return errors.New(failed.Error)
}

// maxPacket is the size of the largest IPv4 packet; the MTU of the loopback device is
// larger.
const maxPacket = 65535

// Reach returns when a packet of size bytes, IP header included, has gone from client
// to server and one of the same size has come back, unfragmented. A path is measured
// only after it has carried such a packet.
func (e *Engines) Reach(ctx context.Context, size int, timeout time.Duration) error {
	return e.order(ctx, []string{"weir", "engine", "reach", e.addr.String(),
		"--size", strconv.Itoa(min(size, maxPacket)), "--timeout", timeout.String()}, nil)
}

// execute runs a native probe once and reads the counters around its window.
func (e *Engines) execute(ctx context.Context, s *Setup, client []string, x *execution) {
	x.client.argv, x.server.argv = client, e.server.argv
	x.client.cpus, x.server.cpus = e.client.cpus, e.server.cpus
	e.marked.Store(nil)
	err := e.order(ctx, client, func(line string) {
		at := map[string]*reading{event.MarkBegin: &x.readings.Begin, event.MarkEnd: &x.readings.End}[line]
		if at != nil {
			s.ask()
			*at = s.readCost(ctx, e.marked.Swap(nil)) // a reading is of one mark
		}
	})
	_, _ = x.client.stdout.Write(e.client.stdout.Bytes()) // an output takes everything
	_, _ = x.client.stderr.Write(e.client.stderr.Bytes())
	x.err = wrap("engine", err)
}
