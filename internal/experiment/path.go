package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/trial"
)

// reachTime bounds how long a new path can take to carry its first packet.
const reachTime = 5 * time.Second

// A path is a network that is up, or the reason why it is not.
type path struct {
	Network // its topology is the one found, where a target finds one
	site    *target.Site
	plan    plan.Plan
	links   map[[2]string]*link // by the nodes of client and server
	err     error
}

// A link is two ends of a path that trials have asked for.
type link struct {
	client, server plan.End
	n              int // of the links of the path to this server's node, in their order
	engines        *trial.Engines
	carried        bool  // a packet, once
	apart          error // why it carries none
}

// open builds one network and waits until it carries packets. A network that cannot be
// built does not stop the others: its trials are skipped.
func (r *run) open(ctx context.Context, name string) error {
	n, ok := r.Networks[name]
	if !ok {
		return fmt.Errorf("network %s was not prepared", name)
	}
	r.tell(Event{Text: "build " + name})
	p := &path{Network: n, links: map[[2]string]*link{}}
	r.paths[name] = p
	var err error
	if p.plan, err = network.Build(n.Driver, n.Topology); err != nil {
		p.err = err
		return fmt.Errorf("%s: %w", name, err) // the study is wrong, not the machine
	}
	logs := ""
	if len(p.plan.Daemons()) > 0 {
		if logs, err = r.Dir.Logs(name); err != nil {
			return err
		}
	}
	if p.site, p.err = r.Target.Open(ctx, n.Topology, logs); p.err == nil && p.site.Topology.Exists {
		p.Topology = p.site.Topology
		p.plan, p.err = network.Build(n.Driver, p.Topology)
	}
	var steps bytes.Buffer
	_ = p.plan.Encode(&steps) // a buffer takes everything
	if err := r.Dir.File("plans/"+name+".jsonl", steps.Bytes()); err != nil {
		return err
	}
	if p.err == nil {
		if err := r.findPrograms(ctx, name, p.site); err != nil {
			return err
		}
		p.err = r.build(ctx, p)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// build returns why the site cannot have the network.
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

// alive returns an error when a service of the network has ended.
func (p *path) alive(ctx context.Context) error { return p.site.Verify(ctx, nil) }

// link returns the link between two ends, a new one the first time.
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

// errApart is why trials between ends that exchange no packets are skipped.
var errApart = errors.New("the network does not connect these ends")

// connect finds out whether a new link carries packets, in the network as it was built.
// A link between ends that the network is not meant for need not: errApart.
func (l *link) connect(ctx context.Context, p *path) error {
	if l.carried || l.apart != nil {
		return l.apart
	}
	err := l.start(ctx, p)
	if err != nil {
		return err
	}
	if err = l.reach(ctx, p, p.plan.On(l.client, l.server)); err == nil || ctx.Err() != nil || p.alive(ctx) != nil {
		return err
	}
	l.apart = fmt.Errorf("%w, %v and %v: %w", errApart, l.client, l.server, err)
	return errors.Join(l.apart, l.stop())
}

// start starts the engines when they do not run: the first time, and after a trial that
// one of them did not survive.
func (l *link) start(ctx context.Context, p *path) (err error) {
	if !l.engines.Alive() {
		l.engines, err = trial.StartEngines(ctx, p.site, l.client, l.server, l.n)
	}
	return err
}

// reach proves that full-size packets cross the link in both directions. pl is the plan
// in force, with the link's path.
func (l *link) reach(ctx context.Context, p *path, pl plan.Plan) error {
	if err := l.start(ctx, p); err != nil {
		return err
	}
	if err := l.engines.Reach(ctx, pl.Path.MTU, reachTime); err != nil {
		return errors.Join(err, p.alive(ctx))
	}
	l.carried = true
	return nil
}

func (l *link) stop() error {
	if l.engines == nil {
		return nil
	}
	defer func() { l.engines = nil }()
	return l.engines.Stop()
}

func (p *path) close() error {
	var errs []error
	for _, l := range p.links {
		// An engine that ended with a service, inside it, need not be reported: the
		// trials of its network have failed.
		if err := l.stop(); err != nil && !errors.Is(p.alive(context.Background()), target.ErrService) {
			errs = append(errs, err)
		}
	}
	if p.site != nil {
		errs = append(errs, p.site.Close())
	}
	return errors.Join(errs...)
}
