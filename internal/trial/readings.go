package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// A reading holds counters of several hosts at about one moment. Each host has its own clock, and
// only readings of one host are compared.
type reading struct {
	Hosts   map[string]target.Reading  `json:"hosts"` // CPU, softirqs and processes, by host ID
	Nodes   map[string]sample.Counters `json:"nodes"` // devices and protocols, by node
	Missing []string                   `json:"missing,omitempty"`

	read map[string][]string // sources, by host ID and node
}

func newReading() reading {
	return reading{Hosts: map[string]target.Reading{}, Nodes: map[string]sample.Counters{}, read: map[string][]string{}}
}

// readings of a trial: First and Last are around the client and hold everything, Begin and End
// around its measured window. Taking Begin costs the traffic CPU time, so it reads little.
type readings struct{ First, Begin, End, Last reading }

// costSources are the inputs of a window's CPU cost.
var costSources = []string{sample.OfStat, sample.OfSoftirqs}

// hosts returns the hosts of the trial's ends, whose use is the trial's cost.
func (s *Setup) hosts() []*target.Host { return s.Site.Hosts(s.Client.Node, s.Server.Node) }

// A poll asks hosts and nodes for counters: in order in a lab, where they are functions of this
// process, and all at once over pipes, where each answer takes a round trip.
type poll struct {
	site  *target.Site
	calls []func(context.Context)
}

// add returns where run stores the reading.
func (p *poll) add(read func(context.Context, ...string) (target.Reading, error), sources ...string) *target.Reading {
	r := new(target.Reading)
	p.calls = append(p.calls, func(ctx context.Context) { *r = target.Sampled(read(ctx, sources...)) })
	return r
}

func (p *poll) run(ctx context.Context) {
	each(p.site, len(p.calls), func(i int) { p.calls[i](ctx) })
}

// each calls f for 0 to n-1: in order in a lab, and all at once over pipes, where each answer takes a round trip.
func each(site *target.Site, n int, f func(i int)) {
	if !site.Private {
		atOnce(n, f)
		return
	}
	for i := range n {
		f(i)
	}
}

// readAll reads packet paths and the users of hosts. A host shared by trials is read once.
func readAll(ctx context.Context, ss []Setup) []reading {
	p := poll{site: ss[0].Site}
	hostSources := append(slices.Clone(costSources), sample.OfSoftnet, sample.OfFrequency, sample.OfCores, sample.OfLimits)
	nodeSources := []string{sample.OfNetDev, sample.OfSNMP, sample.OfNetstat, sample.OfQdisc, sample.OfReassembly}
	endSources := nodeSources
	if p.site.Private {
		hostSources = append(hostSources, sample.OfAllProcesses)
	} else { // the host's /proc also shows others' processes, and each node has an agent of its own
		endSources = append(slices.Clone(nodeSources), sample.OfOwnProcesses)
	}
	hosts, nodes := map[string]*target.Reading{}, make([]map[string]*target.Reading, len(ss))
	for _, s := range ss {
		for _, h := range s.hosts() {
			if hosts[h.ID] == nil {
				hosts[h.ID] = p.add(h.Sample, hostSources...)
			}
		}
	}
	for i, s := range ss {
		nodes[i] = map[string]*target.Reading{}
		for _, name := range s.observed() {
			sources := nodeSources
			if name == s.Client.Node || name == s.Server.Node {
				sources = endSources
			}
			nodes[i][name] = p.add(p.site.Nodes[name].Sample, sources...)
		}
	}
	p.run(ctx)
	rs := make([]reading, len(ss))
	for i, s := range ss {
		rs[i] = newReading()
		for _, h := range s.hosts() {
			rs[i].host(h, *hosts[h.ID])
		}
		for _, name := range s.observed() {
			rs[i].node(name, *nodes[i][name])
		}
	}
	return rs
}

