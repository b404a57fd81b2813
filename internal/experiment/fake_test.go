package experiment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
)

// A machine is a target with fake networks: programs are functions, and the test controls time.
type machine struct {
	networks []study.Use
	sites    []*fakeSite

	// measure runs the nth client (from 1) on a network and returns its throughput, bit/s.
	measure func(ctx context.Context, network string, n int) (float64, error)
	// These can return an error.
	open  func(network string) error
	apply func(network string, steps []plan.Step) error
	reach func(network string) error
	close func(nth int) error // nth site, from 0
	// dies maps an engine command to the time after which that background program ends by itself.
	dies map[string]time.Duration
	idle bool
	// exists makes the hosts ones that weir finds.
	exists bool
	// hosts are machines of their own, h1 and up; others can use them. nil: all nodes are on one machine.
	hosts map[string]*fakeHost
	// others returns the CPU time that programs outside the run have used at a moment; nil is none.
	others func(time.Time) time.Duration
	zones  []string // of the hosts that weir finds

	log *journal // of the last run
}

// A journal records when trials run and when their background begins and ends.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, a ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, a...))
}

func (j *journal) of(network string) (lines []string) {
	for _, l := range j.lines {
		if on, what, _ := strings.Cut(l, ": "); on == network {
			lines = append(lines, what)
		}
	}
	return lines
}

type fakeSite struct {
	*machine
	name    string
	applied []string // one line per call
	mu      sync.Mutex
	trials  int
	closed  int
	started map[string]int // engines, by node and command
}

func (m *machine) Open(_ context.Context, want topo.Topology, _ string) (*target.Site, error) {
	f := &fakeSite{machine: m, name: m.networks[len(m.sites)%len(m.networks)].Name}
	m.sites = append(m.sites, f)
	want.Exists, want.Hosts = m.exists, inZones(want.Hosts, m.zones)
	if m.open != nil {
		if err := m.open(f.name); err != nil {
			return nil, err
		}
	}
	site := &target.Site{Topology: want, Nodes: map[string]target.Node{}, Private: m.hosts == nil, Apply: f.change,
		Verify: func(context.Context, []plan.State) error { return nil },
		Close: func() error {
			f.closed++
			if m.close != nil {
				return m.close(slices.Index(m.sites, f))
			}
			return nil
		}}
	for _, p := range network.Places(want) {
		site.Nodes[p] = fakeNode{f, p}
	}
	return site, nil
}

func (f *fakeSite) change(ctx context.Context, steps []plan.Step) error {
	var words []string
	for _, s := range steps {
		if s.Set != nil {
			words = append(words, fmt.Sprintf("%s mtu %d", s.In, s.Set.MTU))
		}
	}
	f.applied = append(f.applied, strings.Join(words, ", "))
	if f.apply != nil {
		if err := f.apply(f.name, steps); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

type fakeNode struct {
	site *fakeSite
	name string
}

func (n fakeNode) Name() string { return n.name }
func (n fakeNode) CPUs() []int  { return []int{0} }
func (n fakeNode) FS() fs.FS    { return fstest.MapFS{} }

func (n fakeNode) Host() *target.Host {
	if h := n.site.hosts[n.name[:2]]; h != nil {
		return &target.Host{ID: h.id, Name: h.id, Sample: h.sample, Facts: func(context.Context) (facts.Facts, error) {
			return facts.Facts{Kernel: h.kernel, CPUs: 4}, h.gone()
		}}
	}
	return &target.Host{ID: "machine", Sample: n.Sample, Facts: func(context.Context) (facts.Facts, error) { return facts.Facts{}, nil }, Tool: func(ctx context.Context, t facts.ToolInfo) (string, string, error) { return t.Find(ctx) }}
}

func (n fakeNode) Sample(ctx context.Context, sources ...string) (target.Reading, error) {
	if h := n.site.hosts[n.name[:2]]; h != nil {
		return h.sample(ctx, sources...)
	}
	r := target.Reading{At: time.Duration(time.Now().UnixNano()), Counters: sample.Counters{}}
	if n.site.others != nil {
		r.Counters = sample.Counters{"cpu.user": n.site.others(time.Now()).Seconds(), "proc.user": 0}
	}
	return r, nil
}

func (n fakeNode) Settings(context.Context, []string, []netip.Addr) (evidence.Node, error) {
	return evidence.Node{}, n.site.hosts[n.name[:2]].gone()
}

func (f *fakeSite) start(engine string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started == nil {
		f.started = map[string]int{}
	}
	f.started[engine]++
}

// Run is the engine at either end: a waiting server, or an agent that takes orders until EOF.
func (n fakeNode) Run(ctx context.Context, c target.Cmd) error {
	if err := n.site.hosts[n.name[:2]].gone(); err != nil {
		return err
	}
	n.site.start(n.name + " " + c.Argv[2])
	c.Stdout = c.Mark.Writer(ctx, n.Host(), c.Stdout)
	if c.Argv[2] != "agent" {
		return n.background(ctx, c)
	}
	stop := context.AfterFunc(ctx, func() { c.Stdin.(io.Closer).Close() })
	defer stop()
	for orders := bufio.NewScanner(c.Stdin); orders.Scan(); {
		v, err := n.obey(ctx, c.Stdout, orders.Text())
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			fmt.Fprintf(c.Stdout, "{\"event\":\"error\",\"error\":%q}\n", err)
			continue
		}
		fmt.Fprintf(c.Stdout, result, v, v/8)
	}
	return context.Cause(ctx)
}

// result is the output of a tool, and of the engine for a tcp-stream of 1 s.
const result = `{"event":"result","rate":%g,"workload":"tcp-stream","engine":1,"size":1,"server":"","window":1,"bytes":%.0f,"streamBytes":[],"zerocopySends":0,"zerocopyCopied":0,"sndbuf":1,"retransmits":0,"silence":0,"streams":1,` +
	`"mss":1,"congestion":"","serverCongestion":"","rcvbuf":1,"send":"","recv":"","dscp":0}` + "\n"

// background is a server, a hog, or a load client: 1000 bytes and 0.5 s of CPU time per second.
func (n fakeNode) background(ctx context.Context, c target.Cmd) error {
	name := c.Argv[2]
	if name != "serve" || c.Stdin != nil {
		n.site.log.add("%s: %s begins", n.site.name, name)
		defer n.site.log.add("%s: %s ends", n.site.name, name)
	}
	if d, ok := n.site.dies[name]; ok && (name != "serve" || c.Stdin != nil) {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, d, errors.New("killed"))
		defer cancel()
	}
	begin := time.Now()
	if c.Stdin != nil {
		go func() {
			for lines := bufio.NewScanner(c.Stdin); lines.Scan(); {
				at := time.Since(begin)
				did := at
				if n.site.idle {
					did = 0
				}
				fmt.Fprintf(c.Stdout, "{\"event\":\"count\",\"at\":%d,\"bytes\":%d,\"cpu\":%d}\n", at, did/time.Millisecond, did/2)
			}
		}()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // it dies before it prints anything
	}
	fmt.Fprintln(c.Stdout, map[bool]string{true: event.MarkBegin, false: event.MarkReady}[name == "run"])
	<-ctx.Done()
	return context.Cause(ctx)
}

