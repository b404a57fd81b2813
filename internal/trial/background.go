package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// A Background is traffic or CPU load that runs during a trial and is part of its
// conditions: a program that counts what it does and reports it when asked, which is
// when the trial's window begins and ends. It serves one trial, and the caller that
// started it stops it.
type Background struct {
	name      string // in messages and in Observed
	counter   program
	driver    program // of a load: its client, whose server counts; otherwise never started
	questions io.WriteCloser
	asked     int
	values    func(from, to count) []record.Value
	client    bool // does what the measured client does: it can be delivered nothing
}

// A count is what the engine prints when asked.
type count struct{ event.Count }

func (c count) since(from count) (seconds float64) { return time.Duration(c.At - from.At).Seconds() }

const (
	// settle is the least time in which a load reaches its rate.
	settle = 100 * time.Millisecond
	// endless is longer than any trial; the engine takes no more.
	endless = time.Hour
)

// StartStress starts what takes CPU time from both ends, on all CPUs of each host that
// has one of them. window is the trial's; a split stress divides it. When one does not
// start, none runs.
func StartStress(ctx context.Context, site *target.Site, client, server plan.End, s condition.Stress, window time.Duration) ([]*Background, error) {
	share := fmt.Sprintf("%g%%", 100*s.Share)
	argv := []string{"weir", "engine", "hog", "--share", share}
	if s.Split {
		argv = append(argv, "--period", window.String())
	}
	nodes := []target.Node{site.Nodes[client.Node]}
	if srv := site.Nodes[server.Node]; srv.Host().ID != nodes[0].Host().ID {
		nodes = append(nodes, srv)
	}
	var all []*Background
	for i, node := range nodes {
		cpus, name := node.CPUs(), "stress.taken"
		if i > 0 {
			name += ".server"
		}
		err := fmt.Errorf("stress of %s: the CPUs of %s are not known, so a share of them is not, either", share, node.Name())
		if len(cpus) > 0 {
			b := &Background{name: "stress of " + share, values: func(from, to count) []record.Value {
				taken := time.Duration(to.CPU-from.CPU).Seconds() / to.since(from) / float64(len(cpus))
				return []record.Value{{Name: name, Unit: "1", Value: taken}}
			}}
			b.counter.cpus = cpus
			all, err = append(all, b), b.start(ctx, node, argv, nil, nil)
		}
		if err != nil {
			for _, b := range all {
				_ = b.Stop() // why one did not start is what matters
			}
			return nil, err
		}
	}
	return all, nil
}

// A Load is background traffic.
type Load struct {
	Name  string
	Probe probe.Probe // already paced, if at all; its Info has a DeliveryUnit
	Rate  float64     // that it was paced to, in that unit; 0: flat out
	// Capacity is how much of it the path carries; Rate is a share of that. 0: flat out.
	Capacity float64
	MTU      int // of the path, bytes
	Warmup   time.Duration
}

// StartLoad starts l between the two ends and returns when it is in steady state.
func StartLoad(ctx context.Context, site *target.Site, client, server plan.End, l Load) (*Background, error) {
	c := &Background{name: "load " + l.Name, values: func(from, to count) []record.Value {
		vs := []record.Value{to.delivered(from, "load.delivered", l.Probe)}
		if l.Rate > 0 {
			vs = append(vs, record.Value{Name: "load.asked", Unit: vs[0].Unit, Value: l.Rate},
				record.Value{Name: "load.capacity", Unit: vs[0].Unit, Value: l.Capacity})
		}
		return vs
	}}
	return c, c.startTraffic(ctx, site, client, server, loadPort, l)
}

// delivered is what a server of p has delivered per second since an earlier count.
func (c count) delivered(from count, name string, p probe.Probe) record.Value {
	unit := p.Info().DeliveryUnit
	work := float64(c.Messages - from.Messages)
	if unit == "bit/s" {
		work = 8 * float64(c.Bytes-from.Bytes)
	}
	return record.Value{Name: name, Unit: unit, Value: work / c.since(from)}
}

