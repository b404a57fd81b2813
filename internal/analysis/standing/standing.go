// Package standing tells which machines of a run between all pairs are slow, as senders, receivers or both.
//
// It must not know trials or tables: it gets values between two machines, and returns ratios.
package standing

import (
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

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

// A Value is what was measured from one machine to another.
type Value struct {
	Block    int
	From, To int    // indices of hosts
	Kind     string // values of one block and kind are comparable: the zones of both ends
	V        float64
}

// A shot is one value between two hosts.
type shot struct {
	block    int // index
	from, to int // hosts
	spot     int // where values are comparable: a block, and a kind
	v        float64
}

// A Field is values by hosts.
type Field struct {
	Standing
	shots    []shot
	of       [][]int // shots by host
	blocks   int
	kinds    int
	eachPair float64                           // confidence of each comparison of pairs
	widen    func(stat.Interval) stat.Interval // for what disturbed the run
	slow     [][2]bool                         // by host: as sender, and as receiver
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

// New returns a field of values, in the order of their blocks. widen widens an interval for what disturbed the run.
func New(s Standing, values []Value, widen func(stat.Interval) stat.Interval) *Field {
	f := &Field{Standing: s, widen: widen, of: make([][]int, len(s.Hosts)), slow: make([][2]bool, len(s.Hosts))}
	blocks, kinds := map[int]int{}, map[string]int{}
	for _, v := range values {
		for _, h := range []int{v.From, v.To} {
			f.Hosts[h].OK++
			f.of[h] = append(f.of[h], len(f.shots))
		}
		f.shots = append(f.shots, shot{block: numbered(blocks, v.Block), from: v.From, to: v.To, spot: numbered(kinds, v.Kind), v: v.V})
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
