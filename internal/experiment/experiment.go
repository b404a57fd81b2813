// Package experiment runs a study: it builds all networks, runs the blocks in random order, applies
// conditions before a trial and undoes them afterwards, starts and stops background, and stores
// each result at once.
//
// It must know no network, probe or target by name: its caller provides them.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

// A Network is one network under test.
type Network struct {
	Driver   network.Driver
	Topology topo.Topology
}

// A Config is what a run needs.
type Config struct {
	Study    study.Study
	Networks map[string]Network // by name in the study
	Probe    func(name string, levels map[string]string) (probe.Probe, error)
	// Load returns the probe behind a named load; nil when the study has no loads.
	Load func(name string) (probe.Probe, error)
	// Applies reports whether a factor affects a kind of probe.
	Applies func(kind, factor string) bool
	Target  target.Target // opens a site for each network
	Dir     *store.Dir
	// Others returns the CPU time in seconds of each program outside the run, by PID and name with a
	// space between (sample.Others); nil where nothing can tell.
	Others func() (sample.Counters, error)
	// Profile begins to sample the CPUs of a node's machine, for a study with profiles.
	Profile func(context.Context, target.Node) (trial.Profiler, error)
	// Ratios yields the ratios that a study's precision is for, with their intended confidence; nil: all of the report.
	Ratios func(*analysis.Run) iter.Seq2[stat.Interval, float64]
	// Version of this program is stored with the facts of hosts that weir found.
	Version string
	// Guest is stored with every trial when the machine is a weir virtual machine.
	Guest string
	// Progress receives every event; it must not block.
	Progress func(Event)
}

// An Event reports progress of a run.
type Event struct {
	Text    string         // current activity
	Warning string         // shown to the user at once
	Result  *record.Result // the trial that ended, if any
	Done    int            // trials that need no further run
	Total   int            // 0 while the networks are built
	Left    time.Duration  // estimated from completed trials; 0 when unknown
}

// A run is a study in progress.
type run struct {
	Config
	cells     []study.Cell
	paths     map[string]*path    // by BuildName
	built     []*path             // the same, in the order of building
	found     map[[2]string]found // by host ID and program name
	done      map[string]bool
	idle      trial.Idle
	snapshot  *trial.Snapshot     // of this block
	capacity  map[string]capacity // by capacityKey
	described []description       // hosts that weir found
	started   time.Time
	ran       int             // trials run by this process
	blocks    int             // planned so far
	repeated  map[int]int     // the original of each block that is measured again
	loads     []record.Result // of all trials while blocks are measured again; see analysis.Loads
	others    observer
	episode   episode
	profiling bool  // the current trial is profiled
	left      error // what earlier episodes could not close
}

// Run completes the study. The results are in c.Dir: memory must not grow with the number of trials.
func Run(ctx context.Context, c Config) (err error) {
	r := &run{Config: c, paths: map[string]*path{}, found: map[[2]string]found{},
		cells: c.Study.Cells(c.Applies), done: c.Dir.Done(), blocks: c.Study.Blocks,
		repeated: map[int]int{}}
	defer func() { err = errors.Join(err, r.close()) }()

	if r.episode.number, err = r.nextEpisode(); err != nil {
		return err
	}
	begin := time.Now()
	for _, cell := range r.cells {
		if err := r.open(ctx, cell); err != nil {
			return err
		}
	}
	r.episode.rebuild = closing * time.Since(begin)
	for _, prepare := range []func(context.Context) error{r.measureIdle, r.measureCapacities, r.watchOthers} {
		if err := prepare(ctx); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, r.keepOthers(context.WithoutCancel(ctx))) }()
	r.started = time.Now() // stored results say nothing about how long trials take now
	if err := r.machines(); err != nil {
		return err
	}
	for b := 1; b <= r.blocks; b++ {
		if err := r.block(ctx, b); err != nil {
			return err
		}
		if b == r.blocks && c.Study.Precision > 0 {
			if err := r.plan(b); err != nil {
				return err
			}
		}
	}
	if err = r.again(ctx); err == nil {
		err = r.profile(ctx)
	}
	return err
}

