package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

const (
	// TracedSize is the size of the probe udp-rr, bytes.
	TracedSize = 64
	// TracedCount is how many requests a trace has by default.
	TracedCount = 100
	// MaxTraced is how many requests the buffer of a trace holds over long paths.
	MaxTraced = 1000

	// The rounds share the requests. On a quiet machine, one would do; the medians of several also hold on a busy one.
	tracedRounds = 5
	untraced     = 100 * time.Millisecond // of requests without a trace, for their stamps
	firstTraced  = 20 * time.Millisecond  // of requests with one; longer while that is too short
	lastTraced   = 5 * time.Second        // not longer than this
	tracedReach  = 5 * time.Second
)

// tracing is how networks are traced.
type tracing struct {
	at          place.Place
	size, count int
	mode        string // "": the best one
	why         error  // why no better one is available
}

// choose sets the mode unless the user did. What other people's machines allow is known once they are open.
func (t *tracing) choose() error {
	if t.at.Machines != nil {
		return nil
	}
	best, why := packettrace.Available()
	if t.mode == "" {
		t.mode, t.why = best, why
	}
	if slices.Index(packettrace.Modes, t.mode) < slices.Index(packettrace.Modes, best) {
		return fmt.Errorf("trace by %s: %w", t.mode, why)
	}
	return nil
}

// A traced network is built, and its engines run.
type traced struct {
	tracing
	site           *target.Site
	plan           plan.Plan
	client, server plan.End
	engines        *trial.Engines
	setup          trial.Setup
}

// network builds a network, traces it and removes it.
func (t tracing) network(ctx context.Context, name string, n experiment.Network) (_ packettrace.Trace, err error) {
	x := traced{tracing: t}
	none := packettrace.Trace{}
	if x.site, err = t.at.Open(ctx, n.Topology, ""); err != nil {
		return none, err
	}
	defer func() { err = errors.Join(err, x.site.Close()) }()
	if x.plan, err = network.Build(n.Driver, x.site.Topology); err != nil {
		return none, err
	}
	if x.client, x.server, err = x.plan.Between(""); err != nil {
		return none, err
	}
	switch {
	case t.mode == packettrace.ByCounters:
	case slices.ContainsFunc(x.plan.Steps, makesGuest):
		x.mode, x.why = packettrace.ByCounters, errGuests
	case t.at.Machines != nil:
		if x.mode, x.why = packettrace.ByTaps, x.tappable(ctx); x.why != nil && t.mode == "" {
			x.mode = packettrace.ByCounters
		} else if x.why != nil {
			return none, fmt.Errorf("trace by taps: %w", x.why)
		}
	}
	if err := x.site.Apply(ctx, x.plan.Steps); err != nil {
		return none, err
	}
	if x.engines, err = trial.StartEngines(ctx, x.site, x.client, x.server, 0); err != nil {
		return none, err
	}
	defer func() { err = errors.Join(err, x.engines.Stop()) }()
	rtt, err := x.engines.Reach(ctx, x.plan.Path.Reach(), tracedReach)
	if err != nil {
		return none, err
	}
	x.setup = trial.Setup{Probe: &probe.UDPRR{Size: t.size}, Client: x.client, Server: x.server, Site: x.site, Engines: x.engines,
		Plan: x.plan, LinkRate: n.Topology.Rate, Distance: x.site.Topology.Between(x.client.Host, x.server.Host), RTT: rtt,
		Raw: func(string, []byte) error { return nil }}
	r := packettrace.Recording{Network: name, Client: x.client.Node, Server: x.server.Node, Mode: x.mode, Why: x.why, Size: t.size, Count: t.count}
	if x.mode == packettrace.ByCounters {
		return x.counted(ctx, r)
	}
	for range tracedRounds {
		round, err := x.round(ctx)
		if err != nil {
			return none, err
		}
		r.Rounds = append(r.Rounds, round)
	}
	return packettrace.New(r)
}

// errGuests is why packets between virtual machines are only counted: no clock is common to both ends.
var errGuests = errors.New("the packets pass the kernels of virtual machines, each with a clock of its own")

func makesGuest(s plan.Step) bool { return s.Guest != nil }

// round runs without a trace and with one.
func (x *traced) round(ctx context.Context) (r packettrace.Round, err error) {
	plain, err := x.measure(ctx, firstTraced, untraced)
	if err != nil {
		return r, err
	}
	if v, ok := plain.Get(record.RTTPath); ok {
		r.Stamps = v.Value
	}
	if x.at.Machines == nil { // else the taps measure it
		r.Cost, r.Entry, err = packettrace.Cost(x.mode)
	}
	if err == nil {
		err = x.record(ctx, &r)
	}
	return r, err
}

// measure sends requests for a while, after some that do not count.
func (x *traced) measure(ctx context.Context, warmup, d time.Duration) (record.Result, error) {
	s := x.setup
	s.Warmup, s.Duration = warmup, d
	r, err := trial.Run(ctx, s)
	if err == nil && r.Status == record.Failed {
		err = errors.New(r.Reason)
	}
	return r, err
}

// record traces a run that is long enough for the requests to trace.
func (x *traced) record(ctx context.Context, r *packettrace.Round) (err error) {
	by := x.byTaps
	if x.mode == packettrace.ByBPF {
		by = x.byBPF
	}
	for d := firstTraced; ; d *= 3 {
		err = by(ctx, r, func() error {
			result, err := x.measure(ctx, firstTraced/2, d)
			if v, ok := result.Get(record.RTTPath); ok {
				r.StampsTraced = v.Value
			}
			return err
		})
		if err != nil || 3*d > lastTraced || r.Lost > 0 || packettrace.Complete(r.Events, x.client.Node, x.server.Node, x.count/tracedRounds+1) {
			return err
		}
	}
}

