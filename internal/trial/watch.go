package trial

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

const (
	// longWindow is the shortest window that is sampled inside: with 20 samples or more it has a shape, and
	// the 10 ms steps of /proc/stat are a tenth of a sample and 0.5 % of the window.
	longWindow = 2 * time.Second
	samplesPer = 10                     // second
	leadTime   = 300 * time.Millisecond // sampled before the client starts
	mostInside = 600                    // samples of a window: longer windows are sampled less often
	// From findWindow on, a window has fewInside samples: a foreign tool's threads begin and end in it.
	findWindow = time.Second
	fewInside  = 5
)

// A watch samples the hosts of one trial while its client runs: modes of the CPUs, threads, and the
// devices of the ends. In short windows it only reads their edges.
type watch struct {
	site    *target.Site
	hosts   []*target.Host
	devices []watched
	every   time.Duration // 0: only the edges

	turn    chan struct{}        // holds a value while someone samples
	samples map[string][]sampled // by host ID
	edges   []reading            // of the window: begin and end
	stop    chan struct{}
	done    sync.WaitGroup
	defect  atomic.Pointer[error] // the last panic of those
}

// A watched device belongs to an end. Guests are expensive to ask: their host's side of the path stands for
// them.
type watched struct {
	end  string // client or server
	node target.Node
	dev  string
	file *sample.NetDevFile // nil: ask the node
}

func (d watched) sample(ctx context.Context) sample.Counters {
	if d.file != nil {
		c, _ := d.file.Read() // without traffic there is no column
		return c
	}
	return target.Sampled(d.node.Sample(ctx, sample.OfNetDev)).Counters
}

type sampled struct {
	target.Reading
	devices []sample.Counters // in the order of watch.devices; nil for those of other hosts
}

// watch starts to watch s. It returns nil if other trials use the same hosts.
func (s *Setup) watch(ctx context.Context) *watch {
	if s.sharing > 0 {
		return nil
	}
	w := &watch{site: s.Site, hosts: s.hosts(), every: s.sampling(), samples: map[string][]sampled{}, stop: make(chan struct{}), turn: make(chan struct{}, 1)}
	for _, e := range []struct {
		name string
		plan.End
	}{{"client", s.Client}, {"server", s.Server}} {
		if node, dev := s.deviceOf(e.End); node != nil {
			d := watched{e.name, node, dev, nil}
			if s.Site.Spaces != nil { // the node's files are this machine's
				d.file, _ = sample.OpenNetDev(node.FS()) // otherwise the node is asked
			}
			w.devices = append(w.devices, d)
		}
	}
	own := context.WithoutCancel(ctx)
	w.take(own, sample.FindThreads)
	if w.every > 0 {
		w.alongside(func() { w.repeat(own) })
	}
	if w.every > 0 && s.Duration >= longWindow {
		select { // to show how the use rises
		case <-time.After(leadTime):
		case <-ctx.Done():
		}
	}
	return w
}

// sampling returns the time between samples inside the window of s, 0 for none.
func (s *Setup) sampling() time.Duration {
	d := s.Duration
	if s.native() == nil {
		d = wholeSeconds(d)
	}
	switch {
	case d >= longWindow:
		return max(time.Second/samplesPer, d/mostInside)
	case d >= findWindow:
		return d / fewInside
	}
	return 0
}

// deviceOf returns the device whose counters stand for an end's, nil if nothing does.
func (s *Setup) deviceOf(e plan.End) (target.Node, string) {
	if s.Site.Spaces == nil {
		return s.Site.Nodes[e.Node], e.Dev
	}
	for _, place := range s.Site.Spaces() {
		if place == e.Node {
			return s.Site.Nodes[e.Node], e.Dev
		}
	}
	for _, x := range s.Plan.Expect { // the end is a guest
		if x.In == e.Host && x.MustCarry && x.Concerns(s.Client, s.Server) {
			return s.Site.Nodes[e.Host], x.Dev
		}
	}
	return nil, ""
}

