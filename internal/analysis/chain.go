package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/stat"
)

// crossed is what a trial on a line of hosts observed: the hosts that its packets
// passed, in the order of the line.
const crossed = "path.hosts"

// meanValue is a response time of tools that report no median (package probe).
const meanValue = "rtt.mean"

// A Chain is one network on which a probe measured over several segments of a line
// of hosts, and over each of these segments by itself.
type Chain struct {
	Probe   string            `json:"probe"`
	Network string            `json:"network"`
	Levels  map[string]string `json:"levels,omitempty"` // of the factors that vary, except who talks to whom
	Metric  string            `json:"metric"`
	Unit    string            `json:"unit"`
	// Adds: the values of segments add up, as times do. Other values of several
	// segments are divided by that of the first one.
	Adds bool `json:"adds"`
	// Mean: a trial's value is the mean of its requests. Means add up; medians do so roughly.
	Mean  bool   `json:"mean"`
	Spans []Span `json:"spans"` // by their number of segments
}

// A Span is the path over the first so many segments of a chain.
type Span struct {
	Segments int           `json:"segments"`
	Hosts    string        `json:"hosts"`          // that packets pass
	Value    stat.Interval `json:"value"`          // median over blocks
	Parts    stat.Interval `json:"parts,omitzero"` // of what Value is compared with, likewise; N is 0 for the first segment
	Ratio    stat.Interval `json:"ratio,omitzero"` // Value divided by it, in the same block
	Same     bool          `json:"same,omitempty"` // the interval of Ratio contains 1
	Refused  string        `json:"refused,omitempty"`

	parts, whole []float64 // of the blocks that have all of them
	samples      []*Sample
}

// chains finds the chains of the run. compare adds their ratios, when their number is
// known.
func chains(tables []Table) []Chain {
	type place struct {
		probe, network, kind, levels string
	}
	paths := map[place]map[string]*Sample{} // by the hosts passed
	of := map[place]Chain{}
	var order []place
	for _, t := range tables {
		for _, r := range slices.SortedFunc(slices.Values(t.Rows), func(a, b Row) int { return Natural(a.Network, b.Network) }) {
			hosts := r.Observed[crossed]
			if hosts == "" {
				continue
			}
			p := place{t.Probe, r.Network, kind(t.Config[ends]), key(t.Config, ends)}
			if paths[p] == nil {
				paths[p] = map[string]*Sample{}
				of[p] = Chain{Probe: t.Probe, Network: r.Network, Levels: without(t.Levels, ends), Metric: t.Metric, Unit: t.Unit, Adds: t.Unit == "s"}
				order = append(order, p)
			}
			if paths[p][hosts] == nil {
				paths[p][hosts] = r.sample
			}
		}
	}
	var out []Chain
	for _, p := range order {
		for _, first := range firsts(paths[p]) {
			c := of[p]
			if c.fill(first, paths[p]); len(c.Spans) < 2 {
				continue
			}
			out = append(out, c)
			if path := (Chain{Probe: c.Probe, Network: c.Network, Levels: c.Levels, Metric: pathValue, Unit: c.Unit, Adds: true}); c.Adds {
				if path.fill(first, paths[p]); len(path.Spans) == len(c.Spans) {
					out = append(out, path)
				}
			}
		}
	}
	return out
}

// kind is a pair of ends without its numbers, which it shares with others of its kind.
func kind(pair string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, pair)
}

// firsts returns the hosts that paths begin with.
func firsts(paths map[string]*Sample) []string {
	found := map[string]bool{}
	for p := range paths {
		found[strings.Fields(p)[0]] = true
	}
	return slices.SortedFunc(maps.Keys(found), Natural)
}

// fill adds the spans from the first host on whose segments were all measured.
func (c *Chain) fill(first string, paths map[string]*Sample) {
	var spans [][]string
	for p := range paths {
		if hosts := strings.Fields(p); hosts[0] == first && len(hosts) > 1 {
			spans = append(spans, hosts)
		}
	}
	slices.SortFunc(spans, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
	values := c.values(paths)
	for _, hosts := range spans {
		name := strings.Join(hosts, " ")
		all, samples := []Series{values[name]}, []*Sample{paths[name]} // and the segments
		for i := range hosts[1:] {
			if segment := hosts[i] + " " + hosts[i+1]; c.Adds || i == 0 {
				all, samples = append(all, values[segment]), append(samples, paths[segment])
			}
		}
		if slices.ContainsFunc(all, func(s Series) bool { return s.Len() == 0 }) {
			continue
		}
		s := Span{Segments: len(hosts) - 1, Hosts: name, Value: stat.Median(values[name].medians(), single)}
		if s.Segments > 1 {
			s.samples = samples
			_, v := Common(all...)
			s.whole = v[0]
			for i := range s.whole {
				sum := 0.0
				for _, segment := range v[1:] {
					sum += segment[i]
				}
				s.parts = append(s.parts, sum)
			}
			s.Parts = stat.Median(s.parts, single)
		}
		c.Spans = append(c.Spans, s)
	}
}

// values returns what the trials of each path measured: the means of requests where all
// times have histograms, else the values themselves.
func (c *Chain) values(paths map[string]*Sample) map[string]Series {
	means, values := map[string]Series{}, map[string]Series{}
	all := c.Adds
	for p, s := range paths {
		values[p] = s.Values(c.Metric)
		if all {
			means[p], all = s.means(c.Metric)
		}
	}
	c.Mean = all || c.Metric == meanValue
	if all {
		return means
	}
	return values
}

// means returns the means of the values' histograms, and false when a trial has none.
func (s *Sample) means(name string) (Series, bool) {
	m := newMeans(s.places())
	for i, t := range s.ok {
		v, ok := t.Get(name)
		if !ok {
			continue
		}
		h, err := hdrhistogram.DecodePacked([]byte(v.Hist))
		if err != nil {
			return Series{}, false
		}
		m.add(i, h.Mean()/1e9)
	}
	return m.series(), true
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
		if s.Refused = Refused(s.samples...); s.Refused != "" || len(s.whole) == 0 {
			continue
		}
		s.Ratio, _, _, _ = stat.Paired(s.parts, s.whole, confidence)
		s.Same = s.Ratio.Contains(1)
	}
}
