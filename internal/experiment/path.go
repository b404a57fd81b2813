package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

// reachTime bounds the wait for a new path's first packet.
const reachTime = 5 * time.Second

type path struct {
	Network               // its topology is the one found, if the target finds one
	want    topo.Topology // what the target was asked for
	name    string
	site    *target.Site
	plan    plan.Plan
	logs    string              // directory for its services; "" without any
	links   map[[2]string]*link // by client and server node
	fleet   *trial.Fleet        // engines that stay for all links of their node, see kept
	pairs   bool                // the study measures all pairs of hosts
	built   bool                // has carried packets
	broken  bool                // by an event, and has carried no packet since
	err     error               // why it cannot be measured now
	loss    *loss               // nodes that cannot be measured now; nil: none
	warn    func(error)         // shown to the user at once
}

// A link is two ends of a path.
type link struct {
	client, server plan.End
	n              int // number among the links to this server's node
	engines        *trial.Engines
	carried        bool          // has carried a packet
	rtt            time.Duration // of the last packet that checked it
	unreachable    error         // why it carries no packets
	cut            bool          // what carries its packets cuts full-size ones
}

// BuildName names the network that a cell needs, with the levels that it is built with.
func BuildName(c study.Cell) string {
	name, at := c.Network, condition.AtBuild(c.Levels)
	for _, f := range slices.Sorted(maps.Keys(at)) {
		name += "-" + f + "=" + at[f]
	}
	return name
}

