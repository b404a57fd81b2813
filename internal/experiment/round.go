package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A changed path is a link under a trial's conditions.
type changed struct {
	*path
	*link
	condition.Changed
	back  *link // the reverse direction, when the study swaps ends
	trial study.Trial
	at    int        // index of the trial in its round
	event plan.Event // happens in the trial; none without a name
}

// under is underAll for the network's own ends.
func (r *run) under(ctx context.Context, c study.Cell, swap bool, f func(changed) (record.Result, error)) (record.Result, error) {
	rs, err := r.underAll(ctx, []study.Trial{{Cell: c}}, swap, func(cs []changed) ([]record.Result, error) {
		res, err := f(cs[0])
		return []record.Result{res}, err
	})
	if err != nil {
		return record.Result{}, err
	}
	return rs[0], nil
}

// underAll applies the conditions of a cell, calls f for the ends of the trials (exchanged with
// swap), and undoes the conditions. The trials differ only in their pair. f gets the measurable
// ones, at least one, and returns one result each; the other results say why they were skipped. The
// error ends the run.
func (r *run) underAll(ctx context.Context, ts []study.Trial, swap bool, f func([]changed) ([]record.Result, error)) (rs []record.Result, err error) {
	now, p, levels := record.Result{Start: time.Now()}, r.paths[BuildName(ts[0].Cell)], ts[0].Levels
	change, err := condition.Change(p.Driver, p.Topology, condition.Of(levels))
	if errors.Is(err, plan.ErrRebuild) {
		return alike(len(ts), skipped(now, err)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ts[0].Network, err)
	}
	rs = make([]record.Result, len(ts))
	var cs []changed
	for i, t := range ts {
		client, server, err := ends(change.Plan, levels[condition.Ends], t.Pair, p.Topology.Hosts)
		if errors.Is(err, plan.ErrNoEnds) {
			rs[i] = skipped(now, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if swap {
			client, server = server, client
		}
		c := changed{path: p, link: p.link(client, server), Changed: change, trial: t, at: i}
		c.Plan = change.Plan.On(client, server)
		if e, ok := r.Study.Event(levels); ok {
			if c.event, err = network.Happening(p.Topology, change.Plan, e); err != nil {
				return nil, fmt.Errorf("%s: %w", t.Network, err)
			}
			c.event = c.event.In(client.Node, server.Node)
		}
		if r.Study.Swap {
			c.back = p.link(server, client)
		}
		cs = append(cs, c)
	}
	if r.Study.AllPairs {
		defer p.rest()
	}
	if cs, err = still(ctx, cs, rs, func(c changed) error { return c.connect(ctx) }); err != nil {
		return nil, err
	}
	// Undo a condition even when canceled: later trials need the network as built.
	defer func() { err = errors.Join(err, p.site.Apply(context.WithoutCancel(ctx), change.Undo)) }()
	applied := p.site.Apply(ctx, change.Do)
	if applied == nil && p.broken { // what the network waited for when it was built, an event can have undone
		applied = p.site.Apply(ctx, change.Plan.Awaits())
	}
	cs, err = still(ctx, cs, rs, func(c changed) error {
		switch {
		case applied != nil:
			return fmt.Errorf("condition: %w", applied)
		case len(change.Do) > 0 || !c.engines.Alive() || change.Topology.Far || p.broken:
			return c.reach(ctx, p, c.Plan)
		}
		return nil
	})
	if err != nil || cs == nil {
		return rs, err
	}
	p.broken = cs[0].event.Name != ""
	measured, err := f(cs)
	if err != nil {
		return nil, err
	}
	for n, c := range cs {
		rs[c.at] = measured[n]
	}
	return rs, nil
}

// connect checks that the link carries packets in each needed direction.
func (c changed) connect(ctx context.Context) error {
	if err := c.loss.of(c.client, c.server); err != nil {
		return err
	}
	err := c.link.connect(ctx, c.path)
	if err == nil && c.back != nil {
		err = c.back.connect(ctx, c.path)
	}
	return err
}

// still calls do with all of cs concurrently and returns those that succeed. The others get their
// result in rs. The error ends the run.
func still(ctx context.Context, cs []changed, rs []record.Result, do func(changed) error) (left []changed, err error) {
	now := record.Result{Start: time.Now()}
	for i, err := range atOnce(cs, do) {
		switch at := cs[i].at; {
		case err == nil:
			left = append(left, cs[i])
		case errors.Is(err, errApart):
			rs[at] = skipped(now, err)
		default:
			if rs[at], err = failed(now, ctx, err); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

// ends returns the two hosts of pair or, without one, the plan's ends.
func ends(p plan.Plan, labels string, pair study.Pair, hosts []topo.Host) (client, server plan.End, err error) {
	switch {
	case pair == (study.Pair{}):
		return p.Between(labels)
	case max(pair.A, pair.B) > len(hosts):
		return client, server, fmt.Errorf("%w: %s of %d hosts", plan.ErrNoEnds, pair, len(hosts))
	}
	return p.BetweenHosts(labels, hosts[pair.A-1].Name, hosts[pair.B-1].Name)
}

// rest stops the engines of links that have their own: all pairs would need two processes each. The
// results hold their errors.
func (p *path) rest() {
	atOnce(slices.Collect(maps.Values(p.links)), p.release)
}

// atOnce calls f concurrently with every element and returns the errors.
func atOnce[T any](list []T, f func(T) error) []error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, x := range list {
		wg.Go(func() { errs[i] = caught.Error(func() error { return f(x) }) })
	}
	wg.Wait()
	return errs
}

// between names the host pairs of trials when the study chooses them.
func between(ts []study.Trial) string {
	sep, names := ", ", ""
	for _, t := range ts {
		if t.Pair != (study.Pair{}) {
			names += sep + t.Pair.String()
			sep = " "
		}
	}
	return names
}
