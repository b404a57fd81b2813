package analysis

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// LongestTime is the longest response time that a merged histogram holds, in ns.
const LongestTime = int64(3600e9)

// beyond is how many responses must exceed a percentile, which must not rest on a single one.
const beyond = 10

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

// merged merges each ok trial's distribution. It counts the damaged ones, and times above
// LongestTime.
func (s *Sample) merged() (all *hdrhistogram.Histogram, unreadable int, tooLong int64) {
	var sum counts
	var rest []*hdrhistogram.PackedHistogram
	for _, t := range s.ok {
		hist := distribution(t)
		if hist == "" || sum.add(hist) {
			continue
		}
		if h, err := hdrhistogram.DecodePacked([]byte(hist)); err != nil {
			unreadable++
		} else {
			rest = append(rest, h)
		}
	}
	if sum.of == nil && rest == nil {
		return nil, unreadable, 0
	}
	all = hdrhistogram.Import(&hdrhistogram.Snapshot{LowestTrackableValue: 1, HighestTrackableValue: LongestTime, SignificantFigures: 3, Counts: sum.of})
	for _, h := range rest {
		tooLong += h.MergeInto(all)
	}
	return all, unreadable, tooLong
}

// counts adds up histograms that begin at 1 and keep three digits, as all of weir's do: equal
// indices then mean equal values, whatever the range. 25,000 take 0.3 s of CPU; the library takes
// 0.9 s, and as much again to collect the 45 kB that it allocates for each.
type counts struct {
	of, next []int64 // by index
	z        io.ReadCloser
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
	if c.of == nil {
		c.of = hdrhistogram.New(1, LongestTime, 3).Export().Counts
	}
	c.next = c.next[:0]
	for b = b[inner:]; len(b) > 0; {
		v, n := binary.Varint(b) // up to 8 bytes; a negative number is a run of zeros
		if room := int64(len(c.of) - len(c.next)); n < 1 || n > 8 || room == 0 || v < -room || v > 1<<40 {
			return false
		}
		if v < 0 {
			c.next = append(c.next, make([]int64, -v)...)
		} else {
			c.next = append(c.next, v)
		}
		b = b[n:]
	}
	for i, n := range c.next {
		c.of[i] += n
	}
	return true
}
