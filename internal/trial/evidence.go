package trial

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// keepEvidence stores what the trial observed besides its result, also of a trial that failed.
func (s *Setup) keepEvidence(r *record.Result, m probe.Measured, x *execution) error {
	b, err := json.Marshal(s.evidence(r, m, x))
	if err == nil {
		err = s.Raw("evidence.json", b)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

func (s *Setup) evidence(r *record.Result, m probe.Measured, x *execution) *evidence.Trial {
	t := &evidence.Trial{Format: evidence.Format, Protocol: m.Protocol, Window: s.Duration.Seconds(), Settings: x.settings, Event: sawOutages(x.event.evidence(), m),
		Nodes: map[string]sample.Counters{}, Hosts: map[string]sample.Counters{}, Read: x.readings.sources()}
	if window, ok := r.Get(record.Window); ok {
		t.Window = window.Value
	}
	if m.Window > 0 {
		t.Window = m.Window
	}
	client, server := s.end(m.Client, s.Client, x.client.cpus), s.end(m.Server, s.Server, x.server.cpus)
	hops := s.hops
	if t.Sender, t.Receiver = client, server; m.Reversed {
		t.Sender, t.Receiver, hops = server, client, backwards(hops)
	}
	grown := map[string]sample.Counters{}
	for node, last := range x.readings.Last.Nodes {
		if first, ok := x.readings.First.Nodes[node]; ok {
			grown[node] = last.Sub(first)
			t.Nodes[node] = some(grown[node], protocolCounters)
		}
	}
	t.Path, t.Carriers = passed(hops, grown), carriers(s.Plan)
	for id, host := range spans(s.hosts(), x.readings.First, x.readings.Last) {
		for name, v := range host.Counters {
			if strings.HasPrefix(name, "soft") {
				host.Counters[name] = wrapped(v)
			} else {
				host.Counters[name] = math.Round(v*sample.UserHZ) / sample.UserHZ // CPU time comes in ticks
			}
		}
		t.Hosts[id] = some(host.Counters, hostCounters)
		if id == client.Host {
			t.Seconds = host.seconds
		}
	}
	return t
}

// carriers returns the programs that carry packets, by node; nil if none does.
func carriers(p plan.Plan) (all map[string][]string) {
	for _, step := range p.Steps {
		if step.Service == nil || !step.Service.Carries {
			continue
		}
		if all == nil {
			all = map[string][]string{}
		}
		all[step.In] = append(all[step.In], sample.NameOf(step.Service.Argv))
	}
	return all
}

// end completes what an engine measured of its own threads.
func (s *Setup) end(e evidence.End, at plan.End, cpus []int) evidence.End {
	node := s.Site.Nodes[at.Node]
	if cpus == nil {
		cpus = node.CPUs()
	}
	e.Node, e.Host, e.CPUs = at.Node, node.Host().ID, cpus
	return e
}

// Prefixes of the counters that are evidence: of protocols in nodes, and of softnet, softirqs, CPU time and CPU limits
// in hosts.
var (
	protocolCounters = []string{"ip.", "ip6.", "icmp.", "icmp6.", "tcp.", "udp.", "udp6.", "netstat."}
	hostCounters     = []string{"softnet.", "softirq.", "cpu", "quota."}
)

// some returns the counters with one of the prefixes that grew.
func some(grown sample.Counters, prefixes []string) sample.Counters {
	c := sample.Counters{}
	for name, v := range grown {
		if v != 0 && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			c[name] = v
		}
	}
	return c
}

// sources returns the sources that both First and Last read, by node or host.
func (r *readings) sources() map[string][]string {
	all := map[string][]string{}
	for place, first := range r.First.read {
		all[place] = slices.DeleteFunc(slices.Clone(first), func(source string) bool {
			return !slices.Contains(r.Last.read[place], source)
		})
	}
	return all
}

// stored is the form of readings in files: only counters that moved between First and Last or between
// Begin and End, with the sources that were read.
type stored struct {
	readings
	Read map[string][]string `json:"read"`
}

func (r *readings) moved() stored {
	out := stored{*r, r.sources()}
	hosts, nodes := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, e := range [][2]*reading{{&r.First, &r.Last}, {&r.Begin, &r.End}} {
		for id, host := range e[0].Hosts {
			differ(hosts, id, host.Counters, e[1].Hosts[id].Counters)
		}
		for node, c := range e[0].Nodes {
			differ(nodes, node, c, e[1].Nodes[node])
		}
	}
	for _, at := range []*reading{&out.First, &out.Begin, &out.End, &out.Last} {
		at.Hosts, at.Nodes = maps.Clone(at.Hosts), maps.Clone(at.Nodes)
		for id, host := range at.Hosts {
			host.Counters = only(host.Counters, hosts[id])
			at.Hosts[id] = host
		}
		for node, c := range at.Nodes {
			at.Nodes[node] = only(c, nodes[node])
		}
	}
	return out
}

// differ adds the names of the counters in which two readings of a place differ.
func differ(names map[string]map[string]bool, place string, from, to sample.Counters) {
	if names[place] == nil {
		names[place] = map[string]bool{}
	}
	for name, v := range to {
		if before, ok := from[name]; !ok || before != v {
			names[place][name] = true
		}
	}
	for name := range from {
		if _, ok := to[name]; !ok {
			names[place][name] = true
		}
	}
}

func only(c sample.Counters, names map[string]bool) sample.Counters {
	kept := sample.Counters{}
	for name := range names {
		if v, ok := c[name]; ok {
			kept[name] = v
		}
	}
	return kept
}