// readCost reads a window's cost, hosts first because they must match the window. marked is the
// client host's own sample at the window's edge; nil when the coordinator sets the edge. It can hold
// the devices of the client's node.
func (s *Setup) readCost(ctx context.Context, marked *target.Reading) reading {
	r, p := newReading(), poll{site: s.Site}
	client := s.Site.Nodes[s.Client.Node]
	type taken struct {
		host *target.Host
		node string
		*target.Reading
	}
	var all []taken
	for _, h := range s.hosts() {
		if marked != nil && h.ID == client.Host().ID {
			r.marked(h, s.Client.Node, *marked)
		} else {
			all = append(all, taken{h, "", p.add(h.Sample, costSources...)})
		}
	}
	node := func(name, source string) {
		all = append(all, taken{nil, name, p.add(s.Site.Nodes[name].Sample, source)})
	}
	node(s.Server.Node, sample.OfNetDev)
	if r.Nodes[s.Client.Node] == nil {
		node(s.Client.Node, sample.OfNetDev) // see packets
	}
	if s.sharing == 0 {
		for _, name := range s.Plan.Daemons() { // their services carry the traffic
			node(name, sample.OfProcesses)
		}
	}
	p.run(ctx)
	for _, t := range all {
		if t.host != nil {
			r.host(t.host, *t.Reading)
		} else {
			r.node(t.node, *t.Reading)
		}
	}
	return r
}

// marked adds what a host sampled at a mark of the program on one of its nodes. Where the node's network
// namespace is that of the host's sampler, the sample holds the node's devices, too.
func (r *reading) marked(h *target.Host, node string, taken target.Reading) {
	devices := maps.Clone(taken.Counters)
	maps.DeleteFunc(devices, func(name string, _ float64) bool { return !strings.HasPrefix(name, "dev.") })
	if len(devices) > 0 {
		taken.Counters = maps.Clone(taken.Counters)
		maps.DeleteFunc(taken.Counters, func(name string, _ float64) bool { return strings.HasPrefix(name, "dev.") })
		r.Nodes[node] = devices
	}
	r.host(h, taken)
}

func (r *reading) host(h *target.Host, taken target.Reading) {
	r.read[h.ID] = append(r.read[h.ID], taken.Read...)
	if taken.Read = nil; taken.Counters != nil {
		r.Hosts[h.ID] = taken
	}
	r.Missing = append(r.Missing, taken.Missing...)
}

func (r *reading) node(name string, taken target.Reading) {
	if r.Nodes[name] == nil {
		r.Nodes[name] = sample.Counters{}
	}
	maps.Copy(r.Nodes[name], taken.Counters)
	r.read[name] = append(r.read[name], taken.Read...)
	r.Missing = append(r.Missing, taken.Missing...)
}

// observed lists the nodes whose devices matter, sorted: those of services, of expectations, and on the path.
func (s *Setup) observed() []string {
	names := append(s.Plan.Daemons(), s.Client.Node, s.Server.Node)
	for _, e := range s.Plan.Expect {
		names = append(names, e.In)
	}
	for _, h := range s.hops {
		names = append(names, h.In)
	}
	names = slices.DeleteFunc(names, func(place string) bool { return !s.alone(place) || s.Site.Nodes[place] == nil })
	slices.Sort(names)
	return slices.Compact(names)
}

// alone reports whether only this trial uses a place.
func (s *Setup) alone(place string) bool {
	return s.others == 0 || slices.Contains(s.places(), place)
}

// A span is the growth of one host's counters between two readings.
type span struct {
	sample.Counters
	seconds float64 // by the host's clock
	own     float64 // weir's CPU time there, seconds
	cpus    int     // online at both readings; 0 if unknown or changed
}

// spans returns the growth per host ID; none if one is unknown, because a sum would be incomplete.
func spans(hosts []*target.Host, from, to reading) map[string]span {
	all := map[string]span{}
	for _, h := range hosts {
		begin, begun := from.Hosts[h.ID]
		end, ended := to.Hosts[h.ID]
		if !begun || !ended || end.At <= begin.At {
			return nil
		}
		s := span{end.Counters.Sub(begin.Counters), (end.At - begin.At).Seconds(), end.Own - begin.Own, end.Counters.CPUs()}
		if begin.Counters.CPUs() != s.cpus {
			s.cpus = 0
		}
		all[h.ID] = s
	}
	return all
}

