package analysis

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Machine is a host that a target found.
type Machine struct {
	Name string `json:"name"` // by which the user calls it
	Zone string `json:"zone,omitempty"`
}

// A Standing compares the pairs of each machine with all other pairs, over one network under one probe.
type Standing struct {
	Probe   string            `json:"probe"`
	Levels  map[string]string `json:"levels,omitempty"` // those that vary between tables of the probe
	Network string            `json:"network"`
	Metric  record.Quantity   `json:"metric"`
	Unit    string            `json:"unit"`
	Each    float64           `json:"each"` // confidence of each ratio: all of a run hold together
	Hosts   []HostStanding    `json:"hosts"`
}

// A HostStanding compares one machine's pairs with all pairs of other machines.
type HostStanding struct {
	Host string `json:"host"` // as in pairs
	// Ratio is the sum over blocks of the values of its pairs ÷ the sum of what pairs of other machines
	// carried in the same blocks and between the same zones. Sender and Receiver are the same for the pairs
	// in which it is the client or the server. Neither side has pairs in which another machine is slow.
	Ratio    stat.Interval `json:"ratio"`
	Sender   stat.Interval `json:"sender,omitzero"`
	Receiver stat.Interval `json:"receiver,omitzero"`
	// Slow means that the machine is worse than the others, in both directions or in one, and by more than they and their
	// pairs differ.
	Slow   bool `json:"slow,omitempty"`
	OK     int  `json:"ok"` // its trials that count, of Trials
	Trials int  `json:"trials"`
}

// Worse reports whether a ratio is worse than 1 beyond its interval.
func (s Standing) Worse(i stat.Interval) bool {
	return i.Bounded() && !i.Contains(1) && (i.Center < 1) != s.Metric.LowerIsBetter(s.Unit)
}

// standings compares the machines of a run that measures all pairs, in every row of its tables. It needs
// three machines: the only pair of two is both machines'.
func (r *Run) standings(confidence float64) (out []Standing) {
	var fields []*field
	intervals, hosts := 0, 0
	for t, row := range r.Rows() {
		if f := r.fieldOf(t, row); len(f.Hosts) > 2 && len(f.shots) > 0 {
			fields = append(fields, f)
			intervals, hosts = intervals+3*len(f.Hosts), hosts+len(f.Hosts)
		}
	}
	each, pairs := stat.Adjust(confidence, intervals), stat.Adjust(confidence, 3*hosts)
	for _, f := range fields {
		f.Each, f.eachPair = each, pairs
		f.compare()
		out = append(out, f.Standing)
	}
	return out
}

// A shot is one value between two hosts.
type shot struct {
	block    int // index
	from, to int // hosts
	spot     int // where values are comparable: a block, and the zones of both ends
	v        float64
}

// A field is the values of a row by hosts.
type field struct {
	Standing
	shots    []shot
	of       [][]int // shots by host
	blocks   int
	kinds    int     // pairs of zones
	eachPair float64 // confidence of each comparison of pairs
	busy     *Disturbance
	slow     [][2]bool // by host: as sender, and as receiver
	// Of shots without a slow host in its role:
	totals []amount // by spot
	pairs  []pairOf
}

type amount struct{ sum, n float64 }

func (a *amount) add(v float64) { a.sum, a.n = a.sum+v, a.n+1 }

func (a amount) mean() float64 { return a.sum / a.n }

func (a amount) and(b amount) amount { return amount{a.sum + b.sum, a.n + b.n} }

// A pairOf is two hosts and their values, each divided by the mean of its spot, from a to b and from b to a.
type pairOf struct {
	a, b int
	ways [2]amount
}

// fieldOf collects the values of a row that measured pairs of hosts.
func (r *Run) fieldOf(t *Table, row *Row) *field {
	f := &field{Standing: Standing{Probe: t.Probe, Levels: t.Levels, Network: row.Network, Metric: t.Metric, Unit: t.Unit}, busy: row.Busy}
	index, blocks := map[string]int{}, map[int]int{}
	for _, p := range row.Points {
		if a, b, ok := strings.Cut(p.Pair, "-"); ok {
			index[a], index[b] = 0, 0
		}
	}
	zones, kinds := map[string]string{}, map[string]int{}
	for i, h := range slices.SortedFunc(maps.Keys(index), Natural) {
		index[h], zones[h] = i, r.MachineOf(h).Zone
		f.Hosts = append(f.Hosts, HostStanding{Host: h})
	}
	f.of, f.slow = make([][]int, len(f.Hosts)), make([][2]bool, len(f.Hosts))
	for _, p := range row.Points {
		a, b, ok := strings.Cut(p.Pair, "-")
		if !ok {
			continue
		}
		from, to := index[a], index[b]
		if p.Swapped {
			from, to = to, from
		}
		counts := p.Has && row.Counts(p.Status)
		for _, h := range []int{from, to} {
			f.Hosts[h].Trials++
			if counts {
				f.Hosts[h].OK++
				f.of[h] = append(f.of[h], len(f.shots))
			}
		}
		if !counts {
			continue
		}
		numbered(blocks, p.Block) // points are in the order of blocks
		kind := numbered(kinds, min(zones[a], zones[b])+"\x00"+max(zones[a], zones[b]))
		f.shots = append(f.shots, shot{block: blocks[p.Block], from: from, to: to, spot: kind, v: p.Value})
	}
	f.blocks, f.kinds = len(blocks), len(kinds)
	for i := range f.shots {
		f.shots[i].spot += f.shots[i].block * f.kinds
	}
	return f
}

// numbered returns the number of key in m, from 0, and adds it if it is new.
func numbered[K comparable](m map[K]int, key K) int {
	if _, ok := m[key]; !ok {
		m[key] = len(m)
	}
	return m[key]
}

// MachineOf returns the machine that a host of a pair is; in the lab, one with the host's name.
func (r *Run) MachineOf(host string) Machine {
	if m, ok := r.byHost[host]; ok {
		return m
	}
	return Machine{Name: host}
}
