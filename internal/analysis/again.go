package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/record"
)

// BlocksToRepeat returns the blocks to measure again, those with the most disturbed trials first. It returns
// as many as the comparison that lost the most, with the baseline or of a contrast, lost to disturbances;
// none if that is less than 5 % of the blocks, which costs an interval 2.5 % of its width.
func BlocksToRepeat(results []record.Result, o Options) []int {
	r := &Run{Baseline: o.Baseline}
	r.index(results)
	dirty := map[int]int{} // disturbed trials by block
	for _, t := range r.trials {
		if t.status == record.Disturbed {
			dirty[t.Block]++
		}
	}
	var compared [][]*Sample
	for _, s := range r.samples {
		compared = append(compared, []*Sample{s, r.cell(s.config, map[string]string{Network: o.Baseline})})
	}
	for _, c := range r.contrasts(o.Contrasts) {
		for _, x := range c.Rows {
			compared = append(compared, x.samples)
		}
	}
	lost := 0
	for _, samples := range compared {
		blocks := map[int]bool{}
		for _, x := range samples {
			if x == nil {
				continue
			}
			for _, t := range x.trials {
				if t.status == record.Disturbed {
					blocks[t.Block] = true
				}
			}
		}
		lost = max(lost, len(blocks))
	}
	const little = 20 // one in
	if lost*little < r.Blocks {
		return nil
	}
	blocks := slices.SortedFunc(maps.Keys(dirty), func(a, b int) int { return cmp.Or(cmp.Compare(dirty[b], dirty[a]), cmp.Compare(a, b)) })
	return blocks[:min(lost, len(blocks))]
}

// Loads returns a result with only the values that say how programs outside the run used its machines:
// DisturbedShare needs no others.
func Loads(r record.Result) record.Result {
	var values []record.Value
	for _, v := range r.Values {
		if v.Name.In(record.OthersUser, record.OthersSystem, record.CPUSteal, record.CPUFrequency, record.CPUs) {
			values = append(values, v)
		}
	}
	return record.Result{Trial: r.Trial, Block: r.Block, Status: r.Status, Start: r.Start, Elapsed: r.Elapsed, Config: r.Config, Values: values}
}

// DisturbedShare returns the fraction of a block's ok trials that were disturbed.
func DisturbedShare(results []record.Result, block int) float64 {
	r := &Run{}
	r.index(results)
	disturbed, all := 0.0, 0.0
	for _, t := range r.trials {
		if t.Block != block || t.status != record.OK && t.status != record.Disturbed {
			continue
		}
		if all++; t.status == record.Disturbed {
			disturbed++
		}
	}
	return disturbed / max(1, all)
}
