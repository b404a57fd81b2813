package study

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/topo"
)

const (
	MaxBlocks    = 100_000
	MinDuration  = 10 * time.Millisecond
	MaxDuration  = time.Hour
	MinPrecision = 0.001
	MaxPrecision = 0.5
	MaxCells     = 100_000 // of the full factorial
	MaxRounds    = 10_000  // in a block
	maxLevel     = 256     // bytes
)

// Validate returns all mistakes in s, joined, or nil if s can run. It does not know which kinds of
// networks and probes exist.
func (s Study) Validate() error {
	var errs []error
	for _, p := range s.problems() {
		errs = append(errs, p.err)
	}
	return errors.Join(errs...)
}

// A problem is an error with the keys it is about, outermost first.
type problem struct {
	keys []string
	line int // of the Use at fault
	err  error
}

// at returns the line of p in the file; 0 if the key is not there.
func (p problem) at(n *strictyaml.Node) int {
	if p.line > 0 {
		return p.line
	}
	line := 0
	for _, k := range p.keys {
		if n == nil {
			break
		}
		for _, e := range n.Keys {
			if e.Key == k {
				line = e.Line
			}
		}
		n = n.Get(k)
	}
	return line
}

type checker []problem

// that adds an error unless ok. The last key is the subject of the error.
func (c *checker) that(ok bool, keys []string, format string, args ...any) {
	if !ok {
		err := fmt.Errorf("%s "+format, append([]any{strings.Join(keys, ".")}, args...)...)
		*c = append(*c, problem{keys: keys, err: err})
	}
}

func key(k ...string) []string { return k }

func (s Study) problems() []problem {
	var c checker
	for _, t := range [][2]string{{"name", s.Name}, {"question", s.Question}, {"description", s.Description}} {
		c.that(utf8.ValidString(t[1]), key(t[0]), "%q is not UTF-8 text", t[1])
	}
	s.checkDesign(&c)
	c.uses("networks", s.Networks)
	c.uses("probes", s.Probes)
	s.checkFactors(&c)
	s.checkEvents(&c)
	s.checkCompare(&c)
	s.checkTopology(&c)
	s.checkTarget(&c)
	return c
}

func (s Study) checkDesign(c *checker) {
	c.that(s.Blocks >= 1 && s.Blocks <= MaxBlocks, key("blocks"), "%d is outside 1..%d", s.Blocks, MaxBlocks)
	c.that(s.Precision == 0 || s.Precision >= MinPrecision && s.Precision <= MaxPrecision,
		key("precision"), "%s is outside %s..%s", percent(s.Precision), percent(MinPrecision), percent(MaxPrecision))
	c.that(s.Episodes >= 0 && s.Episodes <= MaxBlocks, key("episodes"), "%d is outside 0..%d", s.Episodes, MaxBlocks)
	c.that(s.Duration >= MinDuration && s.Duration <= MaxDuration, key("duration"), "%v is outside %v..%v", s.Duration, MinDuration, MaxDuration)
	c.that(s.Warmup >= 0 && s.Warmup <= MaxDuration, key("warmup"), "%v is outside 0s..%v", s.Warmup, MaxDuration)
	c.that(s.Fast.Blocks >= 1 && s.Fast.Blocks <= MaxBlocks, key("fast", "blocks"), "%d is outside 1..%d", s.Fast.Blocks, MaxBlocks)
	c.that(s.Fast.Duration >= MinDuration && s.Fast.Duration <= MaxDuration, key("fast", "duration"), "%v is outside %v..%v", s.Fast.Duration, MinDuration, MaxDuration)
	c.that(s.Fast.Warmup >= 0 && s.Fast.Warmup <= MaxDuration, key("fast", "warmup"), "%v is outside 0s..%v", s.Fast.Warmup, MaxDuration)
	c.that(!s.Profile || s.Target.Kube == nil, key("profile"), "works in the lab and over SSH: pods cannot sample the CPUs of their node; leave it out, or name the nodes with --ssh")
	c.that(!s.Profile || !s.AllPairs, key("profile"), "requires pairs: one: pairs that run at once share the CPUs")
	c.that(s.MaxTime >= 0, key("max-time"), "%v is negative", s.MaxTime)
	if _, ok := s.Network(s.Baseline); !ok && len(s.Networks) > 0 {
		c.that(false, key("baseline"), "%q is not one of the networks (%s)", s.Baseline, strings.Join(Names(s.Networks), ", "))
	}
}

