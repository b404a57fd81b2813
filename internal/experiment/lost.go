package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/trial"
)

// Before a block, a run opens the target of a network with lost machines again: several times when it
// discovers the loss, and once before each later block.
const (
	reopenTries = 3
	reopenPause = 2 * time.Second  // between tries
	reopenTime  = 90 * time.Second // of a try: a new pod can need an image
)

// A loss lists the nodes that a network lacks until its target can be opened again.
type loss struct {
	nodes []string
	err   error // of the last try
}

// of returns an error if the loss concerns an end.
func (l *loss) of(ends ...plan.End) error {
	if l == nil {
		return nil
	}
	for _, e := range ends {
		if slices.Contains(l.nodes, e.Node) || slices.Contains(l.nodes, e.Host) {
			return fmt.Errorf("%s: %w: %w", e.Node, target.ErrLost, l.err)
		}
	}
	return nil
}

// revive opens the target again for every network that has lost a node. The error ends the run: no trial
// of block b can run.
func (r *run) revive(ctx context.Context, b int) error {
	var warnings []string
	for _, p := range r.built {
		if p.site == nil || p.site.Private {
			continue
		}
		nodes := slices.Sorted(maps.Keys(p.site.Nodes))
		answers := atOnce(nodes, func(name string) error { _, err := p.site.Nodes[name].Sample(ctx, sample.OfStat); return err })
		var lost []string
		for i, err := range answers {
			if errors.Is(err, target.ErrLost) {
				lost = append(lost, nodes[i])
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(lost) == 0 {
			p.loss = nil
			continue
		}
		known := p.loss != nil
		if err := r.reopen(ctx, p, lost); err != nil {
			return err
		}
		if p.loss != nil && !known {
			warnings = append(warnings, fmt.Sprintf("%s: %v; trials on %s fail, and weir tries again before each block", p.name, p.loss.err, p.machines(lost)))
		}
	}
	if err := r.stranded(b); err != nil {
		return err
	}
	for _, w := range warnings {
		r.tell(Event{Warning: w})
	}
	return nil
}

// machines names the machines of nodes.
func (p *path) machines(nodes []string) string {
	var names []string
	for _, node := range nodes {
		names = append(names, cmp.Or(p.site.Nodes[node].Host().Name, node))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// reopen replaces the site of a network. The old site stays in use until the new one is open, and if it
// cannot be opened. The error ends the run.
func (r *run) reopen(ctx context.Context, p *path, lost []string) error {
	tries := reopenTries
	if p.loss != nil {
		tries = 1
	} else {
		r.tell(Event{Warning: fmt.Sprintf("%s: the connection to %s was lost; opening it again", p.name, p.machines(lost))})
	}
	var site *target.Site
	var err error
	for try := range tries {
		if try > 0 {
			select {
			case <-time.After(reopenPause):
			case <-ctx.Done():
			}
		}
		if site, err = r.openWithin(ctx, reopenTime, p); err == nil || ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		if err == nil {
			_ = site.Close() // the end of the run matters more
		}
		return context.Cause(ctx)
	}
	if err != nil {
		p.loss = &loss{lost, err}
		return nil
	}
	_ = p.stop() // engines on a lost machine always end with an error
	r.left = errors.Join(r.left, p.site.Close())
	p.site, p.Topology, p.loss, p.links, p.fleet = site, site.Topology, nil, map[[2]string]*link{}, new(trial.Fleet)
	if p.plan, p.err = network.Build(p.Driver, p.Topology); p.err != nil {
		r.tell(Event{Warning: fmt.Sprintf("%s: %v; its trials will be skipped", p.name, p.err)})
		return nil
	}
	r.tell(Event{Text: fmt.Sprintf("%s: open again", p.name)})
	return r.describe(ctx, site)
}

// openWithin opens the target of p in a bounded time.
func (r *run) openWithin(ctx context.Context, d time.Duration, p *path) (*target.Site, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(d, func() { cancel(fmt.Errorf("did not open within %v", d)) })
	defer late.Stop()
	site, err := r.Target.Open(ctx, p.want, p.logs)
	if err != nil {
		cancel(nil) // an open site can need ctx as long as it lives
	}
	return site, err
}

// stranded returns an error if every trial that block b still lacks needs a lost machine. Continuing would
// only record failures, which a resumed run does not repeat.
func (r *run) stranded(b int) error {
	if !slices.ContainsFunc(r.built, func(p *path) bool { return p.loss != nil }) {
		return nil
	}
	var why error
	for _, ts := range r.Study.Schedule(b, r.cells) {
		for _, t := range ts {
			p := r.paths[BuildName(t.Cell)]
			if r.done[t.ID] || p.err != nil {
				continue
			}
			client, server, err := ends(p.plan, t.Levels[condition.Ends], t.Pair, p.Topology.Hosts)
			if err != nil {
				continue // it will be skipped
			}
			lost := p.loss.of(client, server)
			if lost == nil {
				return nil
			}
			why = fmt.Errorf("%s: %w", p.name, lost)
		}
	}
	return why
}
