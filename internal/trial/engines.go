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
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// Engines are the native engine at both ends of a path. They persist between trials, so a trial
// takes little longer than its window: many short trials fit in the time of a few long ones, and
// neighbors in time form pairs.
type Engines struct {
	client, server program
	orders         io.WriteCloser
	from, to       plan.End
	ports          target.Ports   // of the site
	port           uint16         // where the server listens
	dial           netip.AddrPort // what the client calls
	marks          bool           // the server prints them, too: it runs on a machine of its own
	clientEdges    edges          // of the current order
	serverEdges    edges
}

// StartEngines starts both engines and returns when the server listens. The caller stops them. n
// distinguishes concurrent engines with the same server node.
func StartEngines(ctx context.Context, site *target.Site, client, server plan.End, n int) (*Engines, error) {
	e := &Engines{from: client, to: server, ports: site.Ports}
	cli, srv := site.Nodes[client.Node], site.Nodes[server.Node]
	e.client.cpus, e.server.cpus = apart(cli, srv)
	e.client.mark = e.clientEdges.mark(costSources)
	if e.marks = site.Token != "" && !site.Private && cli.Host().ID != srv.Host().ID; e.marks {
		e.client.mark, e.server.mark = e.clientEdges.mark(markSources), e.serverEdges.mark(markSources)
		e.server.stdout.on = func(line string) { e.serverEdges.line(line) }
	}
	e.client.env, e.server.env = admitted(site), admitted(site)
	e.orders = e.client.pipe()
	e.client.start(ctx, cli, []string{"weir", "engine", "agent"})
	var err error
	e.port, err = e.server.listen(ctx, site, srv, enginePort+n, func(port uint16) []string {
		argv := serving(site, []string{"weir", "engine", "serve", server.Listen(port).String(), "--open", "--json"})
		if e.marks {
			argv = append(argv, "--marks")
		}
		return argv
	}, func(uint16) bool { return e.server.saysReady() })
	if err != nil {
		return nil, errors.Join(wrap("engine on "+server.Node, err), e.Stop())
	}
	e.dial = server.Dial(e.port)
	return e, nil
}

// Stop stops both engines.
func (e *Engines) Stop() error {
	e.orders.Close()
	return errors.Join(e.client.stop(), e.server.stop())
}

// Alive reports whether both run; false for nil.
func (e *Engines) Alive() bool { return e != nil && e.client.alive() && e.server.alive() }

// tokenVariable holds the engine's token (package engine), out of the list of processes.
const tokenVariable = "WEIR_TOKEN"

// admitted returns the environment that engines on site need to talk to each other. Without a token
// it hides the user's own.
func admitted(site *target.Site) []string { return []string{tokenVariable + "=" + site.Token} }

// serving returns a server's command line for site: open, or with a token and no end of its own.
func serving(site *target.Site, argv []string) []string {
	if site.Token == "" {
		return argv
	}
	argv = slices.DeleteFunc(slices.Clone(argv), func(word string) bool { return word == "--open" })
	return append(argv, "--idle", "0")
}

// isOrder reports whether argv is an engine command, which a running engine accepts as an order.
func isOrder(argv []string) bool { return len(argv) > 1 && argv[0] == "weir" && argv[1] == "engine" }

// order sends the client argv, a command of `weir engine`, and returns when it has answered. It
// calls on for every event line before the answer. It returns the engine's error; when ctx ends
// first, it stops both engines.
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
		return errors.Join(fmt.Errorf("send an order to the engine: %w", err), e.Stop())
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

// said returns the engine's last error.
func (e *Engines) said() error {
	lines := strings.Split(strings.TrimSpace(string(e.client.stdout.Bytes())), "\n")
	var failed refusal
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &failed.said); err != nil || failed.said.Error == "" {
		return fmt.Errorf("the engine failed: %.500s", lines[len(lines)-1])
	}
	return failed
}

// A refusal is the engine's error.
type refusal struct{ said event.Error }

func (r refusal) Error() string { return r.said.Error }

// maxPacket is the maximum IPv4 packet size; the loopback MTU is larger.
const maxPacket = 65535

// Reach returns when a packet of size bytes, IP header included, has gone from client to server and
// one of the same size has come back, unfragmented. Every path must carry such a packet before it
// is measured. It returns the time between the two. An error says what the path carries, as far as
// that is known, and the remedy.
func (e *Engines) Reach(ctx context.Context, size int, timeout time.Duration) (rtt time.Duration, err error) {
	size = min(size, maxPacket)
	err = e.order(ctx, []string{"weir", "engine", "reach", e.dial.String(),
		"--size", strconv.Itoa(size), "--timeout", timeout.String()}, nil)
	if err != nil {
		return 0, e.blocked(err, size)
	}
	var r event.Reach
	lines := strings.Split(strings.TrimSpace(string(e.client.stdout.Bytes())), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		return 0, fmt.Errorf("answer of the engine: %w", err)
	}
	return time.Duration(r.RTT * float64(time.Second)), nil
}

// execute runs a native probe and reads the counters around its window.
func (e *Engines) execute(ctx context.Context, s *Setup, client []string, x *execution) {
	x.client.argv, x.server.argv = client, e.server.argv
	x.client.cpus, x.server.cpus = e.client.cpus, e.server.cpus
	e.clientEdges.reset()
	e.serverEdges.reset()
	err := e.order(ctx, client, func(line string) {
		at := map[string]*reading{event.MarkBegin: &x.readings.Begin, event.MarkEnd: &x.readings.End}[line]
		if at != nil {
			s.ask()
			*at = s.readCost(ctx, e.clientEdges.line(line))
			x.watch.edge(ctx, *at)
		}
	})
	_, _ = x.client.stdout.Write(e.client.stdout.Bytes()) // writes to an output never fail
	_, _ = x.client.stderr.Write(e.client.stderr.Bytes())
	x.err = wrap("engine", err)
	if server, _ := s.commands(e.port, 0, nil); len(server) > 0 { // else it serves nothing, and has no marks
		e.remark(context.WithoutCancel(ctx), s, x)
	}
}
