// Package experiment runs a study: it brings all networks up at once, goes
// through the blocks in their random order, changes conditions before a trial
// and undoes them after it, and keeps every result as soon as there is one.
//
// It knows no network, no probe and no target by name: they are handed to it.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

// A Network is one network under test and the hosts it gets for itself.
type Network struct {
	Driver   network.Driver
	Topology topo.Topology
}

// A Config is what a run needs.
type Config struct {
	Study    study.Study
	Networks map[string]Network // by the study's name for it
	// Probe makes the probe that the study calls name, at these levels.
	Probe func(name string, levels map[string]string) (probe.Probe, error)
	// Applies reports whether a factor means anything to a kind of probe.
	Applies func(kind, factor string) bool
	// Open makes the places of one network, whose services log to a directory.
	Open func(ctx context.Context, places []string, logs string) (*target.Site, error)
	Dir  *store.Dir
	// Guest is recorded with every trial when the machine is a virtual one of weir's.
	Guest string
	// Progress is told what happens; it must not block.
	Progress func(Event)
}

// An Event is one thing that happened.
type Event struct {
	Text    string         // what runs now
	Warning string         // what the user should know before it is too late
	Result  *record.Result // the trial that ended, if one did
	Done    int            // trials that need no running any more
	Total   int            // 0 while the networks are built
	Left    time.Duration  // estimated from the trials so far; 0 when unknown
}

// idleTime is how long the idle machine is watched: /proc/stat counts in 10 ms,
// so that this resolves a hundredth of a core.
const idleTime = time.Second

// reachTime bounds how long a new path may take to carry its first packet.
const reachTime = 5 * time.Second

// A run is a study under way.
type run struct {
	Config
	cells   []study.Cell
	paths   map[string]*path  // by network
	missing map[string]error  // by program: why it cannot be run
	version map[string]string // by program, where it tells one
	results []record.Result
	done    map[string]bool
	idle    trial.Usage
	started time.Time
	ran     int // trials that this process ran
	blocks  int // that the run will have, as far as is known now
}

// A path is a network that is up, or the reason why it is not.
type path struct {
	Network
	site    *target.Site
	plan    plan.Plan
	engines *trial.Engines
	err     error
}

// Run runs what is missing of the study and returns all its results. The error
// says why it ended early; what was measured until then is kept.
func Run(ctx context.Context, c Config) (_ []record.Result, err error) {
	r := &run{Config: c, paths: map[string]*path{}, missing: map[string]error{}, version: map[string]string{},
		cells: c.Study.Cells(c.Applies), results: c.Dir.Results(), done: c.Dir.Done(), blocks: c.Study.Blocks}
	defer func() { err = errors.Join(err, r.close()) }()

	if err := r.findPrograms(ctx); err != nil {
		return r.results, err
	}
	for _, u := range c.Study.Networks {
		if err := r.open(ctx, u.Name); err != nil {
			return r.results, err
		}
	}
	r.tell(Event{Text: "idle machine"})
	if r.idle, err = trial.MeasureIdle(idleTime); err != nil {
		return r.results, err
	}
	r.started = time.Now() // what came before says nothing about how long a trial takes
	for b := 1; b <= r.blocks; b++ {
		if err := r.block(ctx, b); err != nil {
			return r.results, err
		}
		if b == c.Study.Blocks && c.Study.Precision > 0 {
			if err := r.extend(); err != nil {
				return r.results, err
			}
		}
	}
	return r.results, nil
}