func (node fakeNode) obey(ctx context.Context, out io.Writer, order string) (float64, error) {
	f := node.site
	if strings.HasPrefix(order, `["reach"`) {
		if f.reach != nil {
			return 0, f.reach(f.name)
		}
		return 0, nil
	}
	f.mu.Lock()
	f.trials++
	n := f.trials
	f.mu.Unlock()
	f.log.add("%s: trial", f.name)
	fmt.Fprintln(out, event.MarkBegin)
	time.Sleep(time.Second)
	for name, h := range f.hosts { // of pairs, the server's is unknown
		if name == node.name[:2] || len(f.hosts) == 2 {
			h.work(300 * time.Millisecond)
		}
	}
	fmt.Fprintln(out, event.MarkEnd)
	if f.measure != nil {
		return f.measure(ctx, f.name, n)
	}
	return 1e9, nil
}

func fakeStudy(blocks int) study.Study {
	s := study.Default()
	s.Name, s.Blocks, s.Seed, s.Warmup, s.Episodes = "fake", blocks, 7, 0, 1
	s.Networks = []study.Use{{Name: "a", Kind: "host"}, {Name: "b", Kind: "host"}}
	s.Probes = []study.Use{{Name: "tool", Kind: "tool"}}
	return s.Resolve()
}

// plain is the host network without the expectations on counters.
type plain struct{}

func (plain) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := network.Host{}.Plan(t)
	p.Expect = nil
	return p, err
}

// rigid must be rebuilt for another MTU.
type rigid struct{}

func (rigid) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := plain{}.Plan(t)
	if t.MTU == 9000 {
		p.Steps = append(p.Steps, plan.Step{In: p.Ends[0].Node, Sysctl: &plan.Sysctl{}})
	}
	return p, err
}

func config(t *testing.T, m *machine, s study.Study, dir string) Config {
	t.Helper()
	d := results(t, dir)
	c := Config{Study: s, Networks: map[string]Network{}, Dir: d, Target: m,
		Probe: func(string, map[string]string) (probe.Probe, error) { return tool{"weir"}, nil },
		Load:  func(string) (probe.Probe, error) { return &probe.TCPStream{}, nil }}
	for _, u := range s.Networks {
		c.Networks[u.Name] = on(t, plain{}, topo.Spec{})
	}
	m.networks, m.sites, m.log = s.Networks, nil, new(journal)
	return c
}

func on(t testing.TB, d network.Driver, s topo.Spec) Network {
	t.Helper()
	topology, err := topo.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return Network{Driver: d, Topology: topology}
}

func results(t testing.TB, dir string) *store.Dir {
	t.Helper()
	d, err := store.Open(dir)
	if err != nil {
		if d, err = store.Create(dir); err == nil {
			err = d.File("study.yaml", nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // a test can have closed it
	return d
}

func ids(t *testing.T, dir string) (list []string) {
	t.Helper()
	c, err := store.Read(dir)
	if err = errors.Join(append(c.Problems, err)...); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Results {
		list = append(list, r.Trial)
	}
	return list
}

func plannedIDs(s study.Study, n int) (list []string) {
	for b := 1; b <= n; b++ {
		for _, t := range study.Block(s.Seed, b, s.Cells(nil)) {
			list = append(list, t.ID)
		}
	}
	return list
}
