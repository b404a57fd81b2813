package analysis

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/record"
)

// LongestTime is the largest response time that a merged histogram holds, ns.
const LongestTime = int64(3600e9)

// beyond is how many responses must be slower than a percentile for it to be more
// than the story of one of them.
const beyond = 10

// Percentile returns the response time in seconds that a share p in 0..1 of all
// responses of the ok trials did not exceed. It reports false when there is no
// histogram, or when fewer than ten responses lie beyond p.
func (r Row) Percentile(p float64) (float64, bool) {
	if r.Hist == nil || float64(r.Hist.TotalCount())*(1-p) < beyond-1e-6 {
		return 0, false
	}
	return float64(r.Hist.ValueAtQuantile(100*p)) / 1e9, true
}

// merged returns the first histogram of every ok trial in one, and what it lacks:
// trials whose histogram is damaged, and response times above LongestTime.
func (s *Sample) merged() (all *hdrhistogram.Histogram, unreadable int, tooLong int64) {
	var sum counts
	var rest []*hdrhistogram.Histogram // of another shape
	for _, t := range s.trials {
		if t.status != record.OK {
			continue
		}
		for _, v := range t.Values {
			if v.Hist == "" {
				continue
			}
			if sum.add(v.Hist) != nil {
				if h, err := hdrhistogram.Decode([]byte(v.Hist)); err != nil {
					unreadable++
				} else {
					rest = append(rest, h)
				}
			}
			break
		}
	}
	if sum.of != nil {
		all = hdrhistogram.Import(&hdrhistogram.Snapshot{LowestTrackableValue: 1, HighestTrackableValue: LongestTime, SignificantFigures: 3, Counts: sum.of})
	}
	for _, h := range rest {
		if all == nil {
			all = hdrhistogram.New(1, LongestTime, 3)
		}
		tooLong += all.Merge(h)
	}
	return all, unreadable, tooLong
}

// counts adds up histograms that begin at 1 and keep three digits, as all of weir's do:
// equal indices are equal values in them, whatever their ranges are, so that they need
// no histogram each, which takes ten times longer and 200 kB.
type counts struct {
	of  []int64 // by index, as long as a merged histogram has
	z   io.ReadCloser
	raw []byte
}

var errShape = errors.New("another shape")

// add adds a histogram in the V2 compressed, base64 encoding. After an error nothing
// was added.
func (c *counts) add(hist string) error {
	var err error
	if c.raw, err = base64.StdEncoding.AppendDecode(c.raw[:0], []byte(hist)); err != nil || len(c.raw) < 8 {
		return errShape
	}
	cookie, length := binary.BigEndian.Uint32(c.raw), int64(binary.BigEndian.Uint32(c.raw[4:]))
	packed := c.raw[8:]
	if cookie&^0xf0 != uint32(hdrhistogram.V2CompressedEncodingCookieBase) || length > int64(len(packed)) {
		return errShape
	}
	in := bytes.NewReader(packed[:length])
	if c.z == nil {
		if c.z, err = zlib.NewReader(in); err != nil {
			return err
		}
	} else if err := c.z.(zlib.Resetter).Reset(in, nil); err != nil {
		return err
	}
	var head struct {
		Cookie, Length, Offset, Digits uint32
		Lowest, Highest                int64
		Ratio                          float64
	}
	if err := binary.Read(c.z, binary.BigEndian, &head); err != nil {
		return err
	}
	if head.Cookie&^0xf0 != uint32(hdrhistogram.V2EncodingCookieBase) || head.Digits != 3 || head.Lowest != 1 || head.Length > 1<<20 {
		return errShape
	}
	payload, err := io.ReadAll(io.LimitReader(c.z, int64(head.Length)+1)) // to the end, where the checksum is
	if err != nil || len(payload) != int(head.Length) {
		return errShape
	}
	if c.of == nil {
		c.of = hdrhistogram.New(1, LongestTime, 3).Export().Counts
	}
	if err := eachCount(payload, len(c.of), func(int, int64) {}); err != nil { // before anything is added
		return err
	}
	return eachCount(payload, len(c.of), func(i int, n int64) { c.of[i] += n })
}

// eachCount calls f with the counts of a payload: zigzag LEB128, in which a negative
// number is a run of zeros and a ninth byte has eight bits.
func eachCount(b []byte, limit int, f func(i int, n int64)) error {
	for i := 0; len(b) > 0; {
		u, n := uint64(0), 0
		for shift := 0; ; shift += 7 {
			if n == len(b) {
				return errShape
			}
			x := uint64(b[n])
			if n++; n == 9 {
				u |= x << 56
				break
			}
			u |= x & 0x7f << shift
			if x < 0x80 {
				break
			}
		}
		b = b[n:]
		switch v := int64(u>>1) ^ -int64(u&1); {
		case v < 0 && -v > 0 && -v <= int64(limit-i):
			i -= int(v)
		case v < 0 || i >= limit || v > 1<<40:
			return errShape
		default:
			f(i, v)
			i++
		}
	}
	return nil
}