// perSecond returns the growth of counters per second, summed over hosts.
func perSecond(spans map[string]span, names ...string) (sum float64) {
	for _, s := range spans {
		for _, name := range names {
			sum += s.Counters[name] / s.seconds
		}
	}
	return sum
}

// busiest returns the largest softirq time of a CPU, in cores. The kernel processes the packets of
// one flow on one CPU, which can be the limit while others idle.
func busiest(spans map[string]span) (most float64) {
	for _, s := range spans {
		for name, seconds := range s.Counters {
			if cpu, ok := strings.CutSuffix(name, ".softirq"); ok && cpu != "cpu" {
				most = max(most, seconds/s.seconds)
			}
		}
	}
	return most
}

// capacity returns the number of CPUs of all hosts together; 0 if it is unknown.
func capacity(all map[string]span) (cpus float64) {
	for _, s := range all {
		if s.cpus == 0 {
			return 0
		}
		cpus += float64(s.cpus)
	}
	return cpus
}

// Usage counts busy cores by mode; Steal is the hypervisor's share.
type Usage struct {
	User, System, IRQ, Softirq, Steal, Guest float64

	// Used is the complement of idle: all CPUs minus idle, iowait and steal time, which the kernel
	// measures by the clock. It is 0 if the number of CPUs is unknown.
	Used float64
}

// Busy is the machine's own work, including its guests', as the sum of the modes. Where the kernel
// samples them at ticks it misses work in short pieces: up to 15 % of all time in a request-response
// workload.
func (u Usage) Busy() float64 { return u.User + u.System + u.IRQ + u.Softirq + u.Guest }

func (u Usage) plus(sign float64, v Usage) Usage {
	return Usage{u.User + sign*v.User, u.System + sign*v.System, u.IRQ + sign*v.IRQ, u.Softirq + sign*v.Softirq, u.Steal + sign*v.Steal, u.Guest + sign*v.Guest,
		u.Used + sign*v.Used}
}

// usage returns the mean busy cores of all hosts together.
func usage(all map[string]span) Usage {
	used := 0.0
	if cpus := capacity(all); cpus > 0 {
		used = cpus - perSecond(all, "cpu.idle", "cpu.iowait", "cpu.steal")
	}
	return Usage{
		Used:    used,
		User:    perSecond(all, "cpu.user", "cpu.nice"),
		System:  perSecond(all, "cpu.system"),
		IRQ:     perSecond(all, "cpu.irq"),
		Softirq: perSecond(all, "cpu.softirq"),
		Steal:   perSecond(all, "cpu.steal"),
		Guest:   perSecond(all, "cpu.guest"),
	}
}

// Idle is the hosts' usage without the run, by ID.
type Idle map[string]Usage

// MeasureIdle watches hosts for d while nothing of the run is active, all at once and each by its own
// clock. It returns the usage of those that it could watch, and an error for each of the others.
func MeasureIdle(ctx context.Context, hosts []*target.Host, d time.Duration) (Idle, error) {
	errs := make([]error, len(hosts))
	read := func() reading {
		taken := make([]target.Reading, len(hosts))
		atOnce(len(hosts), func(i int) {
			var err error
			if taken[i], err = hosts[i].Sample(ctx, sample.OfStat); err == nil && len(taken[i].Missing) > 0 {
				err = fmt.Errorf("%v", taken[i].Missing)
			}
			if err != nil {
				errs[i] = fmt.Errorf("watch the idle machine: %w", err)
			}
		})
		r := newReading()
		for i, h := range hosts {
			r.host(h, taken[i])
		}
		return r
	}
	from := read()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	to, idle := read(), Idle{}
	for i, h := range hosts {
		if s := spans(hosts[i:i+1], from, to); errs[i] == nil && s != nil {
			idle[h.ID] = usage(s)
		}
	}
	return idle, errors.Join(errs...)
}

// idle sums the idle usage of the hosts of the trial's ends.
func (s *Setup) idle() (u Usage) {
	for _, h := range s.hosts() {
		u = u.plus(1, s.Idle[h.ID])
	}
	return u
}
