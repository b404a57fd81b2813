// Package study reads a study: the question of an experiment and its design, as YAML. It expands
// the design into trials and puts them in a random order that anyone can repeat.
//
// It knows no networks or probes: a Use is a name with options, and package catalog decides whether
// it exists. Package study must not read files or the clock, or choose a seed.
//
// A study is one YAML document:
//
//	# What does VXLAN cost, and does a larger MTU help?
//	question: What does VXLAN cost, and does a larger MTU help?
//	networks:
//	  - host                              # the kind, without options
//	  - use: vxlan-overlay                # a kind with options
//	    vni: 7
//	  - {use: vxlan-overlay, name: vx-port, port: 8472}
//	probes: [tcp-stream, {use: udp-rr, size: 64}]
//	factors:
//	  mtu: [1500, 9000]
//
// Networks and probes are written in two forms: the kind alone, or a mapping with the kind under
// "use", the name in results under "name" (default: the kind), and the options as further keys. The
// second host of [host, host] is named host#2. Networks that weir builds also take the option also, a
// list of steps (see package plan) that follow the network's own, and the option under, conditions of this network alone:
//
//	networks:
//	  - {use: vxlan-overlay, also: [{in: h1, offload: {dev: eth0, features: {tx-udp_tnl-segmentation: false}}}]}
//	  - {use: vxlan-overlay, name: jumbo, under: {mtu: 9000}}
//
// What happens within a trial is an event (see plan.Event). Events are the levels of the factor event, besides none:
//
//	events:
//	  - {name: cable-pulled, at: 500ms, for: 1s, do: [{in: h2, set: {dev: eth0, down: true}}]}
//	  - {name: drop, at: 500ms, for: 1s, networks: [vxlan-overlay], do: [{in: h2, exec: {argv: […]}}], undo: […]}
//
// The other keys, with their defaults:
//
//	name         the file's name without its extension
//	description  none
//	baseline     the first network, by which the others are divided
//	compare      every network with the baseline; a list of other comparisons replaces that (see
//	             Contrast), which {to: {network: host}} states again
//	blocks       10: every cell is measured once per block
//	precision    none; with 2%, blocks is a pilot whose spread determines the number of blocks
//	max-time     none: when a run stops early
//	episodes     how many times a run builds its networks; 0: about 8 times if that costs at most 5 %
//	             of its time; 1: it never rebuilds them; more: whatever that costs
//	warmup       200ms of traffic before each measurement
//	duration     1s of each measurement
//	fast         {blocks: 8, warmup: 20ms, duration: 100ms}: the values that --fast uses
//	swap         true, with a target, else false: client and server change places in half of the blocks
//	pairs        one: the ends that a network names; all: every pair of hosts, in rounds of
//	             simultaneous pairs without a common host
//	rounds       0: with pairs: all, every round; more: this many random rounds in each block, which
//	             suit hundreds of hosts
//	one-at-a-time  false; with true, the pairs of a round are measured in turn
//	keep-disturbed  false: trials that other programs disturbed count only if too few others remain,
//	             with a mark; true: they count like all others, and no block is measured again
//	profile      false; with true, further trials sample which functions of the kernel use the CPUs
//	seed         0: the caller chooses one and records it
//	hosts        2; with a target, the number of its machines
//	pods         1 per host
//	pods-ipv6    false
//	underlay     {mtu: 1500, link: unlimited, nic: full, ipv6: false}; also delay: 500us, jitter: 50us
//	             and loss: 0.1% between hosts, each way; default 0
//	target       none: weir builds the networks. Or where they exist: {ssh: [a, b=10.0.0.2]}, or
//	             {kube: {context: C, namespace: NS, nodes: [n1, n2], image: I, shell: S, keep: true}},
//	             all of which can be left out; nodes can be all; both with ports: 5201-5299
//
// Unknown keys, duplicate keys and YAML's anchors, aliases and tags are errors.
package study

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A Study is an experiment: the networks to compare, the conditions, the repetitions.
type Study struct {
	Name        string
	Question    string // that the study answers
	Description string
	Networks    []Use
	Probes      []Use
	// Factors holds the levels of everything else that varies, in file order; the factors
	// themselves are ordered by name.
	Factors  map[string][]string
	Events   []plan.Event // what happens within trials; the levels of EventFactor
	Baseline string       // the Name of one of Networks
	// Compare states the comparisons; empty means every network ÷ Baseline. With some, Baseline divides
	// nothing unless one of them is it (see Contrast.Baseline).
	Compare []Contrast
	// Blocks is the number of measurements per cell; with Precision, the size of the pilot that
	// determines that number.
	Blocks    int
	Precision float64       // target half-width of the interval, as a share: 0.02 is 2 %; 0 is none
	MaxTime   time.Duration `yaml:"max-time"` // 0 is none
	// KeepDisturbed counts trials that something outside the run disturbed like all others.
	KeepDisturbed bool          `yaml:"keep-disturbed"`
	Profile       bool          // add trials that sample the CPUs, which no other result contains
	Swap          bool          // client and server change places in half of the blocks
	OneWay        bool          `yaml:"-"` // the file says that they do not
	AllPairs      bool          `yaml:"-"` // every cell is measured between all pairs of hosts, see Rounds
	Rounds        int           // with AllPairs: random rounds in a block (see the method rounds); 0: all
	Zones         []string      `yaml:"-"`             // of the hosts, in order, as found; nil: unknown. They decide random rounds
	OneAtATime    bool          `yaml:"one-at-a-time"` // with AllPairs: never run pairs at the same time
	Episodes      int           // builds of the networks in a run; 0: automatic
	Warmup        time.Duration // not counted
	Duration      time.Duration // of each measurement
	Fast          Fast          // the values of a quick look
	Seed          uint64        // of the order of trials; 0: the caller chooses and records one
	Topology      Topology      `yaml:"-"`
	Target        Target        // where the networks exist; zero: weir builds them

	places map[string]string // "file:line" of the factors
}

