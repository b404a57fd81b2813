package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/record"
)

// A place is where a value was measured: a block, and in it a pair of hosts, which is
// "" in a study that has none.
type place struct {
	block int
	pair  string
}

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.pair, b.pair))
}

func placeOf(r *record.Result) place { return place{r.Block, r.Config[hostPair]} }

// A Series is one value of the ok trials of a cell, by block and by pair of hosts.
// Several trials of one pair in one block are no replicates: it holds their mean.
type Series struct {
	places []place // sorted
	v      []float64
}

// Len returns the number of blocks and pairs that have a value.
func (s Series) Len() int { return len(s.v) }

// Positive returns the series without the values that have no ratio, such as after a
// stall: those that are not above 0.
func (s Series) Positive() (out Series) {
	for i, v := range s.v {
		if v > 0 {
			out.places, out.v = append(out.places, s.places[i]), append(out.v, v)
		}
	}
	return out
}

// perBlock returns one number per block, in the order of the blocks: what of makes of
// the values of its pairs.
func (s Series) perBlock(of func([]float64) float64) (out []float64) {
	for i, j := 0, 0; i < len(s.v); i = j {
		for j < len(s.v) && s.places[j].block == s.places[i].block {
			j++
		}
		out = append(out, of(s.v[i:j]))
	}
	return out
}

// medians returns the median over pairs of each block.
func (s Series) medians() []float64 { return s.perBlock(median) }

// at returns the values of those of the places that the series has.
func (s Series) at(places []place) (out Series) {
	for _, p := range places {
		if i, ok := slices.BinarySearchFunc(s.places, p, place.compare); ok {
			out.places, out.v = append(out.places, p), append(out.v, s.v[i])
		}
	}
	return out
}

// Common pairs series within blocks. It returns the blocks in which all of them have a
// pair of hosts in common, in order, and for each series its medians over these pairs:
// the values of other pairs come from other paths. Every ratio is made from it.
func Common(all ...Series) (blocks []int, values [][]float64) {
	common := all[0].places
	for _, s := range all[1:] {
		common = s.at(common).places
	}
	for _, s := range all {
		values = append(values, s.at(common).medians())
	}
	for _, p := range common {
		blocks = append(blocks, p.block)
	}
	return slices.Compact(blocks), values
}

// Pair returns the values of two rows in the blocks in which both have an ok trial.
func Pair(base, other Row) (a, b []float64) {
	_, v := Common(base.series, other.series)
	return v[0], v[1]
}

// Hosts returns the medians over blocks of the row's metric by the hosts of client
// and server, and the hosts; none when its study does not measure pairs.
func (r Row) Hosts() (hosts []string, medians map[[2]string]float64) {
	all := map[[2]string][]float64{}
	seen := map[string]bool{}
	for _, p := range r.Points {
		from, to, ok := strings.Cut(p.Pair, "-")
		if !ok {
			continue
		}
		seen[from], seen[to] = true, true
		if p.Swapped {
			from, to = to, from
		}
		if p.Has && p.Status == record.OK {
			all[[2]string{from, to}] = append(all[[2]string{from, to}], p.Value)
		}
	}
	medians = map[[2]string]float64{}
	for at, vs := range all {
		medians[at] = median(vs)
	}
	return slices.SortedFunc(maps.Keys(seen), Natural), medians
}

func mean(v []float64) float64 {
	m := 0.0
	for i, x := range v {
		m += (x - m) / float64(i+1) // not the sum first: it can be too large
	}
	return m
}

func median(v []float64) float64 {
	switch len(v) {
	case 0:
		return 0
	case 1:
		return v[0]/2 + v[0]/2
	}
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return v[(n-1)/2]/2 + v[n/2]/2
}