// open builds one network and waits until it carries packets. A network that
// cannot be built does not stop the others: its trials are skipped.
func (r *run) open(ctx context.Context, name string) error {
	n, ok := r.Networks[name]
	if !ok {
		return fmt.Errorf("network %s was not prepared", name)
	}
	r.tell(Event{Text: "build " + name})
	p := &path{Network: n}
	r.paths[name] = p
	if p.plan, p.err = network.Build(n.Driver, n.Topology); p.err != nil {
		return fmt.Errorf("%s: %w", name, p.err) // the study is wrong, not the machine
	}
	if err := r.Dir.File("plans/"+name+".jsonl", encode(p.plan)); err != nil {
		return err
	}
	p.err = r.build(ctx, name, p)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// build returns why the network cannot be had on this machine.
func (r *run) build(ctx context.Context, name string, p *path) (err error) {
	logs := ""
	for _, program := range p.plan.Programs() {
		if err := r.find(ctx, program); err != nil {
			return err
		}
	}
	if len(p.plan.Daemons()) > 0 {
		if logs, err = r.Dir.Logs(name); err != nil {
			return err
		}
	}
	if p.site, err = r.Open(ctx, network.Places(p.Topology), logs); err != nil {
		return err
	}
	if err := p.site.Apply(ctx, p.plan.Steps); err != nil {
		return err
	}
	return p.reach(ctx, p.plan)
}

func (p *path) client(pl plan.Plan) plan.End { return pl.Ends[0] }
func (p *path) server(pl plan.Plan) plan.End { return pl.Ends[len(pl.Ends)-1] }

// alive returns an error when a service of the network has ended.
func (p *path) alive(ctx context.Context) error { return p.site.Verify(ctx, nil) }

// reach proves that packets of full size cross the path in both directions. It
// starts the engines when they do not run, the first time and after a trial
// that one of them did not survive.
func (p *path) reach(ctx context.Context, pl plan.Plan) (err error) {
	if !p.engines.Alive() {
		if p.engines, err = trial.StartEngines(ctx, p.site, p.client(pl), p.server(pl)); err != nil {
			return err
		}
	}
	if err := p.engines.Reach(ctx, pl.Path.MTU, reachTime); err != nil {
		return errors.Join(err, p.alive(ctx))
	}
	return nil
}

// block runs the trials of block b that are missing.
func (r *run) block(ctx context.Context, b int) error {
	for _, t := range study.Block(r.Study.Seed, b, r.cells) {
		if r.done[t.ID] {
			continue
		}
		r.tell(Event{Text: fmt.Sprintf("block %d: %s over %s", b, t.Probe, t.Network)})
		res, err := r.trial(ctx, t)
		if err != nil {
			return err
		}
		res.Format, res.Trial, res.Block = record.Format, t.ID, b
		res.Asked = map[string]string{"network": t.Network, "probe": t.Probe}
		maps.Copy(res.Asked, t.Levels)
		if r.Guest != "" {
			if res.Found == nil { // it did not come to measuring
				res.Found = map[string]string{}
			}
			res.Found["guest"] = r.Guest
		}
		res.Reason = strings.ReplaceAll(res.Reason, "\n", "; ") // of joined errors
		if err := r.Dir.Append(&res); err != nil {
			return err
		}
		r.results = append(r.results, res)
		r.done[t.ID] = true
		r.ran++
		r.tell(Event{Result: &res})
	}
	return nil
}

// trial runs one trial. Its error ends the run.
func (r *run) trial(ctx context.Context, t study.Trial) (res record.Result, err error) {
	now := record.Result{Start: time.Now()}
	p := r.paths[t.Network]
	if p.err != nil {
		return skipped(now, p.err), nil
	}
	pr, err := r.Probe(t.Probe, t.Levels)
	if err != nil {
		return res, err
	}
	if err := r.lacks(pr); err != nil {
		return skipped(now, err), nil
	}
	if err := p.alive(ctx); err != nil {
		return failed(now, ctx, err)
	}
	change, err := condition.Change(p.Driver, p.Topology, condition.Of(t.Levels))
	if errors.Is(err, plan.ErrRebuild) {
		return skipped(now, err), nil
	}
	if err != nil {
		return res, fmt.Errorf("%s: %w", t.Network, err)
	}
	// A condition is undone even when the run is being cancelled: what follows in
	// this process must find the network as it was built.
	defer func() { err = errors.Join(err, p.site.Apply(context.WithoutCancel(ctx), change.Undo)) }()
	if err := p.site.Apply(ctx, change.Do); err != nil {
		return failed(now, ctx, fmt.Errorf("condition: %w", err))
	}
	if len(change.Do) > 0 || !p.engines.Alive() {
		if err := p.reach(ctx, change.Plan); err != nil {
			return failed(now, ctx, err)
		}
	}
	res, err = trial.Run(ctx, trial.Setup{
		Probe: pr, Client: p.client(change.Plan), Server: p.server(change.Plan),
		Site: p.site, Engines: p.engines, Plan: change.Plan, LinkRate: change.Topology.Rate,
		Warmup: r.Study.Warmup, Duration: r.Study.Duration, Idle: r.idle,
		Raw: func(name string, b []byte) error { return r.Dir.Raw(t.ID, name, b) },
	})
	if ps := probe.Programs(pr); res.Status == record.OK && res.Found["tool"] == "" && len(ps) > 0 {
		client := ps[len(ps)-1] // its output does not tell its version
		res.Found["tool"] = strings.TrimSpace(client + " " + r.version[client])
	}
	return res, err
}

func skipped(r record.Result, why error) record.Result {
	r.Status, r.Reason = record.Skipped, why.Error()
	return r
}

// failed is a trial that did not come to measuring, unless the run was cancelled.
func failed(r record.Result, ctx context.Context, why error) (record.Result, error) {
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	r.Status, r.Reason = record.Failed, why.Error()
	return r, nil
}

// tell fills in how far the run is.
func (r *run) tell(e Event) {
	if r.Progress == nil {
		return
	}
	e.Total = r.blocks * len(r.cells)
	e.Done = len(r.done)
	if r.ran > 0 {
		e.Left = time.Since(r.started) / time.Duration(r.ran) * time.Duration(e.Total-e.Done)
	}
	r.Progress(e)
}

func (r *run) close() error {
	var errs []error
	for _, p := range r.paths {
		if p.engines != nil {
			err := p.engines.Stop()
			if errors.Is(p.alive(context.Background()), target.ErrService) {
				err = nil // it ended inside a guest that has: the trials have told
			}
			errs = append(errs, err)
		}
		if p.site != nil {
			errs = append(errs, p.site.Close())
		}
	}
	return errors.Join(errs...)
}
