package analysis

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/record"
)

// pair is the factor whose levels are two hosts, A-B. It names no table: a block
// measures all pairs, and is one sample all the same, for its pairs are measured at
// the same time, on the same machine.
const pair = "pair"

// values are one value of the ok trials of a cell: by block, and by pair in it, which
// is "" in a study that has none. Several trials of one pair in one block are no
// replicates: it is their mean.
type values map[int]map[string]float64

func valuesOf(trials []record.Result, name string) values {
	vs, n := values{}, map[int]map[string]float64{}
	for _, r := range trials {
		v, ok := r.Get(name)
		if !ok || r.Status != record.OK {
			continue
		}
		if vs[r.Block] == nil {
			vs[r.Block], n[r.Block] = map[string]float64{}, map[string]float64{}
		}
		of, mean := r.Config[pair], vs[r.Block]
		n[r.Block][of]++
		mean[of] += v.Value/n[r.Block][of] - mean[of]/n[r.Block][of] // a sum may overflow
	}
	return vs
}

// perBlock returns what of makes of the pairs of each block.
func (vs values) perBlock(of func([]float64) float64) map[int]float64 {
	out := map[int]float64{}
	for block, pairs := range vs {
		var each []float64
		for _, p := range slices.Sorted(maps.Keys(pairs)) {
			each = append(each, pairs[p])
		}
		out[block] = of(each)
	}
	return out
}

// PerBlock returns the value called name of each block that has an ok trial: the
// median over its pairs of hosts.
func PerBlock(trials []record.Result, name string) map[int]float64 {
	return valuesOf(trials, name).perBlock(median)
}

// match returns the blocks in which a and b have a pair in common, in order, and both
// medians over these pairs: that of other pairs is of other paths.
func match(a, b values) (blocks []int, x, y []float64) {
	for _, block := range slices.Sorted(maps.Keys(a)) {
		var of, by []float64
		for p, v := range a[block] {
			if w, ok := b[block][p]; ok {
				of, by = append(of, v), append(by, w)
			}
		}
		if of != nil {
			blocks, x, y = append(blocks, block), append(x, median(of)), append(y, median(by))
		}
	}
	return blocks, x, y
}

// values are those of the row's table's metric.
func (r Row) values() values {
	vs := values{}
	for _, p := range r.Points {
		if p.Has && p.Status == record.OK {
			if vs[p.Block] == nil {
				vs[p.Block] = map[string]float64{}
			}
			vs[p.Block][p.Pair] = p.Value
		}
	}
	return vs
}

// Pair returns the values of two rows of a table for the blocks in which both
// have an ok trial, in the order of the blocks.
func Pair(base, other Row) (a, b []float64) {
	_, a, b = match(base.values(), other.values())
	return a, b
}

// Hosts returns the medians over blocks of the row's metric by the hosts of client
// and server, and the hosts; none when its study does not measure pairs.
func (r Row) Hosts() (hosts []string, medians map[[2]string]float64) {
	all := map[[2]string][]float64{}
	for _, p := range r.Points {
		from, to, ok := strings.Cut(p.Pair, "-")
		if !ok {
			continue
		}
		hosts = appendNew(hosts, from, to)
		if p.Swapped {
			from, to = to, from
		}
		if p.Has && p.Status == record.OK {
			all[[2]string{from, to}] = append(all[[2]string{from, to}], p.Value)
		}
	}
	slices.SortFunc(hosts, Natural)
	medians = map[[2]string]float64{}
	for at, vs := range all {
		medians[at] = median(vs)
	}
	return hosts, medians
}
