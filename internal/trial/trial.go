// Package trial runs one measurement: it checks the path, starts the server, runs the client
// between two readings of the counters, stores the raw bytes, and only then parses and judges
// anything.
//
// It must know no tool, network or kind of target. It decides whether a trial's numbers are worth
// keeping, not what they mean.
package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A Setup is the input of one trial.
type Setup struct {
	Name           string // of the trial
	Probe          probe.Probe
	Client, Server plan.End
	Site           *target.Site
	Engines        *Engines      // running engines of these ends; native probes are orders to them
	Plan           plan.Plan     // in force now: required states and the path
	LinkRate       float64       // bit/s on the wire of each host's link; 0 is unlimited
	Distance       topo.Distance // between the ends' hosts
	RTT            time.Duration // of a packet just before the trial, and its answer; needed with Distance
	Warmup         time.Duration
	Duration       time.Duration
	Idle           Idle          // subtracted from the CPU time of the ends' hosts
	Background     []*Background // runs during this trial only
	Event          plan.Event    // happens in the window; without a name, nothing does
	Clients        int           // concurrent clients, with the measured one and those of Background; 0: not part of the study
	// Condition is equal for the trials of a block that measure the same path under the same conditions:
	// the first one stores the path's settings.
	Condition string
	// Snapshot remembers settings; nil reads them in every trial.
	Snapshot *Snapshot
	// Profile begins to sample the CPUs of a node's machine, for the window of a native probe; nil: nobody does.
	Profile func(context.Context, target.Node) (Profiler, error)
	// Raw stores bytes under a name before anything parses them. Its error ends the run.
	Raw func(name string, b []byte) error

	others  int        // number of concurrent trials
	sharing int        // number of concurrent trials that share a host with this one
	hops    []plan.Hop // from Client to Server
}

// ErrStore wraps an error of Setup.Raw.
var ErrStore = errors.New("raw output cannot be stored")

// Run measures once and fills in the whole result except its identity. It returns an error only
// when the run cannot continue: ctx was canceled, or raw bytes could not be stored.
func Run(ctx context.Context, s Setup) (record.Result, error) {
	rs, err := Together(ctx, []Setup{s})
	return rs[0], err
}

// Together is Run for several concurrent trials of one network, with a result for each. No place is
// an end of two trials, and their plans differ only in Path. The windows begin together, as far as
// programs start equally fast.
//
// A host's counters include all trials that use it, so trials that share a host get no cost. They share
// the state of the network and what the hosts did from before the first client to after the last. A
// lost machine fails only its own trials.
func Together(ctx context.Context, ss []Setup) ([]record.Result, error) {
	ss = slices.Clone(ss)
	rs := make([]record.Result, len(ss))
	start := time.Now()
	for i := range ss {
		rs[i] = record.Result{Format: record.Format, Status: record.OK, Start: start, Observed: record.Observed{}}
		if ss[i].Probe.Info().NoWarmup {
			ss[i].Warmup = 0
			record.Warmup.Put(rs[i].Observed, 0)
		}
	}
	var able []int
	before := verify(ctx, ss)
	if ctx.Err() != nil {
		return rs, context.Cause(ctx)
	}
	for i, err := range before {
		if err == nil {
			able = append(able, i)
			continue
		}
		rs[i].Status = record.Invalid
		if gone(err) {
			rs[i].Status = record.Failed
		}
		rs[i].Reason, rs[i].Elapsed = fmt.Sprintf("before: %v", err), time.Since(start).Seconds()
	}
	if len(able) == 0 {
		return rs, nil
	}
	some, of := make([]Setup, len(able)), make([]record.Result, len(able))
	for n, i := range able {
		some[n], of[n] = ss[i], rs[i]
	}
	err := measure(ctx, some, of)
	for n, i := range able {
		rs[i] = of[n]
	}
	return rs, err
}