// open builds the network that a cell needs, unless it exists, and waits until it carries packets.
// Failure skips only its own trials.
func (r *run) open(ctx context.Context, c study.Cell) error {
	name := BuildName(c)
	if r.paths[name] != nil {
		return nil
	}
	n, ok := r.Networks[c.Network]
	if !ok {
		return fmt.Errorf("network %s was not prepared", c.Network)
	}
	r.tell(Event{Text: "build " + name})
	built, err := condition.Change(n.Driver, n.Topology, condition.AtBuild(c.Levels))
	n.Topology = built.Topology
	p := &path{Network: n, want: n.Topology, name: name, plan: built.Plan, err: err, links: map[[2]string]*link{}, fleet: new(trial.Fleet), pairs: r.Study.AllPairs,
		warn: func(err error) { r.tell(Event{Warning: fmt.Sprintf("%s: %v", name, err)}) }}
	r.paths[name] = p
	r.built = append(r.built, p)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err) // the study is wrong, not the machine
	}
	if len(p.plan.Daemons()) > 0 || slices.ContainsFunc(r.Study.Events, func(e plan.Event) bool { return len(e.Commands()) > 0 }) {
		if p.logs, err = r.Dir.Logs(name); err != nil {
			return err
		}
	}
	if p.site, p.err = r.Target.Open(ctx, n.Topology, p.logs); p.err == nil && p.site.Topology.Exists {
		p.Topology = p.site.Topology
		p.plan, p.err = network.Build(n.Driver, p.Topology)
	}
	var steps bytes.Buffer
	_ = p.plan.Encode(&steps) // a buffer never fails
	if err := r.Dir.File("plans/"+name+".jsonl", steps.Bytes()); err != nil {
		return err
	}
	if p.err == nil {
		if err := r.describe(ctx, p.site); err != nil {
			return err
		}
		if err := r.findPrograms(ctx, c.Network, p.site); err != nil {
			return err
		}
		p.err = r.build(ctx, p)
		p.built = p.err == nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (r *run) build(ctx context.Context, p *path) error {
	var tools []facts.ToolInfo
	for _, program := range p.plan.Programs() {
		tools = append(tools, facts.Lookup(program))
	}
	if err := r.find(ctx, p.site, tools); err != nil {
		return err
	}
	if err := p.site.Apply(ctx, p.plan.Steps); err != nil {
		return err
	}
	client, server, err := p.plan.Between("")
	if err != nil {
		return err
	}
	return p.link(client, server).reach(ctx, p, p.plan)
}

func (p *path) alive(ctx context.Context) error { return p.site.Verify(ctx, nil) }

func (p *path) link(client, server plan.End) *link {
	nodes := [2]string{client.Node, server.Node}
	if p.links[nodes] == nil {
		l := &link{client: client, server: server}
		for other := range p.links {
			if other[1] == server.Node {
				l.n++
			}
		}
		p.links[nodes] = l
	}
	return p.links[nodes]
}

// errApart skips trials between ends that exchange no packets.
var errApart = errors.New("the network does not connect these ends")

// connect checks that a new link carries packets in the unmodified network. Ends that the network
// does not need to connect can fail with errApart.
func (l *link) connect(ctx context.Context, p *path) error {
	if l.carried || l.unreachable != nil {
		return l.unreachable
	}
	err := l.start(ctx, p)
	if err != nil {
		return err
	}
	if err = l.reach(ctx, p, p.plan.On(l.client, l.server)); err == nil || ctx.Err() != nil || p.alive(ctx) != nil {
		return err
	}
	l.unreachable = fmt.Errorf("%w, %v and %v: %w", errApart, l.client, l.server, err)
	return errors.Join(l.unreachable, p.release(l))
}

// start starts the engines, also after a trial that one of them did not survive.
func (l *link) start(ctx context.Context, p *path) (err error) {
	switch {
	case l.engines.Alive():
	case p.kept(l):
		l.engines, err = p.fleet.Engines(ctx, p.site, l.client, l.server)
	default:
		// One that ended between two trials is in none's result. The other one holds its port.
		if lone := l.engines.Lone(); l.engines != nil {
			if err := l.stop(); lone && err != nil {
				p.warn(err)
			}
		}
		l.engines, err = trial.StartEngines(ctx, p.site, l.client, l.server, l.n)
	}
	return err
}

// kept reports whether the engines of l stay for other links of their nodes, on machines that are not the run's own. In
// a lab each link has its own engines. So do two ends that share a machine's CPUs, unless the study measures all pairs.
func (p *path) kept(l *link) bool {
	client, server := p.site.Nodes[l.client.Node].Host(), p.site.Nodes[l.server.Node].Host()
	return !p.site.Private && (p.pairs || client.ID != server.ID)
}

// release stops the engines of l unless they stay for other links.
func (p *path) release(l *link) error {
	if p.kept(l) {
		return nil
	}
	return l.stop()
}

// reach checks full-size packets in both directions. pl is the plan in force, with l's path.
func (l *link) reach(ctx context.Context, p *path, pl plan.Plan) error {
	if err := l.start(ctx, p); err != nil {
		return err
	}
	rtt, err := l.engines.Reach(ctx, pl.Path.Reach(), reachTime)
	for until := time.Now().Add(serviceTime); err != nil && (l.new(p) || p.broken && !p.site.Private) && time.Now().Before(until) && p.alive(ctx) == nil; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(serviceTime / 60):
		}
		rtt, err = l.engines.Reach(ctx, pl.Path.Reach(), reachTime)
	}
	if err != nil {
		return errors.Join(err, p.alive(ctx))
	}
	if !l.carried && !p.site.Private {
		if l.cut, err = l.engines.Cuts(ctx, p.site, pl.Path.MTU, reachTime); err != nil {
			return errors.Join(err, p.alive(ctx))
		}
	}
	l.carried, l.rtt = true, rtt
	return nil
}

// serviceTime bounds the wait until the nodes know a Service that the run has made: kube-proxy collects changes
// for a second, and writes them when it has a CPU. A connection that began before never recovers, because
// conntrack remembers it untranslated, so each try is a new one.
const serviceTime = 15 * time.Second

// new reports whether clients call another address, and nothing has come through yet, on machines that exist.
func (l *link) new(p *path) bool {
	return !l.carried && !p.site.Private && (l.server.Call.IsValid() || len(l.server.Ports) > 0)
}

// notes say what is wrong with a path that carries packets.
func (l *link) notes(mtu int) []record.Note {
	if !l.cut {
		return nil
	}
	return []record.Note{record.NoteCut.With(mtu, l.client, l.client.Dev, l.server, l.server.Dev)}
}

func (l *link) stop() error {
	if l.engines == nil {
		return nil
	}
	defer func() { l.engines = nil }()
	return l.engines.Stop()
}

func (p *path) close() error {
	err := p.stop()
	if p.site != nil {
		err = errors.Join(err, p.site.Close())
	}
	return err
}