// Finished reports whether d holds a result for every trial of a study.
func Finished(s study.Study, applies func(kind, factor string) bool, d *store.Dir) (bool, error) {
	r := &run{Config: Config{Study: s, Dir: d}, cells: s.Cells(applies), blocks: s.Blocks}
	if s.Precision > 0 {
		last, known, err := r.decided()
		if err != nil || !known || !last.final(last.Blocks) {
			return false, err // the number of blocks is undecided
		}
		r.blocks = last.Blocks
	}
	p, err := r.profiles()
	return len(d.Done()) >= r.trials() && len(p.left) == 0, err
}

// trials returns the number of trials planned so far.
func (r *run) trials() int { return r.blocks * len(r.cells) * r.Study.Pairs() }

// block runs the trials of block b that lack a result.
func (r *run) block(ctx context.Context, b int) error {
	rounds := slices.DeleteFunc(r.Study.Schedule(b, r.cells), func(ts []study.Trial) bool {
		return !slices.ContainsFunc(ts, func(t study.Trial) bool { return !r.done[t.ID] })
	})
	if len(rounds) == 0 {
		return nil
	}
	if err := r.begin(ctx, b); err != nil {
		return err
	}
	r.others.look(ctx, false)
	again := ""
	if of := r.repeated[b]; of > 0 {
		again = fmt.Sprintf(" (repeats block %d)", of)
	}
	for _, ts := range rounds {
		r.tell(Event{Text: fmt.Sprintf("block %d%s: %s over %s%s", b, again, ts[0].Probe, ts[0].Network, between(ts))})
		rs, err := r.round(ctx, ts)
		if err != nil {
			return err
		}
		if err := r.keep(ts, rs); err != nil {
			return err
		}
	}
	return nil
}

// keep records the results of trials that have none.
func (r *run) keep(ts []study.Trial, rs []record.Result) error {
	var fresh []*record.Result
	for i, t := range ts {
		if !r.done[t.ID] {
			r.complete(t, &rs[i])
			fresh = append(fresh, &rs[i])
		}
	}
	if err := r.Dir.Append(fresh...); err != nil {
		return err
	}
	for _, res := range fresh {
		r.done[res.Trial] = true
		if r.loads != nil {
			r.loads = append(r.loads, analysis.Loads(*res))
		}
		r.ran++
		r.tell(Event{Result: res})
	}
	return nil
}

// complete says in a result which trial it is of.
func (r *run) complete(t study.Trial, res *record.Result) {
	res.Format, res.Trial, res.Block = record.Format, t.ID, t.Block
	res.Config = map[string]string{"network": t.Network, "probe": t.Probe}
	maps.Copy(res.Config, t.Levels)
	if r.Study.AllPairs {
		res.Config["pair"] = t.Pair.String()
	}
	if res.Observed == nil { // nothing was measured
		res.Observed = record.Observed{}
	}
	res.Observed.Observe(record.Episode.Is(r.episode.number), record.Guest.Is(r.Guest))
	if of := r.repeated[t.Block]; of > 0 {
		record.Repeats.Put(res.Observed, of)
	}
	res.Reason = strings.ReplaceAll(res.Reason, "\n", "; ") // joined errors
}

