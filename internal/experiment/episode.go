package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

// An episode is the part of a run between two builds of its networks. Whatever differs from one
// instance of a network, an engine or a connection to the next is the same throughout an episode, so
// the interval of a run covers it only if the run has several.
type episode struct {
	number  int           // stored with every trial; a resumed run continues the count
	first   int           // its first block; 0 before any
	started time.Time     // of the first block
	rebuild time.Duration // what closing and building all networks costs
}

const (
	// defaultEpisodes gives an estimate of the spread between episodes 7 degrees of freedom. More
	// would cost time and narrow the interval little.
	defaultEpisodes = 8
	// rebuildShare is the largest share of an episode's time that the rebuild after it can cost. It
	// leaves networks that take seconds to build as they are, unless the run is long.
	rebuildShare = 0.05
	// closing is the time to close and build the networks, as a multiple of the time to build them. It
	// is an assumption until the first rebuild.
	closing = 2
)

// over reports whether a new episode begins with block b of a run with this many blocks. want is
// Study.Episodes.
func (e episode) over(b, blocks, want int, now time.Time) bool {
	if e.first == 0 || want == 1 {
		return false
	}
	part := func(b int) int { return (b - 1) * cmp.Or(want, defaultEpisodes) / blocks }
	cheap := float64(e.rebuild) <= rebuildShare*float64(now.Sub(e.started))
	return part(b) > part(e.first) && (want > 1 || cheap)
}

// begin is called before the trials of block b. It rebuilds the networks if a new episode is due. On
// machines that others use, it replaces lost connections and measures the idle use again. The error ends
// the run.
func (r *run) begin(ctx context.Context, b int) error {
	now := time.Now()
	if r.episode.over(b, r.blocks, r.Study.Episodes, now) && !r.exists() {
		if err := r.rebuild(ctx); err != nil {
			return err
		}
		r.episode.rebuild = time.Since(now)
		r.episode.number++
		r.episode.first = 0
	}
	if r.episode.first == 0 {
		r.episode.first, r.episode.started = b, time.Now()
	}
	r.snapshot = new(trial.Snapshot)
	if err := r.revive(ctx, b); err != nil {
		return err
	}
	return r.refreshIdle(ctx)
}

// exists reports whether weir found a network instead of building it.
func (r *run) exists() bool {
	for _, p := range r.paths {
		if p.Topology.Exists {
			return true
		}
	}
	return false
}

// rebuild closes the networks, all before it builds the first one again. A network that cannot be
// built skips its trials until the next rebuild, but one that could not be built in the first place
// is not tried again.
func (r *run) rebuild(ctx context.Context) error {
	r.tell(Event{Text: "rebuild the networks"})
	for _, p := range r.built {
		if !p.built {
			continue
		}
		// An engine that ended has cost its trials, which say so; the next one replaces it.
		if err := p.stop(); err != nil {
			r.tell(Event{Warning: fmt.Sprintf("%s: %v", p.name, err)})
		}
		if p.site != nil {
			r.left = errors.Join(r.left, p.site.Close()) // reported at the end
			p.site = nil
		}
	}
	for _, p := range r.built {
		if !p.built {
			continue
		}
		if p.site, p.err = r.Target.Open(ctx, p.Topology, p.logs); p.err == nil {
			p.err = r.build(ctx, p)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p.err != nil {
			p.err = fmt.Errorf("rebuild for episode %d: %w", r.episode.number+1, p.err)
			r.tell(Event{Warning: fmt.Sprintf("%s: %v; its trials will be skipped", p.name, p.err)})
		}
	}
	return nil
}

// nextEpisode returns the number of the first episode of this process.
func (r *run) nextEpisode() (int, error) {
	results, err := r.Dir.Results()
	last := 0
	for _, res := range results {
		if n, ok := record.Episode.Get(res.Observed); ok {
			last = max(last, n)
		}
	}
	return last + 1, err
}

// stop stops the engines of all links, which start again when they are needed.
func (p *path) stop() error {
	var errs []error
	for _, l := range p.links {
		// The failed trials already report an engine that ended with its service or machine.
		if err := l.stop(); err != nil && !errors.Is(err, target.ErrLost) && !errors.Is(p.alive(context.Background()), target.ErrService) {
			errs = append(errs, err)
		}
		l.carried = false
	}
	return errors.Join(errs...)
}
