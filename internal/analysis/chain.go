package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Chain is one network measured over several segments of a line of hosts, and over each alone.
type Chain struct {
	Probe   string            `json:"probe"`
	Network string            `json:"network"`
	Levels  map[string]string `json:"levels,omitempty"` // of the factors that vary, except the ends
	Metric  record.Quantity   `json:"metric"`
	Unit    string            `json:"unit"`
	// Adds is set when segment values add up, as times do. Others are divided by the first.
	Adds bool `json:"adds"`
	// Mean is set when values are means over requests. Means add up; medians do so roughly.
	Mean  bool   `json:"mean"`
	Spans []Span `json:"spans"` // by number of segments
}

// A Span is the path over the first segments of a chain.
type Span struct {
	Segments int           `json:"segments"`
	Hosts    string        `json:"hosts"`          // on the path
	Value    stat.Interval `json:"value"`          // median over blocks
	Parts    stat.Interval `json:"parts,omitzero"` // what Value is compared with; N is 0 for the first segment
	Ratio    stat.Interval `json:"ratio,omitzero"` // Value ÷ Parts in the same block
	Same     bool          `json:"same,omitempty"` // the interval of Ratio contains 1
	Busy     *Disturbance  `json:"busy,omitempty"` // set if disturbed trials count

	pairs   pairs     // Parts and Value of the complete blocks
	samples []*Sample // of the span, then of its segments
	values  map[*Sample]Series
}

// chains finds the chains of the run. compare adds their ratios later, when their number is known.
func chains(tables []Table) (out []Chain) {
	type slot struct{ probe, network, kind, levels string }
	type group struct {
		Chain
		paths map[string]*Sample // by the hosts passed
	}
	at := map[slot]*group{}
	var groups []*group
	for _, t := range tables {
		for _, r := range slices.SortedFunc(slices.Values(t.Rows), func(a, b Row) int { return Natural(a.Network, b.Network) }) {
			hosts := strings.Join(record.PathHosts.Of(r.Observed), " ")
			if hosts == "" {
				continue
			}
			p := slot{t.Probe, r.Network, kind(t.Config[ends]), key(t.Config, ends)}
			if at[p] == nil {
				c := Chain{Probe: t.Probe, Network: r.Network, Levels: without(t.Levels, ends), Metric: t.Metric, Unit: t.Unit, Adds: t.Unit == "s"}
				at[p] = &group{c, map[string]*Sample{}}
				groups = append(groups, at[p])
			}
			if at[p].paths[hosts] == nil {
				at[p].paths[hosts] = r.sample
			}
		}
	}
	for _, g := range groups {
		for _, first := range firsts(g.paths) {
			c, path := g.Chain, g.Chain
			if c.fill(first, g.paths) < 2 {
				continue
			}
			out = append(out, c)
			path.Metric = record.RTTPath
			if c.Adds && path.fill(first, g.paths) == len(c.Spans) {
				out = append(out, path)
			}
		}
	}
	return out
}

// kind strips the numbers from a pair of ends.
func kind(pair string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, pair)
}

// firsts returns the hosts where paths begin.
func firsts(paths map[string]*Sample) []string {
	found := map[string]bool{}
	for p := range paths {
		found[strings.Fields(p)[0]] = true
	}
	return slices.SortedFunc(maps.Keys(found), Natural)
}

// fill adds the spans that start at first, if all their segments were measured, and counts them.
func (c *Chain) fill(first string, paths map[string]*Sample) int {
	spans := slices.SortedFunc(maps.Keys(paths), func(a, b string) int { return cmp.Compare(strings.Count(a, " "), strings.Count(b, " ")) })
	values := c.values(paths)
	for _, name := range spans {
		hosts := strings.Fields(name)
		if hosts[0] != first || len(hosts) == 1 {
			continue
		}
		s := Span{Segments: len(hosts) - 1, Hosts: name, samples: []*Sample{paths[name]}, values: values}
		for i := range hosts[1:] {
			if segment := hosts[i] + " " + hosts[i+1]; s.Segments > 1 && (c.Adds || i == 0) {
				s.samples = append(s.samples, paths[segment])
			}
		}
		if !slices.Contains(s.samples, nil) && s.count(0) {
			c.Spans = append(c.Spans, s)
		}
	}
	return len(c.Spans)
}

// count fills in the span from the trials that count in a comparison at this confidence. It returns
// false if the span or a segment has none.
func (s *Span) count(confidence float64) bool {
	samples, busy := Steady(confidence, s.samples...)
	var all []Series
	for _, x := range samples {
		all = append(all, s.values[x])
	}
	if slices.ContainsFunc(all, func(s Series) bool { return s.Len() == 0 }) {
		return false
	}
	s.Busy, s.Value = busy, stat.Median(all[0].medians(), single)
	if s.Segments == 1 {
		return true
	}
	blocks, v := Common(all...)
	parts := v[1]
	for _, segment := range v[2:] {
		for i := range parts {
			parts[i] += segment[i]
		}
	}
	if len(blocks) > 0 {
		s.Value = stat.Median(v[0], single)
	}
	s.Parts = stat.Median(parts, single)
	s.pairs = pairs{blocks, parts, v[0]}
	return true
}

// values returns means over requests if all trials have histograms, otherwise the values.
func (c *Chain) values(paths map[string]*Sample) map[*Sample]Series {
	means, values := map[*Sample]Series{}, map[*Sample]Series{}
	all := c.Adds
	for _, path := range paths {
		for _, s := range path.variants() {
			values[s] = s.Values(c.Metric)
			if all {
				means[s], all = s.means(c.Metric)
			}
		}
	}
	c.Mean = all || c.Metric == record.RTTMean
	if all {
		return means
	}
	return values
}

// means returns the means of the histograms, false if a trial has none.
func (s *Sample) means(name record.Quantity) (Series, bool) {
	m := newMeans(s.slots, s.at)
	for i, t := range s.ok {
		v, ok := t.Get(name)
		switch {
		case !ok && unanswered(t):
			m.add(i, math.Inf(1))
			continue
		case !ok:
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

func (c Chain) compare(confidence float64) {
	for i := range c.Spans {
		s := &c.Spans[i]
		if s.Segments == 1 || !s.count(confidence) || len(s.pairs.blocks) == 0 {
			continue
		}
		s.Ratio = s.Busy.paired(s.pairs.base, s.pairs.own, confidence)
		s.Same = s.Ratio.Contains(1)
	}
}
