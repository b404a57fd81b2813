package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// An Agreement compares the results of several probes that measure the same quantity.
type Agreement struct {
	Measures string
	Levels   map[string]string // of the factors that they share
	Datagram string            // UDP payload, bytes; "" for other protocols
	Unit     string
	Tables   []Table    // one per probe
	Values   []Clusters // by network
	Ratios   []Clusters // by network, without the baseline
}

// Clusters groups the probes on one network by overlapping intervals; one means agreement.
type Clusters struct {
	Network  string
	Clusters []Cluster
}

// A Cluster is a set of probes whose intervals all contain Lo to Hi.
type Cluster struct {
	Lo, Hi float64
	Probes []string
}

// Agreements groups the tables of probes that measure the same quantity with the same datagram size
// and levels. measures maps each probe to its quantity. It omits probes without a counterpart, and
// sets of probes that are one tool with different options: those are expected to differ.
func (r *Run) Agreements(measures map[string]string) []Agreement {
	type same struct{ measures, levels, datagram, unit string }
	at := map[same]int{}
	var out []Agreement
	for _, t := range r.Tables {
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
		for _, n := range r.Networks {
			if value := clusters(out[i].Tables, n, func(r Row) stat.Interval { return r.Value }); value != nil {
				out[i].Values = append(out[i].Values, Clusters{n, value})
			}
			if ratio := clusters(out[i].Tables, n, func(r Row) stat.Interval { return r.Ratio }); ratio != nil {
				out[i].Ratios = append(out[i].Ratios, Clusters{n, ratio})
			}
		}
	}
	return out
}

func oneTool(tables []Table) bool {
	tools := map[string]bool{}
	for _, r := range rowsOf(tables) {
		if r.Counted() > 0 {
			tools[record.Tool.Of(r.Observed)] = true
		}
	}
	return len(tools) == 1 && !tools[""]
}

// datagram returns the size that all ok trials of the first row observed, "" if they differ.
func (t Table) datagram() string {
	if i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Counted() > 0 }); i >= 0 {
		return t.Rows[i].Observed[record.Datagram.Key()]
	}
	return ""
}

// clusters returns the fewest clusters; nil when fewer than two probes have an interval. It sorts
// intervals by their lower ends and adds each to the current cluster while all share a point.
func clusters(tables []Table, network string, of func(Row) stat.Interval) []Cluster {
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
	var out []Cluster
	for _, f := range all {
		if len(out) == 0 || f.Lo > out[len(out)-1].Hi {
			out = append(out, Cluster{Hi: f.Hi})
		}
		c := &out[len(out)-1]
		c.Lo, c.Hi, c.Probes = f.Lo, min(c.Hi, f.Hi), append(c.Probes, f.probe)
	}
	return out
}
