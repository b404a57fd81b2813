package analysis

import (
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// LongestTime is the longest response time that a merged histogram holds, in ns.
const LongestTime = int64(3600e9)

// beyond is how many responses must exceed a percentile, which must not rest on a single one.
const beyond = 10

// percentiles are those with an interval.
var percentiles = []float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999}

// A Percentile is the response time, s, that a fraction P of the responses did not exceed.
type Percentile struct {
	P       float64       `json:"p"`
	Seconds stat.Interval `json:"seconds"`
}

// PercentileInterval returns one of Percentiles. N is 0 if there is none.
func (r Row) PercentileInterval(p float64) stat.Interval {
	for _, x := range r.Percentiles {
		if x.P == p {
			return x.Seconds
		}
	}
	return stat.Interval{}
}

// tails sets Percentiles from the blocks of Hist (R. S. Woodruff, Confidence intervals for medians
// and other position measures, J. Am. Stat. Assoc. 47, 1952): the share of responses beyond the
// percentile has an interval over the blocks, and the times with the shares at its two ends bound
// the percentile. A bootstrap of the blocks would need random numbers, and as many merged
// histograms as it has samples; this needs one sum per block and repeats exactly.
func (r *Row) tails(blocks []block) {
	if r.Hist == nil {
		return
	}
	all, total := r.Hist.Distribution(), r.Hist.TotalCount()
	for _, p := range percentiles {
		v, ok := r.Percentile(p)
		if !ok {
			continue
		}
		x := Percentile{p, stat.Interval{Center: v, N: len(blocks)}}
		part, whole := beyondIn(blocks, all, total, 1-p)
		s := stat.Share(part, whole, single)
		// Where no response is left beyond the upper end, it could be anywhere.
		if s.Bounded() && s.Lo*float64(total) >= 1 {
			at := func(share float64) float64 { return float64(r.Hist.ValueAtQuantile(100*(1-share))) / 1e9 }
			x.Seconds.Lo, x.Seconds.Hi, x.Seconds.Confidence = min(v, at(s.Hi)), max(v, at(s.Lo)), single
		}
		r.Percentiles = append(r.Percentiles, x)
	}
}

// A block is the response times of the trials of one block.
type block struct {
	number  int
	buckets []bucket
}

// beyondIn returns, by block, how many responses are beyond the time that a share of all exceeds,
// and how many there are. Responses at that time count by the fraction that makes the share exact.
// all is the sum of blocks, total that of all.
func beyondIn(blocks []block, all []hdrhistogram.Bar, total int64, share float64) (part, whole []float64) {
	at, beyond, want := len(all)-1, 0.0, share*float64(total)
	for at > 0 && beyond+float64(all[at].Count) < want {
		beyond += float64(all[at].Count)
		at--
	}
	fraction := (want - beyond) / float64(max(all[at].Count, 1))
	part, whole = make([]float64, len(blocks)), make([]float64, len(blocks))
	for i, b := range blocks {
		for _, x := range b.buckets {
			n := float64(x.count)
			if x.time > LongestTime {
				continue
			}
			whole[i] += n
			switch {
			case x.time > all[at].To:
				part[i] += n
			case x.time >= all[at].From:
				part[i] += fraction * n
			}
		}
	}
	return part, whole
}

// Percentile returns the response time, in s, that a fraction p in 0..1 of the responses of ok
// trials did not exceed. It returns false if fewer than ten exceed it.
func (r Row) Percentile(p float64) (float64, bool) {
	if r.Hist == nil || float64(r.Hist.TotalCount())*(1-p) < beyond-1e-6 {
		return 0, false
	}
	return float64(r.Hist.ValueAtQuantile(100*p)) / 1e9, true
}

// distribution returns the histogram that percentiles come from, "" without one: that of RTTPlain, whose
// requests carried no stamps, which lengthen the tail, or else the first.
func distribution(t *record.Result) string {
	if v, ok := t.Get(record.RTTPlain); ok && v.Hist != "" {
		return v.Hist
	}
	if i := slices.IndexFunc(t.Values, func(v record.Value) bool { return v.Hist != "" }); i >= 0 {
		return t.Values[i].Hist
	}
	return ""
}

// Trim removes the histograms that no analysis reads: a trial has up to seven, which are two thirds of its line.
// Paths between several ends can be a Chain, which reads those of the metric and of the network path, too.
func Trim(r *record.Result) {
	used := distribution(r)
	for i := range r.Values {
		v := &r.Values[i]
		if chained := r.Config[ends] != "" && (i == 0 || v.Name == record.RTTPath); !chained && v.Hist != used {
			v.Hist = ""
		}
	}
}

// Examples returns up to three names, for a sentence that says how many there are.
func Examples(names []string) string {
	const most = 3
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}

// merged merges each ok trial's distribution, over all trials and by block. It names the trials
// with a damaged histogram, and counts times above LongestTime.
func (s *Sample) merged() (all *hdrhistogram.Histogram, blocks []block, unreadable []string, tooLong int64) {
	var d decoder
	for _, t := range s.ok {
		hist := distribution(t)
		if hist == "" {
			continue
		}
		buckets, err := d.decode(hist)
		if err != nil {
			unreadable = append(unreadable, t.Trial)
			continue
		}
		if all == nil {
			all = hdrhistogram.New(1, LongestTime, 3)
		}
		for _, b := range buckets {
			if all.RecordValues(b.time, b.count) != nil {
				tooLong += min(b.count, math.MaxInt64-tooLong)
			}
		}
		if n := len(blocks); n == 0 || blocks[n-1].number != t.Block {
			blocks = append(blocks, block{number: t.Block})
		}
		b := &blocks[len(blocks)-1]
		b.buckets = append(b.buckets, buckets...)
	}
	return all, blocks, unreadable, tooLong
}