func (c *checker) uses(what string, uses []Use) {
	c.that(len(uses) > 0, key(what), "is missing or empty: a study needs at least one")
	seen := map[string]int{}
	for i, u := range uses {
		where := fmt.Sprintf("%s[%d]", what, i)
		if err := u.check(); err != nil {
			*c = append(*c, problem{key(what), u.line, fmt.Errorf("%s: %w", where, err)})
		}
		first, twice := seen[u.Name]
		switch {
		case u.Name == "":
			*c = append(*c, problem{key(what), u.line, fmt.Errorf("%s has no name: call Resolve", where)})
		case twice:
			*c = append(*c, problem{key(what), u.line, fmt.Errorf("%s: name %q is taken by %s[%d]", where, u.Name, what, first)})
		default:
			seen[u.Name] = i
		}
	}
}

func (s Study) checkFactors(c *checker) {
	cells := len(s.Networks) * len(s.Probes)
	for _, f := range slices.Sorted(maps.Keys(s.Factors)) {
		at, levels := key("factors", f), s.Factors[f]
		if err := checkName(f, ""); err != nil {
			c.that(false, at, "cannot be a factor: %w", err)
		}
		c.that(f != "network" && f != "probe" && f != "block", at, "always varies: list its levels under networks, probes or blocks")
		c.that(f != pairLevel, at, "is reserved: use the key pairs instead")
		c.that(len(levels) > 0, at, "has no levels")
		for i, l := range levels {
			c.that(utf8.ValidString(l) && l != "" && len(l) <= maxLevel, at, "has invalid level %.40q: want text of 1 to %d bytes", l, maxLevel)
			c.that(!slices.Contains(levels[:i], l), at, "has duplicate level %q", l)
		}
		cells = min(cells*max(1, len(levels)), MaxCells+1) // no overflow
	}
	c.that(cells <= MaxCells, key("factors"), "with networks and probes make more than %d cells", MaxCells)
	c.that(!s.AllPairs || s.Topology.Hosts >= 2, key("pairs"), "all: %d host makes no pair: want at least 2 hosts", s.Topology.Hosts)
	c.that(cells > MaxCells || cells*s.Pairs() <= MaxCells, key("pairs"), "all: %d cells between every two of %d hosts are more than %d trials in a block; choose some of their rounds (rounds: 12)", cells, s.Topology.Hosts, MaxCells)
	c.that(s.AllPairs || !s.OneAtATime, key("one-at-a-time"), "requires pairs: all")
	c.that(s.AllPairs || s.Rounds == 0, key("rounds"), "requires pairs: all")
	c.that(s.Rounds >= 0 && s.Rounds <= MaxRounds, key("rounds"), "%d is outside 0..%d", s.Rounds, MaxRounds)
}

// rate matches the rate of a link. Package unit parses its value.
var rate = regexp.MustCompile(`^[0-9]+(\.[0-9]+)? ?([kKMmGgTt]?bit(/s)?)$`)

func (s Study) checkTopology(c *checker) {
	t := s.Topology
	minMTU := topo.MinMTU
	if t.IPv6 || t.PodsIPv6 {
		minMTU = topo.MinMTU6
	}
	c.that(t.Hosts >= 1 && t.Hosts <= topo.MaxHosts, key("hosts"), "%d is outside 1..%d", t.Hosts, topo.MaxHosts)
	c.that(t.Pods >= 1 && t.Pods <= topo.MaxPods, key("pods"), "%d is outside 1..%d", t.Pods, topo.MaxPods)
	c.that(t.MTU >= minMTU && t.MTU <= topo.MaxMTU, key("underlay", "mtu"), "%d is outside %d..%d", t.MTU, minMTU, topo.MaxMTU)
	c.that(t.Link == "" || rate.MatchString(t.Link), key("underlay", "link"), "%q is not a rate: write it as 1gbit, or unlimited", t.Link)
	c.that(t.Distance.Check() == nil, key("underlay"), "has an %w", t.Distance.Check())
	nics := []topo.NIC{topo.NICFull, topo.NICTSO, topo.NICNone}
	c.that(slices.Contains(nics, t.NIC), key("underlay", "nic"), "%q is invalid: want full, none or tso", string(t.NIC))
}