// startTraffic starts l between two ends, with the server on port, and returns when it
// is in steady state.
func (c *Background) startTraffic(ctx context.Context, site *target.Site, client, server plan.End, port uint16, l Load) error {
	cli, srv := site.Nodes[client.Node], site.Nodes[server.Node]
	c.driver.cpus, c.counter.cpus = apart(cli, srv)
	serve, send := l.Probe.Commands(probe.Window{Server: netip.AddrPortFrom(server.Addr, port),
		MTU: l.MTU, Warmup: max(l.Warmup, settle), Duration: endless})
	c.driver.env, c.counter.env = admitted(site), admitted(site)
	// They run without an engine agent: --count lets the server be asked, and --json
	// makes the client print events.
	return c.start(ctx, srv, append(serving(site, serve), "--count"), cli, append(send, "--json"))
}

// start starts the counter, then the driver if there is one. When it fails, neither
// runs.
func (c *Background) start(ctx context.Context, node target.Node, counter []string, drivers target.Node, driver []string) error {
	c.questions = c.counter.pipe()
	c.counter.start(ctx, node, counter)
	err := c.counter.await(ctx, "get ready", c.counter.saysReady)
	if err == nil && driver != nil {
		c.driver.start(ctx, drivers, driver)
		err = c.driver.await(ctx, "get under way", func() bool { return c.driver.stdout.said(event.MarkBegin) })
	}
	if err != nil {
		_ = c.Stop() // why it did not start is what matters
		return wrap(c.name, err)
	}
	return nil
}

// Stop ends it. The trial has judged how it did while it was needed.
func (c *Background) Stop() error {
	err := c.driver.stop()
	c.questions.Close()
	return errors.Join(err, c.counter.stop())
}

// ask makes the background report what it has done so far. collect reads the answers.
func (s *Setup) ask() {
	for _, c := range s.Background {
		c.asked++
		_, _ = c.questions.Write([]byte("\n")) // a program that has ended does not answer
	}
}

// collect returns what the background did in the trial's window, what each of the other
// clients was delivered, and why it was not what the trial needed.
func (s *Setup) collect(ctx context.Context) (vs []record.Value, others []float64, err error) {
	for _, c := range s.Background {
		more, e := c.collect(ctx)
		err = errors.Join(err, wrap(c.name, e))
		switch {
		case !c.client:
			vs = append(vs, more...)
		case e == nil:
			others = append(others, more[0].Value)
		}
	}
	return vs, others, err
}

func (c *Background) collect(ctx context.Context) ([]record.Value, error) {
	err := c.counter.await(ctx, "report what it did", func() bool { return len(c.counter.stdout.saying(event.MarkCount)) >= c.asked })
	if err == nil && c.driver.done != nil && !c.driver.alive() {
		if err = c.driver.wait(); err == nil {
			err = errors.New("ended")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: it did not run to the end of the trial", err)
	}
	lines := c.counter.stdout.saying(event.MarkCount)
	if len(lines) != 2 {
		return nil, errors.New("the window of the trial is not known, so what was done in it is not, either")
	}
	var from, to count
	if err := errors.Join(json.Unmarshal([]byte(lines[0]), &from), json.Unmarshal([]byte(lines[1]), &to)); err != nil {
		return nil, err
	}
	if to.At <= from.At {
		return nil, fmt.Errorf("impossible: a window from %d to %d ns", from.At, to.At)
	}
	vs := c.values(from, to)
	if v := vs[0].Value; v < 0 || v == 0 && !c.client {
		return vs, fmt.Errorf("%s is %g %s: it did nothing in the window", vs[0].Name, vs[0].Value, vs[0].Unit)
	}
	return vs, nil
}

// background names what ran beside the trial, "" for nothing.
func (s *Setup) background() string {
	var names []string
	clients := 0
	for _, c := range s.Background {
		if c.client {
			clients++
		} else {
			names = append(names, c.name)
		}
	}
	if clients > 0 {
		names = append(names, fmt.Sprintf("%d of %d clients", clients, s.Clients))
	}
	return strings.Join(names, ", ")
}

// loaded reports whether the path carried other traffic than the probe's.
func (s *Setup) loaded() bool {
	return slices.ContainsFunc(s.Background, func(b *Background) bool { return b.driver.done != nil })
}