// round runs trials of one cell at once. After a kill it repeats trials that already have a result,
// so that the others run under the usual conditions, and drops the new result. The error ends the
// run.
func (r *run) round(ctx context.Context, ts []study.Trial) (rs []record.Result, err error) {
	now, t := record.Result{Start: time.Now()}, ts[0] // trials differ only in their pair
	p := r.paths[BuildName(t.Cell)]
	if p.err != nil {
		return alike(len(ts), skipped(now, p.err)), nil
	}
	pr, err := r.Probe(t.Probe, t.Levels)
	if err != nil {
		return nil, err
	}
	if err := r.find(ctx, p.site, pr.Info().Tools); err != nil {
		return alike(len(ts), skipped(now, err)), nil
	}
	if err := p.alive(ctx); err != nil && !errors.Is(err, target.ErrLost) { // a lost machine fails its own trials
		res, err := failed(now, ctx, err)
		return alike(len(ts), res), err
	}
	swap := r.Study.Swapped(cmp.Or(r.repeated[t.Block], t.Block))
	rs, err = r.underAll(ctx, ts, swap, func(cs []changed) ([]record.Result, error) {
		for _, c := range cs {
			if err := trial.CanMeasure(pr, c.site, c.Plan.On(c.client, c.server).Path, c.server); err != nil {
				return alike(len(cs), skipped(now, err)), nil
			}
		}
		var setups []trial.Setup
		var together *store.Round // keeps the raw bytes of trials that run at once
		if len(ts) > 1 {
			if together, err = r.Dir.Round(ts[0].ID); err != nil {
				return nil, err
			}
		}
		for _, c := range cs {
			background, err := r.start(ctx, t, pr, c)
			defer stop(background)
			if err != nil {
				res, err := failed(now, ctx, err)
				return alike(len(cs), res), err
			}
			s := r.setup(c, c.trial.ID, pr)
			s.Background = background
			if s.Clients, err = condition.Clients(t.Levels); err != nil {
				return nil, err
			}
			switch {
			case r.done[c.trial.ID]:
				s.Raw = func(string, []byte) error { return nil }
				s.Condition = "" // what it stores is dropped: no other trial can refer to its settings
			case together != nil:
				s.Raw = func(name string, b []byte) error { return together.Raw(c.trial.ID, name, b) }
			}
			setups = append(setups, s)
		}
		rs, err := trial.Together(ctx, setups)
		if err == nil && together != nil {
			err = together.Close()
		}
		for i, c := range cs {
			rs[i].Notes = append(rs[i].Notes, c.notes(c.Plan.Path.MTU)...)
			if r.Study.AllPairs {
				rs[i].Observed.Observe(record.Client.Is(c.client.String()), record.Server.Is(c.server.String()))
			}
			if c.Topology.Exists {
				rs[i].Observed.Observe(record.ClientHost.Is(c.client.Host), record.ClientDevice.Is(c.client.Dev),
					record.ServerHost.Is(c.server.Host), record.ServerDevice.Is(c.server.Dev))
			}
		}
		return rs, err
	})
	for i := range rs {
		if r.Study.Swap && rs[i].Observed != nil {
			record.Swapped.Put(rs[i].Observed, swap)
		}
		if of := r.shareOf(t); of != "" && rs[i].Observed != nil {
			record.LoadShare.Put(rs[i].Observed, of)
		}
		r.tools(p.site, pr, &rs[i])
	}
	return rs, err
}

func alike(n int, r record.Result) []record.Result { return slices.Repeat([]record.Result{r}, n) }

func skipped(r record.Result, why error) record.Result {
	r.Status, r.Reason = record.Skipped, why.Error()
	return r
}

// failed returns the result of a trial that measured nothing, unless the run was canceled.
func failed(r record.Result, ctx context.Context, why error) (record.Result, error) {
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	r.Status, r.Reason = record.Failed, why.Error()
	return r, nil
}

func (r *run) tell(e Event) {
	if r.Progress == nil {
		return
	}
	e.Total = r.trials()
	e.Done = len(r.done)
	if r.ran > 0 {
		e.Left = time.Since(r.started) / time.Duration(r.ran) * time.Duration(e.Total-e.Done)
	}
	r.Progress(e)
}

func (r *run) close() error {
	errs := []error{r.left}
	for _, p := range r.paths {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}
