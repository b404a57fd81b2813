package analysis

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis/standing"
	"github.com/weir-bench/weir/internal/stat"
)

// A Machine is a host that a target found.
type Machine struct {
	Name string `json:"name"` // by which the user calls it
	Zone string `json:"zone,omitempty"`
}

// standings compares the machines of a run that measures all pairs, in every row of its tables. It needs
// three machines: the only pair of two is both machines'.
func (r *Run) standings(confidence float64) (out []standing.Standing) {
	var fields []*standing.Field
	intervals, hosts := 0, 0
	for t, row := range r.Rows() {
		if f := r.fieldOf(t, row); f != nil {
			fields = append(fields, f)
			intervals, hosts = intervals+3*len(f.Hosts), hosts+len(f.Hosts)
		}
	}
	each, pairs := stat.Adjust(confidence, intervals), stat.Adjust(confidence, 3*hosts)
	for _, f := range fields {
		out = append(out, f.Compare(each, pairs))
	}
	return out
}

// fieldOf collects the values of a row that measured pairs of three hosts or more; nil of another one.
func (r *Run) fieldOf(t *Table, row *Row) *standing.Field {
	s := standing.Standing{Probe: t.Probe, Levels: t.Levels, Network: row.Network, Metric: t.Metric, Unit: t.Unit}
	index := map[string]int{}
	for _, p := range row.Points {
		if a, b, ok := strings.Cut(p.Pair, "-"); ok {
			index[a], index[b] = 0, 0
		}
	}
	zones := map[string]string{}
	for i, h := range slices.SortedFunc(maps.Keys(index), Natural) {
		index[h], zones[h] = i, r.MachineOf(h).Zone
		s.Hosts = append(s.Hosts, standing.HostStanding{Host: h})
	}
	var values []standing.Value
	for _, p := range row.Points { // in the order of blocks
		a, b, ok := strings.Cut(p.Pair, "-")
		if !ok {
			continue
		}
		from, to := index[a], index[b]
		if p.Swapped {
			from, to = to, from
		}
		s.Hosts[from].Trials++
		s.Hosts[to].Trials++
		if p.Has && row.Counts(p.Status) {
			kind := min(zones[a], zones[b]) + "\x00" + max(zones[a], zones[b])
			values = append(values, standing.Value{Block: p.Block, From: from, To: to, Kind: kind, V: p.Value})
		}
	}
	if len(s.Hosts) < 3 || values == nil {
		return nil
	}
	return standing.New(s, values, row.Busy.Widen)
}

// MachineOf returns the machine that a host of a pair is; in the lab, one with the host's name.
func (r *Run) MachineOf(host string) Machine {
	if m, ok := r.byHost[host]; ok {
		return m
	}
	return Machine{Name: host}
}