func (x *traced) byBPF(_ context.Context, r *packettrace.Round, run func() error) error {
	spaces, err := x.spaces()
	if err != nil {
		return err
	}
	t, err := packettrace.Record(spaces)
	if err != nil {
		return err
	}
	err = run()
	var stopErr error
	r.Events, r.Lost, stopErr = t.Stop()
	return errors.Join(err, stopErr)
}

// tapped are the nodes with a tap: all of the lab, and the ends on other people's machines.
func (x *traced) tapped() []string {
	if x.at.Machines != nil {
		return []string{x.client.Node, x.server.Node}
	}
	return slices.Sorted(maps.Keys(x.site.Nodes))
}

func (x *traced) startTap(ctx context.Context, node string) (*helper, error) {
	if x.at.Machines != nil {
		return startHelper(ctx, x.site.Nodes[node], sharedTap...)
	}
	return startHelper(ctx, x.site.Nodes[node], "tap")
}

// tappable returns why an end refuses a tap, or nil.
func (x *traced) tappable(ctx context.Context) error {
	for _, name := range x.tapped() {
		if err := tryHelper(ctx, x.site.Nodes[name], sharedTap...); err != nil {
			return err
		}
	}
	return nil
}

// byTaps runs a tap in every node.
func (x *traced) byTaps(ctx context.Context, r *packettrace.Round, run func() error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var taps []*helper
	for _, name := range x.tapped() {
		t, failed := x.startTap(ctx, name)
		if err = failed; err != nil {
			break
		}
		taps = append(taps, t)
	}
	if err == nil {
		err = run()
	}
	r.Events, r.Lost = nil, 0
	cost := 0.0
	for _, t := range taps {
		var got packettrace.Tapped
		b, bad := t.stop("")
		if bad == nil {
			got, bad = packettrace.ParseTap(t.node, b)
		}
		if x.at.Machines != nil {
			for i := range got.Events {
				got.Events[i].Clock = t.node
			}
		}
		r.Events, r.Lost, err = append(r.Events, got.Events...), r.Lost+got.Lost, errors.Join(err, bad)
		cost += got.Cost / float64(len(taps))
	}
	if x.at.Machines != nil {
		r.Cost = cost
	}
	packettrace.InOrder(r.Events)
	return err
}

// spaces returns the nodes by the inode of their network namespace, and also the namespaces that daemons have made on
// hosts, such as Docker's for a network.
func (x *traced) spaces() (map[uint32]string, error) {
	spaces := map[uint32]string{}
	for inode, node := range x.site.Spaces() {
		n, err := strconv.ParseUint(inode, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("namespace of %s: inode %q: %w", node, inode, err)
		}
		spaces[uint32(n)] = node
	}
	for _, name := range slices.Sorted(maps.Keys(x.site.Nodes)) {
		node := x.site.Nodes[name]
		known := mounted(node.Host().FS, "proc/self/mountinfo") // the host's mounts include the machine's own
		for inode, at := range mounted(node.FS(), "proc/1/mountinfo") {
			if _, ok := known[inode]; !ok && spaces[inode] == "" {
				spaces[inode] = name + "/" + at
			}
		}
	}
	return spaces, nil
}

// mounted returns the network namespaces that have a name in the file system: the name by inode
// (proc_pid_mountinfo(5): ID, parent, device, root, mount point).
func mounted(root fs.FS, file string) map[uint32]string {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return nil // a guest's, which has no other namespaces
	}
	found := map[uint32]string{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasPrefix(f[3], "net:[") {
			continue
		}
		if n, err := strconv.ParseUint(sample.Inode(f[3]), 10, 32); err == nil {
			found[uint32(n)] = path.Base(f[4])
		}
	}
	return found
}

// counted returns which devices moved how many packets for each request.
func (x *traced) counted(ctx context.Context, r packettrace.Recording) (packettrace.Trace, error) {
	t := packettrace.Trace{Format: packettrace.Format, Network: r.Network, Client: r.Client, Server: r.Server, Size: r.Size, Mode: r.Mode, TwoMachines: x.at.Machines != nil}
	before, err := x.counters(ctx)
	if err != nil {
		return t, err
	}
	result, err := x.measure(ctx, 0, untraced)
	if err != nil {
		return t, err
	}
	after, err := x.counters(ctx)
	if err != nil {
		return t, err
	}
	requests, ok := result.Get(record.Requests)
	if !ok || requests.Value == 0 {
		return t, fmt.Errorf("%w: %s", packettrace.ErrNothing, result.Reason)
	}
	t.Requests = int(requests.Value)
	if r.Why != nil {
		t.Why = r.Why.Error()
	}
	t.Devices = packettrace.Devices(before, after, requests.Value)
	return t, nil
}

// counters returns the counters of all devices, by node.
func (x *traced) counters(ctx context.Context) (map[string]sample.Counters, error) {
	all := map[string]sample.Counters{}
	for _, name := range x.tapped() {
		r, err := x.site.Nodes[name].Sample(ctx, sample.OfNetDev)
		if err != nil {
			return nil, err
		}
		all[name] = r.Counters
	}
	return all, nil
}