// A Fast is the form of a study that takes seconds instead of minutes: its intervals are wider, so
// it shows only larger differences. Eight blocks bound up to six ratios that hold together at 95 %.
type Fast struct {
	Blocks   int
	Warmup   time.Duration
	Duration time.Duration
}

// Faster returns the fast form of s, with a fixed number of blocks.
func (s Study) Faster() Study {
	s.Blocks, s.Warmup, s.Duration = s.Fast.Blocks, s.Fast.Warmup, s.Fast.Duration
	s.Precision, s.MaxTime = 0, 0
	return s
}

// A Topology is the hosts and links that a study runs on, as in topo.Spec.
type Topology struct {
	Hosts    int
	Pods     int      // per host
	MTU      int      // of the underlay, bytes
	Link     string   // rate of each host's link, as "1gbit"; empty is unlimited
	NIC      topo.NIC // in the file, topo.NICFull is "full"
	Distance topo.Distance
	IPv6     bool // of the underlay
	PodsIPv6 bool
}

// Default returns the study of an empty file, without networks and probes.
func Default() Study {
	return Study{
		Blocks:   10,
		Warmup:   200 * time.Millisecond,
		Duration: time.Second,
		Fast:     Fast{Blocks: 8, Warmup: 20 * time.Millisecond, Duration: 100 * time.Millisecond},
		Topology: Topology{Hosts: 2, Pods: 1, MTU: 1500},
	}
}

// Resolve names unnamed networks and probes and makes the first network the default baseline. Load
// calls it; callers that assemble a Study or change its Networks or Probes must call it too.
func (s Study) Resolve() Study {
	s.Networks, s.Probes = label(s.Networks), label(s.Probes)
	if s.Baseline == "" && len(s.Networks) > 0 {
		s.Baseline = s.Networks[0].Name
	}
	s.eventLevels()
	if len(s.Factors) > 0 {
		canonical := make(map[string][]string, len(s.Factors))
		for f, levels := range s.Factors {
			canonical[f] = canonicalLevels(levels)
		}
		s.Factors = canonical
	}
	s.Compare = slices.Clone(s.Compare)
	for i, c := range s.Compare {
		s.Compare[i] = c.canonical()
	}
	return s
}

func canonicalLevels(levels []string) []string {
	levels = slices.Clone(levels)
	for i, l := range levels {
		levels[i] = canonicalLevel(l)
	}
	return levels
}

var wholeNumber = regexp.MustCompile(`^\s*\+?0*([0-9]+)\s*$`)

// canonicalLevel writes a whole number in one way: 010 and +10 are the level 10, and not levels of their own.
func canonicalLevel(level string) string {

	if m := wholeNumber.FindStringSubmatch(level); m != nil {
		return m[1]
	}
	return level
}

// label names each use: its own name, or its kind, or the kind with the next free number if another
// use of the kind has that name. Validate reports a name that belongs to another kind.
func label(uses []Use) []Use {
	own, taken := map[string]bool{}, map[string]bool{}
	for _, u := range uses {
		own[u.Name] = true
		taken[u.Name] = taken[u.Name] || u.Name == u.Kind
	}
	named := make([]Use, len(uses))
	used := map[string]int{} // the largest number by kind: thousands of uses would otherwise try all smaller ones
	for i, u := range uses {
		if u.Name == "" {
			u.Name = u.Kind
			for n := max(used[u.Kind], 1) + 1; taken[u.Name] || u.Name != u.Kind && own[u.Name]; n++ {
				u.Name = fmt.Sprintf("%s#%d", u.Kind, n)
				used[u.Kind] = n
			}
			taken[u.Name] = true
		}
		named[i] = u
	}
	return named
}

func (s Study) Network(name string) (Use, bool) { return find(s.Networks, name) }

func (s Study) Probe(name string) (Use, bool) { return find(s.Probes, name) }

// Vary adds or replaces a factor.
func (s *Study) Vary(factor string, levels []string) {
	s.Factors, s.places = maps.Clone(s.Factors), maps.Clone(s.places)
	if s.Factors == nil {
		s.Factors = map[string][]string{}
	}
	s.Factors[factor] = levels
	delete(s.places, factor)
}

// FactorPos returns "file:line" of a factor, or "" if it is not from a file.
func (s Study) FactorPos(factor string) string { return s.places[factor] }

func find(uses []Use, name string) (Use, bool) {
	i := slices.IndexFunc(uses, func(u Use) bool { return u.Name == name })
	if i < 0 {
		return Use{}, false
	}
	return uses[i], true
}

// Neutral returns the level of a factor that leaves the networks as they are by themselves, "" if it has none.
func Neutral(factor string) string {
	return map[string]string{"clients": "1", "delay": "0", "event": "none", "jitter": "0", "link": "none", "load": "idle", "loss": "0%", "nic": "full", "rps": "off", "stress": "0"}[factor]
}

func Names(uses []Use) []string {
	var names []string
	for _, u := range uses {
		names = append(names, u.Name)
	}
	return names
}
