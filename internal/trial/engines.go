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
	client   *asker
	server   *responder
	from, to plan.End
	ports    target.Ports   // of the site
	dial     netip.AddrPort // what the client calls
	marks    bool           // the server prints them, too: it runs on a machine of its own
}

// An asker is the engine of a node that takes orders to call servers.
type asker struct {
	program
	orders io.WriteCloser
	edges  edges // of the current order
}

// A responder is the engine of a node that serves clients.
type responder struct {
	program
	edges edges  // of the current run
	port  uint16 // where it listens
	marks bool   // it prints them
}

// StartEngines starts both engines and returns when the server listens. The caller stops them. n
// distinguishes concurrent engines with the same server node.
func StartEngines(ctx context.Context, site *target.Site, client, server plan.End, n int) (*Engines, error) {
	cli, srv := splitCPUs(site.Nodes[client.Node], site.Nodes[server.Node])
	remote := onTwoMachines(site, client, server)
	a := startAsker(ctx, site, client, cli, remote)
	r, err := startResponder(ctx, site, server, srv, n, remote)
	e := engines(site, client, server, a, r)
	if err != nil {
		_ = e.Stop() // the failed start matters more
		return nil, err
	}
	return e, nil
}

// onTwoMachines reports whether the ends are on two machines with agents of their own, which read their
// counters at the marks of their own engines.
func onTwoMachines(site *target.Site, client, server plan.End) bool {
	return site.Token != "" && !site.Private && site.Nodes[client.Node].Host().ID != site.Nodes[server.Node].Host().ID
}

func engines(site *target.Site, client, server plan.End, a *asker, r *responder) *Engines {
	return &Engines{a, r, client, server, site.Ports, server.Dial(r.port), r.marks && onTwoMachines(site, client, server)}
}

// startAsker starts the engine that takes orders. remote asks for the devices at its marks, too.
func startAsker(ctx context.Context, site *target.Site, at plan.End, cpus []int, remote bool) *asker {
	a := &asker{}
	sources := costSources
	if remote {
		sources = markSources
	}
	a.cpus, a.mark, a.env = cpus, a.edges.mark(sources), admitted(site)
	a.orders = a.pipe()
	a.start(ctx, site.Nodes[at.Node], []string{"weir", "engine", "agent"})
	return a
}

// startResponder starts the engine that serves, on the nth port of the engines, and returns when it
// listens. remote asks for marks.
func startResponder(ctx context.Context, site *target.Site, at plan.End, cpus []int, n int, remote bool) (*responder, error) {
	r := &responder{marks: remote}
	r.cpus, r.env = cpus, admitted(site)
	if remote {
		r.mark = r.edges.mark(markSources)
		r.stdout.on = func(line string) { r.edges.line(line) }
	}
	var err error
	r.port, err = r.listen(ctx, site, site.Nodes[at.Node], enginePort+n, func(port uint16) []string {
		argv := serving(site, []string{"weir", "engine", "serve", at.Listen(port).String(), "--open", "--json"})
		if remote {
			argv = append(argv, "--marks")
		}
		return argv
	}, func(uint16) bool { return r.saysReady() })
	return r, wrap("engine on "+at.Node, err)
}

// Stop stops both engines.
func (e *Engines) Stop() error {
	e.client.orders.Close()
	return errors.Join(e.client.stop(), e.server.stop())
}

// Alive reports whether both run; false for nil.
func (e *Engines) Alive() bool { return e != nil && e.client.alive() && e.server.alive() }

// Lone reports whether one of them has ended and the other one runs on; false for nil.
func (e *Engines) Lone() bool { return e != nil && e.client.alive() != e.server.alive() }

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
	if _, err := e.client.orders.Write(append(line, '\n')); err != nil {
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
	e.client.edges.reset()
	e.server.edges.reset()
	x.profiled.begin(ctx, s)
	err := e.order(ctx, client, func(line string) {
		at := map[string]*reading{event.MarkBegin: &x.readings.Begin, event.MarkEnd: &x.readings.End}[line]
		if at != nil {
			if line == event.MarkBegin {
				x.event = s.happen(ctx)
			}
			s.ask()
			*at = s.readCost(ctx, e.client.edges.line(line))
			x.watch.edge(ctx, *at)
		}
	})
	_, _ = x.client.stdout.Write(e.client.stdout.Bytes()) // writes to an output never fail
	_, _ = x.client.stderr.Write(e.client.stderr.Bytes())
	if err != nil {
		e.server.runs(time.Now().Add(farewell)) // one that died can be why its client failed a moment before
	}
	if !e.server.alive() { // it explains why the client failed, and one that serves datagrams is not missed
		err = errors.Join(wrap("on "+e.to.Node, e.server.wait()), err)
	}
	x.err = err
	if server, _ := s.commands(e.server.port, 0, nil); len(server) > 0 { // else it serves nothing, and has no marks
		e.remark(context.WithoutCancel(ctx), s, x)
	}
	x.profiled.end(x.readings)
}
