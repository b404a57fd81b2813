package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// A Background is traffic or CPU load that runs during a trial and is part of its conditions: a
// program that reports its counts when asked, at the beginning and end of the window. It serves one
// trial; its starter stops it.
type Background struct {
	name      string // in messages and in Observed
	counter   program
	driver    program // a load's client, whose server counts; otherwise unused
	questions io.WriteCloser
	asked     int
	values    func(from, to count) []record.Value
	client    bool // an extra client, which can be delivered nothing
}

// A count is the engine's answer to a question.
type count struct{ event.Count }

func (c count) since(from count) (seconds float64) { return time.Duration(c.At - from.At).Seconds() }

const (
	// settle is the minimum time for a load to reach its rate.
	settle = 100 * time.Millisecond
	// endless is the engine's maximum, longer than any trial.
	endless = time.Hour
)

// StartStress starts CPU load on all CPUs of each host with an end. window is the trial's; a split
// stress divides it. If one fails to start, none runs.
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
		cpus, taking := node.CPUs(), record.StressTaken.Whole()
		if i > 0 {
			taking = record.StressTaken.At("server")
		}
		err := fmt.Errorf("stress of %s: the CPUs of %s are unknown, so their share is, too", share, node.Name())
		if len(cpus) > 0 {
			b := &Background{name: "stress of " + share, values: func(from, to count) []record.Value {
				taken := time.Duration(to.CPU-from.CPU).Seconds() / to.since(from) / float64(len(cpus))
				return []record.Value{taking.Value("1", taken)}
			}}
			b.counter.cpus = cpus
			all, err = append(all, b), b.start(ctx, node, argv)
		}
		if err != nil {
			for _, b := range all {
				_ = b.Stop() // the failed start matters more
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
	Rate  float64     // paced rate in that unit; 0: flat out
	// Capacity is what the path carries in that unit; Rate is a share of it. 0: flat out.
	Capacity float64
	MTU      int // of the path, bytes
	Warmup   time.Duration
}

// StartLoad starts l between the two ends and returns in its steady state.
func StartLoad(ctx context.Context, site *target.Site, client, server plan.End, l Load) (*Background, error) {
	c := &Background{name: "load " + l.Name, values: func(from, to count) []record.Value {
		vs := []record.Value{to.delivered(from, record.LoadDelivered, l.Probe)}
		if l.Rate > 0 {
			vs = append(vs, record.Value{Name: record.LoadAsked, Unit: vs[0].Unit, Value: l.Rate},
				record.Value{Name: record.LoadCapacity, Unit: vs[0].Unit, Value: l.Capacity})
		}
		return vs
	}}
	return c, c.startTraffic(ctx, site, client, server, loadPort, l)
}

// delivered is a p server's delivery rate since an earlier count.
func (c count) delivered(from count, name record.Quantity, p probe.Probe) record.Value {
	unit := p.Info().DeliveryUnit
	work := float64(c.Messages - from.Messages)
	if unit == "bit/s" {
		work = 8 * float64(c.Bytes-from.Bytes)
	}
	return record.Value{Name: name, Unit: unit, Value: work / c.since(from)}
}

// startTraffic starts l with the server on its usual port, or another one, and returns in its steady
// state.
func (c *Background) startTraffic(ctx context.Context, site *target.Site, client, server plan.End, usual int, l Load) error {
	cli, srv := site.Nodes[client.Node], site.Nodes[server.Node]
	c.driver.cpus, c.counter.cpus = splitCPUs(cli, srv)
	c.driver.env, c.counter.env = admitted(site), admitted(site)
	var send []string
	_, err := c.counter.listen(ctx, site, srv, usual, func(port uint16) (serve []string) {
		c.questions = c.counter.pipe()
		serve, send = l.Probe.Commands(probe.Window{Server: server.Listen(port), Call: server.Dial(port), Found: !site.Private,
			MTU: l.MTU, Warmup: max(l.Warmup, settle), Duration: endless})
		return append(serving(site, serve), "--count") // it answers questions
	}, func(uint16) bool { return c.counter.saysReady() })
	if err == nil {
		c.driver.start(ctx, cli, append(send, "--json")) // it prints events
		err = c.driver.await(ctx, "get under way", func() bool { return c.driver.stdout.said(event.MarkBegin) })
	}
	return c.started(err)
}

// start starts a counter without a driver.
func (c *Background) start(ctx context.Context, node target.Node, counter []string) error {
	c.questions = c.counter.pipe()
	c.counter.start(ctx, node, counter)
	return c.started(c.counter.await(ctx, "get ready", c.counter.saysReady))
}

// started stops the programs unless all of them started.
func (c *Background) started(err error) error {
	if err != nil {
		_ = c.Stop() // the failed start matters more
	}
	return wrap(c.name, err)
}

// Stop stops the programs. The trial has already checked how they ran.
func (c *Background) Stop() error {
	err := c.driver.stop()
	if c.questions != nil {
		c.questions.Close()
	}
	return errors.Join(err, c.counter.stop())
}

// ask requests the background's counts; collect reads the answers.
func (s *Setup) ask() {
	for _, c := range s.Background {
		c.asked++
		_, _ = c.questions.Write([]byte("\n")) // a program that has ended does not answer
	}
}

// collect returns the background's values for the trial's window, the delivery of each other
// client, and an error if the background did not run as required.
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
		return nil, errors.New("the window of the trial is unknown, so the background's counts in it are, too")
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

// background names the background, "" for none.
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
