package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// mostWays is the most directions in which a run is judged separately: each is an analysis of its own.
const mostWays = 12

// A way is one direction between two hosts.
type way struct {
	pair    string
	swapped bool
}

// Ways returns the run as its trials in each direction show it, if it measured several, by hosts: what holds at a device,
// or at an end, holds in one direction. It returns none for a run in one direction, or in more than mostWays; several
// tells these two apart.
func (r *Run) Ways() (ways []*Run, several bool) {
	if r.directions == nil {
		r.directions = map[way]int{}
		for _, t := range r.trials {
			r.directions[wayOf(t)]++
		}
	}
	if n := len(r.directions); r.ways != nil || n < 2 || n > mostWays {
		return r.ways, n > 1
	}
	of := map[way][]record.Result{}
	for _, t := range r.trials {
		w := wayOf(t)
		of[w] = append(of[w], *t.Result)
	}
	order := slices.SortedFunc(maps.Keys(of), func(a, b way) int {
		return cmp.Or(cmp.Compare(a.pair, b.pair), cmp.Compare(strconv.FormatBool(a.swapped), strconv.FormatBool(b.swapped)))
	})
	o := r.options
	o.Networks, o.Probes, o.Contrasts = r.Networks, r.probes, nil
	for _, w := range order {
		r.ways = append(r.ways, New(of[w], o))
	}
	return r.ways, true
}

func wayOf(t trial) way { return way{t.Config[hostPair], record.Swapped.Of(t.Observed)} }

// Directions returns the ratio of a row's values in the blocks in which client and server changed places to its values in the other
// blocks, and the nodes of the sender and the receiver in these others. The interval holds by itself; without evidence of both
// directions there is no ratio.
func (r Row) Directions() (ratio stat.Interval, from, to string) {
	var there, back []float64
	for _, o := range r.Evidence() {
		v, ok := o.Get(r.metric)
		switch {
		case !ok:
		case record.Swapped.Of(o.Observed):
			back = append(back, v.Value)
		default:
			there = append(there, v.Value)
			from, to = o.Evidence.Sender.Node, o.Evidence.Receiver.Node
		}
	}
	if len(there) == 0 || len(back) == 0 {
		return stat.Interval{}, from, to
	}
	return stat.Unpaired(there, back, stat.ScatterOf(there, back), single), from, to
}