func (w *watch) repeat(ctx context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
			source := sample.OfThreads
			if n%samplesPer == 0 { // about once a second
				source = sample.NewThreads
			}
			w.take(ctx, source)
		case <-w.stop:
			return
		}
	}
}

// take samples all hosts; the first of sources is one of a sample.Threads.
func (w *watch) take(ctx context.Context, sources ...string) {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	sources = append(sources, sample.OfStat)
	p, got, errs := poll{site: w.site}, make([]sampled, len(w.hosts)), make([]error, len(w.hosts))
	for i, h := range w.hosts {
		got[i].devices = make([]sample.Counters, len(w.devices))
		p.calls = append(p.calls, func(ctx context.Context) { got[i].Reading, errs[i] = h.Sample(ctx, sources...) })
		for j, d := range w.devices {
			if d.node.Host().ID == h.ID {
				p.calls = append(p.calls, func(ctx context.Context) { got[i].devices[j] = d.sample(ctx) })
			}
		}
	}
	p.run(ctx)
	for i, h := range w.hosts {
		if errs[i] != nil { // it has no time; the next one covers its interval
			continue
		}
		if have := w.samples[h.ID]; len(have) == 0 || got[i].At > have[len(have)-1].At {
			w.samples[h.ID] = append(have, got[i])
		}
	}
}

// edge samples at the next edge of the window, whose reading is r. It does not wait for the sample: the
// line of the other edge can be next.
func (w *watch) edge(ctx context.Context, r reading) {
	if w != nil {
		source := sample.OfThreads
		if w.every > 0 && len(w.edges) == 0 { // the client's threads have begun
			source = sample.NewThreads
		}
		w.edges = append(w.edges, r)
		w.alongside(func() { w.take(ctx, source) })
	}
}

// finish takes the last sample and returns what was sampled.
func (w *watch) finish(ctx context.Context, s *Setup) []sample.Series {
	if w == nil {
		return nil
	}
	close(w.stop)
	w.done.Wait()
	if err := w.defect.Load(); err != nil {
		panic(*err)
	}
	w.take(ctx, sample.OfThreads, sample.ForgetThreads) // in this order
	for _, d := range w.devices {
		if d.file != nil {
			d.file.Close()
		}
	}
	var all []sample.Series
	for _, h := range w.hosts {
		if x, ok := w.series(h, s); ok {
			all = append(all, x)
		}
	}
	return all
}

// series lays the samples of a host out in columns; false without a window.
func (w *watch) series(h *target.Host, s *Setup) (x sample.Series, ok bool) {
	samples := w.samples[h.ID]
	if len(w.edges) != 2 || len(samples) < 2 {
		return x, false
	}
	begin, begun := w.edges[0].Hosts[h.ID]
	end, ended := w.edges[1].Hosts[h.ID]
	zero := samples[0].At
	if !begun || !ended || begin.At < zero || end.At <= begin.At || end.At > samples[len(samples)-1].At {
		return x, false
	}
	x = sample.Series{Format: sample.SeriesFormat, Host: h.ID, Begin: int64(begin.At - zero), End: int64(end.At - zero), CPUs: samples[0].Counters.CPUs()}
	keys := map[string]bool{}
	for _, r := range samples {
		x.At = append(x.At, int64(r.At-zero))
		if r.Counters.CPUs() != x.CPUs {
			x.CPUs = 0
		}
		for k := range r.Counters {
			keys[k] = true
		}
	}
	place := s.placing(h)
	for k := range keys {
		of := func(scale float64) []int {
			return growth(samples, func(r sampled) (float64, bool) { v, ok := r.Counters[k]; return v, ok }, scale)
		}
		if task, ok := sample.ParseTask(k); ok {
			if used := of(1e6); float64(total(used)) > leastTime*(samples[len(samples)-1].At-zero).Seconds()*1e6 {
				x.Threads = append(x.Threads, sample.Thread{PID: task.PID, TID: task.TID, Place: place(task), Name: task.Name, Used: used})
			}
		} else if cpu, mode, _ := strings.Cut(k, "."); cpu != "cpu" && strings.HasPrefix(cpu, "cpu") && x.CPUs > 0 {
			if ticks := of(sample.UserHZ); total(ticks) > 0 {
				x.Modes = append(x.Modes, sample.Mode{CPU: cpu, Mode: mode, Ticks: ticks})
			}
		}
	}
	for i, d := range w.devices {
		for _, dir := range []string{"rx", "tx"} {
			of := func(what string) []int {
				return growth(samples, func(r sampled) (float64, bool) { v, ok := r.devices[i]["dev."+d.dev+"."+dir+what]; return v, ok }, 1)
			}
			if bytes := of("_bytes"); total(bytes) > 0 {
				x.Devices = append(x.Devices, sample.Device{End: d.end, Place: d.node.Name(), Dev: d.dev, Dir: dir, Bytes: bytes, Packets: of("_packets")})
			}
		}
	}
	slices.SortFunc(x.Modes, func(a, b sample.Mode) int {
		return cmp.Or(cmp.Compare(len(a.CPU), len(b.CPU)), cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Mode, b.Mode))
	})
	slices.SortFunc(x.Threads, func(a, b sample.Thread) int {
		return cmp.Or(cmp.Compare(total(b.Used), total(a.Used)), cmp.Compare(a.TID, b.TID))
	})
	return x, true
}