// measure fills in rs. The error ends the run.
func measure(ctx context.Context, ss []Setup, rs []record.Result) error {
	share(ss)
	tracer := ss[0].Plan.Tracer()
	for i := range ss {
		ss[i].hops = ss[i].trace(tracer)
	}
	restore := keepFragmentMemory(ctx, ss, rs)
	delayed := watchDelays(ctx, ss[0].Site)
	xs := execute(ctx, ss)
	delays, delayErr := delayed()
	restore()
	if err := keepSettings(ctx, ss, xs); err != nil {
		return err
	}
	for i := range ss {
		xs[i].background, xs[i].clients, xs[i].backgroundErr = ss[i].collect(ctx)
		if err := ss[i].keep(xs[i]); err != nil {
			return fmt.Errorf("%w: %w", ErrStore, err)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	after := verify(ctx, ss)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range ss {
		m := ss[i].finish(&rs[i], xs[i], after[i])
		ss[i].distance(&rs[i], delays, delayErr)
		if err := ss[i].keepEvidence(&rs[i], m, xs[i]); err != nil {
			return err
		}
		rs[i].Elapsed = time.Since(rs[i].Start).Seconds()
	}
	return nil
}

// share counts the concurrent trials of each trial, and those that share a host with it.
func share(ss []Setup) {
	for i := range ss {
		own := ss[i].hosts()
		ss[i].others, ss[i].sharing = len(ss)-1, 0
		for j := range ss {
			if j != i && slices.ContainsFunc(ss[j].hosts(), func(h *target.Host) bool {
				return slices.ContainsFunc(own, func(o *target.Host) bool { return o.ID == h.ID })
			}) {
				ss[i].sharing++
			}
		}
	}
}

// verify checks the network's states, and returns an error per trial: all states for all trials where
// the run has made the network, and otherwise those of each trial's own places, because the machines
// of other trials can be lost.
func verify(ctx context.Context, ss []Setup) []error {
	site, errs := ss[0].Site, make([]error, len(ss))
	if !site.Topology.Exists {
		err := site.Verify(ctx, ss[0].Plan.States())
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	atOnce(len(ss), func(i int) {
		s := &ss[i]
		var settings sync.WaitGroup
		var failed error
		settings.Go(func() { failed = caught.Error(func() error { s.fetch(s.settings()); return nil }) })
		defer func() {
			settings.Wait()
			errs[i] = cmp.Or(errs[i], failed)
		}()
		errs[i] = site.Verify(ctx, slices.DeleteFunc(s.Plan.States(), func(state plan.State) bool {
			return site.Nodes[state.In] == nil || !slices.Contains(s.places(), state.In)
		}))
	})
	return errs
}

// settings returns the files that bridges and queues read.
func (s *Setup) settings() map[target.Node][]string {
	files := map[target.Node][]string{}
	for _, e := range s.Plan.Expect {
		if n := s.Site.Nodes[e.In]; n != nil && e.Dev != "" && slices.Contains(s.places(), e.In) {
			files[n] = append(files[n], queueFiles(e.Dev)...)
		}
	}
	for _, host := range []string{s.Client.Host, s.Server.Host} {
		if n := s.Site.Nodes[host]; n != nil {
			files[n] = append(files[n], bridgeFiles()...)
		}
	}
	return files
}

// places returns the ends and their hosts.
func (s *Setup) places() []string {
	return []string{s.Client.Node, s.Client.Host, s.Server.Node, s.Server.Host}
}

// gone reports whether an error means that a part of the network is no longer there. It explains why
// programs failed, if they did.
func gone(err error) bool { return errors.Is(err, target.ErrService) || errors.Is(err, target.ErrLost) }

// finish completes r from the execution, and returns what the probe's output says, if anything; after is the
// state of the path afterwards.
func (s *Setup) finish(r *record.Result, x *execution, after error) probe.Measured {
	if gone(after) {
		x.err = errors.Join(after, x.err)
	}
	m, err := s.Probe.Parse(probe.Output{
		Client: x.client.stdout.Bytes(), ClientErr: x.client.stderr.Bytes(),
		Server: x.server.stdout.Bytes(), ServerErr: x.server.stderr.Bytes(), Found: !s.Site.Private})
	s.sizes(r)
	if x.err != nil {
		r.Status, r.Reason = record.Failed, errors.Join(x.err, x.backgroundErr).Error()
		// Some tools print their reason on stdout.
		if err != nil && len(s.Probe.Info().Tools) > 0 && len(x.client.stdout.Bytes()) > 0 {
			r.Reason += ": " + err.Error()
		}
		return m
	}
	if err != nil {
		// Several tools complain on stderr and exit with status 0.
		r.Status, r.Reason = record.Invalid, x.client.saying(err).Error()
		if x.died != nil {
			r.Reason += "; server: " + x.died.Error()
		}
		return m
	}
	r.Values = m.Values
	maps.Copy(r.Observed, s.Site.Found)
	maps.Copy(r.Observed, m.Observed)
	s.path(r, m)
	record.ClientCPUs.Put(r.Observed, x.client.cpus)
	record.ServerCPUs.Put(r.Observed, x.server.cpus)
	s.cost(r, m, x)
	s.threads(r, x.inside)
	s.surroundings(r, x)
	s.spread(r, x)
	s.fragmented(r, m, x)
	r.Notes = slices.Concat(r.Notes, stalled(r, m), s.squeezed(r))
	s.outages(r, m, x.event)
	r.Values = append(append(r.Values, x.background...), s.shares(m, x.clients)...)
	if err := errors.Join(after, s.judge(r, m, x), s.bridges(r), s.queues(r), x.profiled.problem(), x.backgroundErr); err != nil {
		r.Status, r.Reason = record.Invalid, err.Error()
	}
	return m
}

func (s *Setup) keep(x *execution) error {
	run := map[string]any{
		"server": x.server.argv, "serverNode": s.Server.Node,
		"client": x.client.argv, "clientNode": s.Client.Node}
	files := map[string][]byte{}
	output := func(name string, p *program) {
		files[name+".out"], files[name+".err"] = p.stdout.Bytes(), p.stderr.Bytes()
	}
	output("client", &x.client)
	output("server", &x.server)
	var errs [4]error
	files[ProfileFile], errs[3] = x.profiled.file()
	for i, c := range s.Background {
		name := fmt.Sprintf("beside%d", i+1)
		run[name] = [][]string{c.counter.argv, c.driver.argv}
		if c.driver.node != nil {
			run[name+"Node"] = c.driver.node.Name()
		}
		output(name, &c.counter)
		output(name+".client", &c.driver)
	}
	files["commands.json"], errs[0] = json.MarshalIndent(run, "", "  ")
	files["counters.json"], errs[1] = json.Marshal(x.readings.moved())
	files["inside.jsonl"], errs[2] = sample.FormatSeries(x.inside)
	err := errors.Join(errs[:]...)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err == nil && len(files[name]) > 0 {
			err = s.Raw(name, files[name])
		}
	}
	return err
}
