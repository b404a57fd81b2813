package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// crossed is what a trial on a line of hosts found: the hosts that its packets
// passed, in the order of the line.
const crossed = "path.hosts"

// meanValue is a response time of tools that tell no median (package probe).
const meanValue = "rtt.mean"

// A Chain is one network on which a probe measured over several segments of a line
// of hosts, and over each of these segments by itself.
type Chain struct {
	Probe   string            `json:"probe"`
	Network string            `json:"network"`
	Levels  map[string]string `json:"levels,omitempty"` // of the factors that vary, but for who talks to whom
	Metric  string            `json:"metric"`
	Unit    string            `json:"unit"`
	// Adds: the values of segments add up, as times do. Other values of several
	// segments are divided by that of the first one.
	Adds bool `json:"adds"`
	// Mean: a trial's value is the mean of its requests. Means add up; medians do so roughly.
	Mean  bool   `json:"mean"`
	Spans []Span `json:"spans"` // by their number of segments
}

// A Span is the way over the first so many segments of a chain.
type Span struct {
	Segments int           `json:"segments"`
	Hosts    string        `json:"hosts"`          // that packets pass
	Value    stat.Interval `json:"value"`          // median over blocks
	Parts    stat.Interval `json:"parts,omitzero"` // of what Value is compared with, likewise; N is 0 for the first segment
	Ratio    stat.Interval `json:"ratio,omitzero"` // Value divided by it, in the same block
	Same     bool          `json:"same,omitempty"` // the interval of Ratio contains 1
	Refused  string        `json:"refused,omitempty"`

	parts, whole []float64 // of the blocks that have all of them
	trials       [][]record.Result
}

// chains finds the chains of the run. Their ratios are for compare, when it is known
// how many there are.
func chains(groups []cells) []Chain {
	type line struct {
		probe, network, kind, levels string
	}
	ways := map[line]map[string][]record.Result{} // by the hosts passed
	of := map[line]Chain{}
	var order []line
	for _, g := range groups {
		rest, levels := maps.Clone(g.asked), maps.Clone(g.levels)
		delete(rest, ends)
		delete(levels, ends)
		for _, n := range slices.SortedFunc(maps.Keys(g.trials), Natural) {
			hosts := common(g.trials[n])[crossed]
			if hosts == "" {
				continue
			}
			l := line{g.probe, n, kind(g.asked[ends]), key(rest)}
			if ways[l] == nil {
				metric, unit := g.metric()
				ways[l], of[l] = map[string][]record.Result{}, Chain{Probe: g.probe, Network: n, Levels: levels, Metric: metric, Unit: unit, Adds: unit == "s"}
				order = append(order, l)
			}
			if ways[l][hosts] == nil {
				ways[l][hosts] = g.trials[n]
			}
		}
	}
	var out []Chain
	for _, l := range order {
		for _, first := range firsts(ways[l]) {
			c := of[l]
			if c.fill(first, ways[l]); len(c.Spans) < 2 {
				continue
			}
			out = append(out, c)
			if path := (Chain{Probe: c.Probe, Network: c.Network, Levels: c.Levels, Metric: pathValue, Unit: c.Unit, Adds: true}); c.Adds {
				if path.fill(first, ways[l]); len(path.Spans) == len(c.Spans) {
					out = append(out, path)
				}
			}
		}
	}
	return out
}

// kind is what a pair of ends has in common with others of its kind: it without numbers.
func kind(pair string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, pair)
}

// firsts returns the hosts that ways begin with.
func firsts(ways map[string][]record.Result) []string {
	found := map[string]bool{}
	for w := range ways {
		found[strings.Fields(w)[0]] = true
	}
	return slices.SortedFunc(maps.Keys(found), Natural)
}

// fill adds the spans from the first host on whose segments were all measured.
func (c *Chain) fill(first string, ways map[string][]record.Result) {
	var spans [][]string
	for w := range ways {
		if hosts := strings.Fields(w); hosts[0] == first && len(hosts) > 1 {
			spans = append(spans, hosts)
		}
	}
	slices.SortFunc(spans, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
	values := c.values(ways)
	for _, hosts := range spans {
		name, segments := strings.Join(hosts, " "), []string{}
		complete := len(values[name]) > 0
		for i := range hosts[1:] {
			segment := hosts[i] + " " + hosts[i+1]
			if c.Adds || i == 0 {
				segments, complete = append(segments, segment), complete && len(values[segment]) > 0
			}
		}
		if !complete {
			continue
		}
		s := Span{Segments: len(hosts) - 1, Hosts: name, Value: stat.Median(ordered(values[name]), single)}
		if s.Segments > 1 {
			s.pair(values, segments)
			s.trials = [][]record.Result{ways[name]}
			for _, segment := range segments {
				s.trials = append(s.trials, ways[segment])
			}
		}
		c.Spans = append(c.Spans, s)
	}
}

// values returns what each way's trials found, by block: the means of requests where
// times have histograms, else the values themselves.
func (c *Chain) values(ways map[string][]record.Result) map[string]map[int]float64 {
	means, values := map[string]map[int]float64{}, map[string]map[int]float64{}
	all := c.Adds
	for w, trials := range ways {
		values[w] = PerBlock(trials, c.Metric)
		m, ok := meanPerBlock(trials, c.Metric)
		means[w], all = m, all && ok
	}
	c.Mean = all || c.Metric == meanValue
	if all {
		return means
	}
	return values
}

// pair sets the span beside its segments, in the blocks that have all of them.
func (s *Span) pair(values map[string]map[int]float64, segments []string) {
	for _, block := range slices.Sorted(maps.Keys(values[s.Hosts])) {
		sum, all := 0.0, true
		for _, segment := range segments {
			v, ok := values[segment][block]
			sum, all = sum+v, all && ok
		}
		if all {
			s.parts, s.whole = append(s.parts, sum), append(s.whole, values[s.Hosts][block])
		}
	}
	s.Parts = stat.Median(s.parts, single)
}

// meanPerBlock is PerBlock of the means of the values' histograms. It reports false when
// a trial has none.
func meanPerBlock(trials []record.Result, name string) (map[int]float64, bool) {
	means := make([]record.Result, 0, len(trials))
	for _, r := range trials {
		v, ok := r.Get(name)
		if r.Status != record.OK || !ok {
			continue
		}
		h, err := hdrhistogram.Decode([]byte(v.Hist))
		if v.Hist == "" || err != nil {
			return nil, false
		}
		means = append(means, record.Result{Block: r.Block, Status: r.Status, Values: []record.Value{{Name: name, Value: h.Mean() / 1e9}}})
	}
	return PerBlock(means, name), true
}

// comparisons returns how many ratios the chain has.
func (c Chain) comparisons() (n int) {
	for _, s := range c.Spans {
		if len(s.whole) > 0 {
			n++
		}
	}
	return n
}

// compare fills in the ratios.
func (c Chain) compare(confidence float64) {
	for i := range c.Spans {
		s := &c.Spans[i]
		if s.Refused = Refused(s.trials...); s.Refused != "" || len(s.whole) == 0 {
			continue
		}
		s.Ratio, _, _, _ = stat.Paired(s.parts, s.whole, confidence)
		s.Same = s.Ratio.Contains(1)
	}
}