// placing returns a function that finds the place of a thread on h.
func (s *Setup) placing(h *target.Host) func(sample.Task) string {
	if s.Site.Spaces != nil {
		spaces := s.Site.Spaces()
		return func(t sample.Task) string { return spaces[t.NS] }
	}
	for _, name := range []string{s.Client.Node, s.Server.Node} {
		if s.Site.Nodes[name].Host().ID == h.ID { // the node is the machine
			return func(sample.Task) string { return name }
		}
	}
	return func(sample.Task) string { return "" }
}

// growth returns the differences of a counter times scale, rounded without accumulating errors. It is
// unknown (-1) where the counter is missing at either side or was reset.
func growth(samples []sampled, get func(sampled) (float64, bool), scale float64) []int {
	out := make([]int, len(samples)-1)
	for i := range out {
		from, known := get(samples[i])
		to, still := get(samples[i+1])
		if out[i] = -1; known && still {
			out[i] = max(-1, int(math.Round(to*scale)-math.Round(from*scale)))
		}
	}
	return out
}

// total sums the known entries of a column.
func total(column []int) (sum int) {
	for _, n := range column {
		sum += max(n, 0)
	}
	return sum
}

// leastTime is the share of a CPU below which a thread is not even stored.
const leastTime = 0.0005

// leastShare is the smallest share of a CPU that makes a thread a value of the trial, and mostThreads the
// largest number of such values.
const (
	leastShare  = 0.01
	mostThreads = 12
)

// threads adds the share of one CPU that each thread used in the window: of threads with one name in one
// place, the busiest. The engine's workload threads end with the window, so their own clocks are better.
func (s *Setup) threads(r *record.Result, all []sample.Series) {
	shares := map[record.Key]float64{}
	thread := func(place, name string) record.Key {
		program, thread := sample.Program(name)
		return record.CPUThread.Thread(place, program, thread)
	}
	for _, x := range all {
		for _, t := range x.Threads {
			k := thread(t.Place, t.Name)
			if share, ok := x.Share(t); ok {
				shares[k] = max(shares[k], share)
			}
		}
	}
	if s.native() != nil && all != nil && record.Streams.Of(r.Observed) <= 1 {
		for end, k := range map[string]record.Key{"client": thread(s.Client.Node, sample.EngineClient), "server": thread(s.Server.Node, sample.EngineServer)} {
			if own, ok := r.Value(record.CPUOwn.At(end)); ok {
				shares[k] = own.Value
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(shares), func(a, b record.Key) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), a.Compare(b))
	})
	for _, k := range keys[:min(len(keys), mostThreads)] {
		if shares[k] >= leastShare {
			add(r, k, "core", shares[k])
		}
	}
}
