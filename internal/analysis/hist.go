package analysis

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// LongestTime is the longest response time that a merged histogram holds, in ns.
const LongestTime = int64(3600e9)

// beyond is how many responses must exceed a percentile, which must not rest on a single one.
const beyond = 10

// percentiles are those with an interval.
var percentiles = []float64{0.5, 0.9, 0.99, 0.999, 0.9999}

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
	all, total := r.Hist.Export().Counts, r.Hist.TotalCount()
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

// A block is the response times of one block: counts by index, without zeros, of one trial after
// the other.
type block struct {
	number int
	counts []count
}

type count struct {
	index int
	n     int64
}

// beyondIn returns, by block, how many responses are beyond the time that a share of all exceeds,
// and how many there are. Responses at that time count by the fraction that makes the share exact.
// all is the sum of blocks by index, total that of all.
func beyondIn(blocks []block, all []int64, total int64, share float64) (part, whole []float64) {
	at, beyond, want := len(all)-1, 0.0, share*float64(total)
	for at > 0 && beyond+float64(all[at]) < want {
		beyond += float64(all[at])
		at--
	}
	fraction := (want - beyond) / float64(max(all[at], 1))
	part, whole = make([]float64, len(blocks)), make([]float64, len(blocks))
	for i, b := range blocks {
		for _, c := range b.counts {
			n := float64(c.n)
			whole[i] += n
			switch {
			case c.index > at:
				part[i] += n
			case c.index == at:
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

// plainValue is the response time of the requests without time stamps (package probe). Trials have
// it if they stamped some, and it then stands for the others too: stamps lengthen the tail.
const plainValue = "rtt.plain"

// distribution returns the histogram that percentiles come from, "" without one: that of plainValue
// or else the first.
func distribution(t *record.Result) string {
	if v, ok := t.Get(plainValue); ok && v.Hist != "" {
		return v.Hist
	}
	if i := slices.IndexFunc(t.Values, func(v record.Value) bool { return v.Hist != "" }); i >= 0 {
		return t.Values[i].Hist
	}
	return ""
}

// merged merges each ok trial's distribution, over all trials and by block. It counts the damaged
// ones, and times above LongestTime.
func (s *Sample) merged() (all *hdrhistogram.Histogram, blocks []block, unreadable int, tooLong int64) {
	var sum counts
	for _, t := range s.ok {
		hist := distribution(t)
		if hist == "" {
			continue
		}
		if !sum.add(hist) {
			h, err := hdrhistogram.DecodePacked([]byte(hist))
			if err != nil {
				unreadable++
				continue
			}
			one := hdrhistogram.New(1, LongestTime, 3)
			tooLong += h.MergeInto(one)
			sum.next = one.Export().Counts
			sum.enter()
		}
		if n := len(blocks); n == 0 || blocks[n-1].number != t.Block {
			blocks = append(blocks, block{number: t.Block})
		}
		b := &blocks[len(blocks)-1]
		b.counts = sum.nonzero(b.counts)
	}
	if sum.of == nil {
		return nil, nil, unreadable, 0
	}
	all = hdrhistogram.Import(&hdrhistogram.Snapshot{LowestTrackableValue: 1, HighestTrackableValue: LongestTime, SignificantFigures: 3, Counts: sum.of})
	return all, blocks, unreadable, tooLong
}

// lengthOfCounts is how many counts such a histogram has.
var lengthOfCounts = len(hdrhistogram.New(1, LongestTime, 3).Export().Counts)

// counts adds up histograms that begin at 1 and keep three digits, as all of weir's do: equal
// indices then mean equal values, whatever the range. 25,000 take 0.3 s of CPU; the library takes
// 0.9 s, and as much again to collect the 45 kB that it allocates for each.
type counts struct {
	of, next []int64 // by index
	z        io.ReadCloser
}

// nonzero appends the counts added last.
func (c *counts) nonzero(out []count) []count {
	for i, n := range c.next {
		if n > 0 {
			out = append(out, count{i, n})
		}
	}
	return out
}

// add decodes the V2 compressed, base64 encoding. It returns false if the library must read it.
func (c *counts) add(hist string) bool {
	const outer, inner = 8, 40 // header bytes outside and inside the compressed data
	raw, err := base64.StdEncoding.DecodeString(hist)
	if err != nil || len(raw) < outer {
		return false
	}
	in := bytes.NewReader(raw[outer:])
	if c.z == nil {
		c.z, err = zlib.NewReader(in)
	} else {
		err = c.z.(zlib.Resetter).Reset(in, nil)
	}
	if err != nil {
		return false
	}
	b, err := io.ReadAll(io.LimitReader(c.z, 1<<20))
	word := binary.BigEndian.Uint32
	if err != nil || len(b) < inner || word(raw[4:]) != uint32(in.Size()) || word(b[4:]) != uint32(len(b)-inner) ||
		word(raw)&^0xf0 != uint32(hdrhistogram.V2CompressedEncodingCookieBase) || word(b)&^0xf0 != uint32(hdrhistogram.V2EncodingCookieBase) ||
		word(b[12:]) != 3 || binary.BigEndian.Uint64(b[16:]) != 1 { // digits and the lowest value
		return false
	}
	c.next = c.next[:0]
	for b = b[inner:]; len(b) > 0; {
		v, n := binary.Varint(b) // up to 8 bytes; a negative number is a run of zeros
		if room := int64(lengthOfCounts - len(c.next)); n < 1 || n > 8 || room == 0 || v < -room || v > 1<<40 {
			return false
		}
		if v < 0 {
			c.next = append(c.next, make([]int64, -v)...)
		} else {
			c.next = append(c.next, v)
		}
		b = b[n:]
	}
	c.enter()
	return true
}

// enter adds next.
func (c *counts) enter() {
	if c.of == nil {
		c.of = make([]int64, lengthOfCounts)
	}
	for i, n := range c.next {
		c.of[i] += n
	}
}
