package analysis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// single is the confidence of the intervals of medians, which are not compared.
const single = 0.95

func newRow(network string, trials []record.Result, metric, unit string) Row {
	r := Row{Network: network}
	odd := 0
	for _, t := range trials {
		v, has := t.Get(metric)
		r.Points = append(r.Points, Point{Trial: t.Trial, Block: t.Block, Pair: t.Config[pair], Swapped: t.Observed[designed] == "true",
			Status: t.Status, Reason: t.Reason, Value: v.Value, Has: has})
		switch t.Status {
		case record.OK:
			r.OK++
			if !has || v.Unit != unit {
				odd++
			}
		case record.Invalid:
			r.Invalid++
		case record.Skipped:
			r.Skipped++
		case record.Disturbed:
			r.Disturbed++
		default:
			r.Failed++
		}
	}
	if r.OK > 0 {
		r.Value = stat.Median(ordered(PerBlock(trials, metric)), single)
	}
	if odd > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d ok trials have no %s in %s", odd, r.OK, metric, unit))
	}
	r.summarise(trials)
	r.Observed = common(trials)
	r.merge(trials)
	r.Warnings = appendNew(r.Warnings, said(trials)...)
	return r
}

func ordered(m map[int]float64) []float64 {
	out := make([]float64, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// summarise fills Values with the median and mean over blocks of every named value.
func (r *Row) summarise(trials []record.Result) {
	seen := map[string]bool{}
	for _, t := range trials {
		if t.Status != record.OK {
			continue
		}
		for _, v := range t.Values {
			if !seen[v.Name] {
				seen[v.Name] = true
				vs := valuesOf(trials, v.Name)
				r.Values = append(r.Values, Summary{Name: v.Name, Unit: v.Unit,
					Median: median(ordered(vs.perBlock(median))), Mean: mean(ordered(vs.perBlock(mean))), N: len(vs)})
			}
		}
	}
}

func mean(v []float64) float64 {
	m := 0.0
	for i, x := range v {
		m += (x - m) / float64(i+1) // not the sum first: it may be too large
	}
	return m
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return 0
	}
	return v[(n-1)/2]/2 + v[n/2]/2
}

// common returns what every ok trial found alike.
func common(trials []record.Result) map[string]string {
	var out map[string]string
	for _, t := range trials {
		if t.Status != record.OK {
			continue
		}
		if out == nil {
			out = maps.Clone(t.Observed)
			continue
		}
		maps.DeleteFunc(out, func(k, v string) bool { return t.Observed[k] != v })
	}
	return out
}

// said returns the warnings of ok trials, with how many trials gave them.
func said(trials []record.Result) []string {
	count := map[string]int{}
	for _, t := range trials {
		if t.Status == record.OK {
			for _, w := range t.Warnings {
				count[w]++
			}
		}
	}
	var out []string
	for _, w := range slices.Sorted(maps.Keys(count)) {
		out = append(out, fmt.Sprintf("%s (%d of %d trials)", w, count[w], len(trials)))
	}
	return few(out, "warnings")
}

// most is how many lines of one kind a reader is given.
const most = 6

// few cuts a list and says what was cut.
func few(list []string, noun string) []string {
	if len(list) <= most {
		return list
	}
	return append(list[:most-1:most-1], fmt.Sprintf("and %d more %s", len(list)-most+1, noun))
}

// Number returns what all ok trials of the row found under key, as a number;
// 0 when they found none, or not the same.
func (r Row) Number(key string) float64 {
	v, err := strconv.ParseFloat(r.Observed[key], 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// Ceiling returns the rate that the headers leave of the link, in the table's
// unit; 0 when no link rate was set.
func (r Row) Ceiling() float64 { return r.Number("ceiling") }

// longest is the largest response time that a merged histogram holds.
const longest = int64(3600e9)

func (r *Row) merge(trials []record.Result) {
	bad, lost := 0, int64(0)
	for _, t := range trials {
		if t.Status != record.OK {
			continue
		}
		i := slices.IndexFunc(t.Values, func(v record.Value) bool { return v.Hist != "" })
		if i < 0 {
			continue
		}
		h, err := hdrhistogram.Decode([]byte(t.Values[i].Hist))
		if err != nil {
			bad++
			continue
		}
		if r.Hist == nil {
			r.Hist = hdrhistogram.New(1, longest, 3)
		}
		lost += r.Hist.Merge(h)
	}
	if bad > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the histograms of %d trials cannot be read", bad))
	}
	if lost > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d response times above %d s are left out", lost, longest/1e9))
	}
}

// beyond is how many responses must be slower than a percentile for it to be
// more than the story of one of them.
const beyond = 10

// Percentile returns the response time in seconds that a share p in 0..1 of
// all responses of the ok trials did not exceed. It reports false when there is
// no histogram, or when fewer than ten responses lie beyond p.
func (r Row) Percentile(p float64) (float64, bool) {
	if r.Hist == nil || float64(r.Hist.TotalCount())*(1-p) < beyond-1e-6 {
		return 0, false
	}
	return float64(r.Hist.ValueAtQuantile(100*p)) / 1e9, true
}
