package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
)

// An Agreement sets side by side what several probes found that measure the same.
type Agreement struct {
	Measures string
	Levels   map[string]string // of the factors that all of them have
	Datagram string            // payload of UDP, bytes; "" for others
	Unit     string
	Tables   []Table // one per probe
	Values   []Camps // by network
	Ratios   []Camps // by network, without the baseline
}

// Camps are the probes on one network, by whether their intervals meet. One camp
// is agreement.
type Camps struct {
	Network string
	Camps   []Camp
}

// A Camp is probes whose intervals all hold Lo to Hi.
type Camp struct {
	Lo, Hi float64
	Probes []string
}

// Agreements groups the tables of probes that measure the same with datagrams of
// the same size under the same levels. measures says what a probe measures. A
// probe that nothing can be set beside is left out, and so are probes that are one
// tool with several options, which is to differ.
func (p Pivot) Agreements(measures map[string]string) []Agreement {
	type same struct{ measures, levels, datagram, unit string }
	at := map[same]int{}
	var out []Agreement
	for _, t := range p.Tables {
		k := same{measures[t.Probe], key(t.Config), t.datagram(), t.Unit}
		if k.measures == "" || t.Metric == "" {
			continue
		}
		i, ok := at[k]
		if !ok {
			i, at[k] = len(out), len(out)
			out = append(out, Agreement{Measures: k.measures, Levels: maps.Clone(t.Levels), Datagram: k.datagram, Unit: t.Unit})
		}
		out[i].Tables = append(out[i].Tables, t)
	}
	out = slices.DeleteFunc(out, func(a Agreement) bool { return len(a.Tables) < 2 || oneTool(a.Tables) })
	for i := range out {
		for _, n := range p.Networks {
			value := camps(out[i].Tables, n, func(r Row) stat.Interval { return r.Value })
			ratio := camps(out[i].Tables, n, func(r Row) stat.Interval { return r.Ratio })
			if value != nil {
				out[i].Values = append(out[i].Values, Camps{n, value})
			}
			if ratio != nil {
				out[i].Ratios = append(out[i].Ratios, Camps{n, ratio})
			}
		}
	}
	return out
}

// oneTool reports whether all tables are known to be of one tool.
func oneTool(tables []Table) bool {
	tool := ""
	for _, t := range tables {
		for _, r := range t.Rows {
			name := r.Observed["tool"]
			if r.OK > 0 && (name == "" || tool != "" && name != tool) {
				return false
			}
			if r.OK > 0 {
				tool = name
			}
		}
	}
	return tool != ""
}

// Row returns the row of a network.
func (t Table) Row(network string) (Row, bool) {
	for _, r := range t.Rows {
		if r.Network == network {
			return r, true
		}
	}
	return Row{}, false
}

// datagram is the size that all ok trials of the table found alike.
func (t Table) datagram() string {
	for _, r := range t.Rows {
		if r.OK > 0 {
			return r.Observed["datagram"]
		}
	}
	return ""
}

// camps is nil when fewer than two probes have an interval. Intervals are taken by
// their lower ends, each into the camp before it as long as all have a point in
// common; so there are as few camps as can be.
func camps(tables []Table, network string, of func(Row) stat.Interval) []Camp {
	type found struct {
		probe string
		stat.Interval
	}
	var all []found
	for _, t := range tables {
		if r, ok := t.Row(network); ok && of(r).Bounded() {
			all = append(all, found{t.Probe, of(r)})
		}
	}
	if len(all) < 2 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.Lo, b.Lo) })
	var out []Camp
	for _, f := range all {
		last := len(out) - 1
		if last < 0 || f.Lo > out[last].Hi {
			out = append(out, Camp{Lo: f.Lo, Hi: f.Hi, Probes: []string{f.probe}})
			continue
		}
		c := &out[last]
		c.Lo, c.Hi, c.Probes = f.Lo, min(c.Hi, f.Hi), append(c.Probes, f.probe)
	}
	return out
}
