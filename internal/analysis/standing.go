package analysis

import (
	"maps"
	"math"
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
	// in which it is the client or the server. Neither side has pairs of other slow machines.
	Ratio    stat.Interval `json:"ratio"`
	Sender   stat.Interval `json:"sender,omitzero"`
	Receiver stat.Interval `json:"receiver,omitzero"`
	// Slow means that the machine is worse than the others, and by more than they and their pairs differ.
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
	each, apart := stat.Adjust(confidence, intervals), stat.Adjust(confidence, hosts)
	for _, f := range fields {
		f.Each, f.apart = each, apart
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
	shots  []shot
	of     [][]int // shots by host
	blocks int
	kinds  int     // pairs of zones
	apart  float64 // confidence of each comparison of pairs
	busy   *Disturbance
	slow   []bool // by host
	// Of shots without a slow host:
	totals []amount // by spot
	pairs  []pairOf
}

type amount struct{ sum, n float64 }

func (a *amount) add(v float64) { a.sum, a.n = a.sum+v, a.n+1 }

func (a amount) mean() float64 { return a.sum / a.n }

// A pairOf is two hosts and the mean of their values, each divided by the mean of its spot.
type pairOf struct {
	a, b int
	amount
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
	f.of, f.slow = make([][]int, len(f.Hosts)), make([]bool, len(f.Hosts))
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

// compare finds the slow machines, the slowest first, each compared without those found before: their
// pairs would make others look fast, and themselves less slow.
func (f *field) compare() {
	var found []int
	for range f.Hosts {
		f.total()
		slowest := -1
		for h := range f.Hosts {
			if f.slow[h] {
				continue
			}
			r := &f.Hosts[h].Ratio
			*r = f.ratio(h, either)
			if f.Worse(*r) && (slowest < 0 || math.Abs(r.Center-1) > math.Abs(f.Hosts[slowest].Ratio.Center-1)) && f.standsOut(h) {
				slowest = h
			}
		}
		if slowest < 0 {
			break
		}
		f.slow[slowest], found = true, append(found, slowest)
	}
	f.confirm(found)
	f.total()
	for h := range f.Hosts {
		x := &f.Hosts[h]
		x.Ratio, x.Sender, x.Receiver = f.ratio(h, either), f.ratio(h, sender), f.ratio(h, receiver)
	}
}

// confirm keeps those slow machines that are farther from the others than those are from each other. It
// begins with the last one found, the least slow, and a machine that is not far enough away joins the
// others: if machines differ by nature, the slowest must leave the range of all of them.
func (f *field) confirm(found []int) {
	for len(found) > 0 && !f.far(found[len(found)-1]) {
		last := len(found) - 1
		f.slow[found[last]], found = false, found[:last]
		f.total()
	}
	for _, h := range found {
		f.Hosts[h].Slow = true
	}
}

// far reports whether the mean of a slow host is outside the range that the means of the other machines
// predict for one more (a t prediction interval of logarithms). Machines are its units: pairs share
// machines, so their means are not independent of each other. Two machines have only one pair, which says
// nothing about how machines differ.
func (f *field) far(h int) bool {
	var own amount
	means := make([]amount, len(f.Hosts))
	for _, s := range f.shots {
		a, b := s.from, s.to
		all := f.totals[s.spot]
		switch {
		case !(all.sum > 0):
		case a == h && !f.slow[b], b == h && !f.slow[a]:
			own.add(s.v / all.mean())
		case !f.slow[a] && !f.slow[b]:
			means[a].add(s.v / all.mean())
			means[b].add(s.v / all.mean())
		}
	}
	var others []float64
	for _, m := range means {
		if m.n > 0 {
			others = append(others, m.mean())
		}
	}
	i := stat.LogMean(others, f.apart)
	if i.N < 3 || own.n == 0 || !i.Bounded() {
		return true
	}
	// The interval of a mean of n values is √(n+1) times as narrow as that of one more value. A machine's
	// mean has its own part and the average part of its n-1 partners, so that one that is slower than the
	// others has faster partners than they: their means lie closer together than machines do.
	n := float64(i.N)
	most := math.Log(i.Hi/i.Center) * math.Sqrt(n+1) * (n - 1) / (n - 2)
	return math.Abs(math.Log(own.mean()/i.Center)) > most
}

// A role is the part of a machine in a pair.
type role int

const (
	either role = iota
	sender
	receiver
)

// total sums up the shots without a slow host.
func (f *field) total() {
	f.totals, f.pairs = make([]amount, f.blocks*f.kinds), nil
	for _, s := range f.shots {
		if !f.slow[s.from] && !f.slow[s.to] {
			f.totals[s.spot].add(s.v)
		}
	}
	index := map[[2]int]int{}
	for _, s := range f.shots {
		if all := f.totals[s.spot]; !f.slow[s.from] && !f.slow[s.to] && all.sum > 0 {
			a, b := min(s.from, s.to), max(s.from, s.to)
			i := numbered(index, [2]int{a, b})
			if i == len(f.pairs) {
				f.pairs = append(f.pairs, pairOf{a: a, b: b})
			}
			f.pairs[i].add(s.v / all.mean())
		}
	}
}

// ratio compares the values of a host with the mean of pairs of other machines where it has values.
func (f *field) ratio(h int, as role) stat.Interval {
	own, all := make([]amount, len(f.totals)), make([]amount, len(f.totals))
	for _, i := range f.of[h] {
		s := f.shots[i]
		if f.slow[s.from+s.to-h] { // the other end
			continue
		}
		all[s.spot].add(s.v)
		if as == either || as == sender && s.from == h || as == receiver && s.to == h {
			own[s.spot].add(s.v)
		}
	}
	var mine, others []float64 // by block
	for block := range f.blocks {
		var a, b amount
		for spot := block * f.kinds; spot < (block+1)*f.kinds; spot++ {
			rest := f.totals[spot]
			if !f.slow[h] {
				rest = amount{rest.sum - all[spot].sum, rest.n - all[spot].n}
			}
			if x := own[spot]; x.n > 0 && rest.n > 0 {
				a.add(x.sum)
				b.add(x.n * rest.mean())
			}
		}
		if a.n > 0 {
			mine, others = append(mine, a.sum), append(others, b.sum)
		}
	}
	if mine == nil {
		return stat.Interval{}
	}
	i := stat.Sums(mine, others, f.Each)
	i.Lo = max(0, i.Lo)
	return f.busy.Widen(i)
}

// standsOut reports whether the pairs of a host differ from the others by more than those differ from
// each other. Every pair has a path of its own, so with enough blocks the means of all machines differ.
func (f *field) standsOut(h int) bool {
	var own, others []float64
	for _, p := range f.pairs {
		if p.a == h || p.b == h {
			own = append(own, p.mean())
		} else {
			others = append(others, p.mean())
		}
	}
	if len(own) == 0 || len(others) == 0 {
		return false
	}
	if i := stat.Unpaired(others, own, stat.ScatterOf(others), f.apart); i.Bounded() {
		return !i.Contains(1)
	}
	// Too few to know how pairs differ, or nothing arrived.
	return slices.Max(own) < muchWorse*slices.Min(others) || muchWorse*slices.Min(own) > slices.Max(others)
}

// muchWorse is how much worse all pairs of a machine must be than all others where those are too few to know
// how pairs differ: three machines have three.
const muchWorse = 0.75

// MachineOf returns the machine that a host of a pair is; in the lab, one with the host's name.
func (r *Run) MachineOf(host string) Machine {
	if m, ok := r.byHost[host]; ok {
		return m
	}
	return Machine{Name: host}
}
