package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A Goal is what the searches of a cell found for one goal on loss, in the terms of draft-ietf-bmwg-mlrsearch. Rates are
// packet/s. Each is the median over the blocks whose search has it, of several runs pooled as values are (PooledCell), and holds by
// itself; N is 0 if none has it.
type Goal struct {
	Cell
	Config     map[string]string // all factors but network and probe
	Loss       string            // goal loss ratio, such as 0.5%
	Throughput stat.Interval     // conditional throughput
	Lower      stat.Interval     // relevant lower bound
	Upper      stat.Interval     // relevant upper bound; missing where the sender was the limit
	Found, Of  int               // trials with a conditional throughput, of those that count
}

// Goals lists the goals of one run, or of several together, by cell in the order of the tables, and then the smallest loss first.
func Goals(runs []*Run) (out []Goal) {
	var keys []string // in the order of out
	var found [][][3]stat.Interval
	for _, r := range runs {
		for t, row := range r.Rows() {
			for _, loss := range row.goals() {
				k := strings.Join([]string{t.Probe, key(t.Config), row.Network, loss}, "\x00")
				i := slices.Index(keys, k)
				if i < 0 {
					i = len(keys)
					keys, found = append(keys, k), append(found, nil)
					out = append(out, Goal{Cell: t.Cell(*row), Config: maps.Clone(t.Config), Loss: loss})
				}
				throughput := record.ThroughputAt.Goal(loss)
				found[i] = append(found[i], [3]stat.Interval{row.Estimate(throughput), row.Estimate(record.BoundLower.Goal(loss)), row.Estimate(record.BoundUpper.Goal(loss))})
				out[i].Found, out[i].Of = out[i].Found+row.trialsWith(throughput), out[i].Of+row.Counted()
			}
		}
	}
	for i := range out {
		for n, to := range []*stat.Interval{&out[i].Throughput, &out[i].Lower, &out[i].Upper} {
			*to = ofRuns(found[i], n)
		}
	}
	return out
}

// ofRuns is the nth number of one run, or of several pooled.
func ofRuns(runs [][3]stat.Interval, n int) stat.Interval {
	var all []stat.Interval
	for _, r := range runs {
		if r[n].N > 0 {
			all = append(all, r[n])
		}
	}
	switch len(all) {
	case 0:
		return stat.Interval{}
	case 1:
		return all[0]
	}
	return stat.Pool(all, single).Interval
}

// goals are the goals on loss of a row's searches, the smallest first.
func (r Row) goals() (all []string) {
	for _, v := range r.Values {
		if v.Goal != "" && !slices.Contains(all, v.Goal) {
			all = append(all, v.Goal)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		x, _ := unit.ParsePercent(a)
		y, _ := unit.ParsePercent(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	return all
}

// Estimate is the median of a value over the blocks of the trials that count. Its interval holds by itself; N is 0 without a trial
// that has the value.
func (r Row) Estimate(k record.Key) stat.Interval {
	if r.counted == nil {
		return stat.Interval{}
	}
	series := r.counted.values[k]
	if series.Len() == 0 {
		return stat.Interval{}
	}
	return stat.Median(series.medians(), single)
}

// trialsWith counts the trials that count and have a value.
func (r Row) trialsWith(k record.Key) (n int) {
	if r.counted == nil {
		return 0
	}
	for _, t := range r.counted.ok {
		if _, ok := t.Value(k); ok {
			n++
		}
	}
	return n
}
