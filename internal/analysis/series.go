package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A slot is a block and, within it, a pair of hosts, "" if the study has no pairs, and how far apart the CPUs were.
type slot struct {
	block int
	pair  string
	cores coreDistance
}

func (a slot) compare(b slot) int {
	return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.pair, b.pair), cmp.Compare(a.cores, b.cores))
}

func slotOf(r *record.Result) slot { return slot{block: r.Block, pair: r.Config[hostPair]} }

// A Series holds one value of a cell's ok trials by block and pair of hosts. Several trials of one
// pair in one block are not replicates: it holds their mean.
type Series struct {
	slots []slot // sorted
	v     []float64
}

// Len returns the number of slots with a value.
func (s Series) Len() int { return len(s.v) }

// Positive omits values that are not above 0.
func (s Series) Positive() (out Series) {
	for i, v := range s.v {
		if v > 0 {
			out.slots, out.v = append(out.slots, s.slots[i]), append(out.v, v)
		}
	}
	return out
}

// perBlock reduces the values of each block's pairs to one number.
func (s Series) perBlock(of func([]float64) float64) (out []float64) {
	out = slices.Grow(out, len(s.v))
	for i, j := 0, 0; i < len(s.v); i = j {
		for j < len(s.v) && s.slots[j].block == s.slots[i].block {
			j++
		}
		out = append(out, of(s.v[i:j]))
	}
	return out
}

func (s Series) medians() []float64 { return s.perBlock(stat.Middle) }

// at returns the values at those of the slots that the series has. A slot whose distance is unknown matches every distance.
func (s Series) at(slots []slot) (out Series) {
	if slices.Equal(s.slots, slots) { // mostly: every trial of a cell has the same values
		return s
	}
	for _, p := range slots {
		if i, ok := s.find(p); ok {
			p.cores = max(p.cores, s.slots[i].cores)
			out.slots, out.v = append(out.slots, p), append(out.v, s.v[i])
		}
	}
	return out
}

// find returns the index of a slot: the same one, or one of the block and the pair if either's distance is unknown.
func (s Series) find(p slot) (i int, ok bool) {
	if i, ok = slices.BinarySearchFunc(s.slots, p, slot.compare); ok {
		return i, true
	}
	unknown := slot{block: p.block, pair: p.pair} // before all others of the block and the pair
	if i, ok = slices.BinarySearchFunc(s.slots, unknown, slot.compare); ok || p.cores != coresAny {
		return i, ok
	}
	return i, i < len(s.slots) && s.slots[i].block == p.block && s.slots[i].pair == p.pair
}

// Common pairs series within blocks. It returns, in order, the blocks in which all series share a
// pair of hosts, and the medians of each series over the shared pairs: other pairs use other paths. As far as is known,
// the CPUs were equally far apart before all of their trials. Every ratio uses Common.
func Common(all ...Series) (blocks []int, values [][]float64) {
	common := all[0].slots
	for _, s := range all[1:] {
		common = s.at(common).slots
	}
	for _, s := range all {
		values = append(values, s.at(common).medians())
	}
	for _, p := range common {
		blocks = append(blocks, p.block)
	}
	return slices.Compact(blocks), values
}

// Hosts returns the medians over blocks of the row's metric by client and server host, if any.
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
		if p.Has && r.Counts(p.Status) {
			all[[2]string{from, to}] = append(all[[2]string{from, to}], p.Value)
		}
	}
	medians = map[[2]string]float64{}
	for at, vs := range all {
		medians[at] = stat.Middle(vs)
	}
	return slices.SortedFunc(maps.Keys(seen), Natural), medians
}

func mean(v []float64) float64 {
	m := 0.0
	for i, x := range v {
		m += (x - m) / float64(i+1) // a sum could overflow
	}
	return m
}

// MeanSD returns the mean and the standard deviation of a sample, with N-1 in the denominator.
func MeanSD(v []float64) (m, sd float64) { return mean(v), deviation(v) }

// deviation returns the standard deviation of a sample, 0 for fewer than two values.
func deviation(v []float64) float64 {
	m, root := mean(v), 0.0
	for _, x := range v {
		root = math.Hypot(root, x-m) // a sum of squares could overflow
	}
	return min(root/math.Sqrt(float64(max(1, len(v)-1))), math.MaxFloat64)
}
