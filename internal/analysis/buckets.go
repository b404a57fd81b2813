package analysis

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A bucket of a histogram begins at a time, ns, and has a count of responses.
type bucket struct{ time, count int64 }

// A decoder reads the histograms of many trials like hdrhistogram.DecodePacked, but without its 60 kB of garbage for
// each, which were half of what a report of a long run allocated.
type decoder struct {
	text, packed []byte
	from         bytes.Reader
	inflate      io.ReadCloser
	payload      bytes.Buffer
	buckets      []bucket // of the last histogram
}

var errDamaged = errors.New("damaged histogram")

// headerSize is what precedes the counts: cookie, their length, offset, digits, lowest and highest value, ratio, big-endian.
const headerSize = 40

// decode returns the buckets of a histogram that are not empty, by time; they are valid until the next call.
func (d *decoder) decode(hist string) ([]bucket, error) {
	d.text = append(d.text[:0], hist...)
	var err error
	if d.packed, err = base64.StdEncoding.AppendDecode(d.packed[:0], d.text); err != nil {
		return nil, err
	}
	b := d.packed
	if len(b) < 8 || cookie(b) != hdrhistogram.V2CompressedEncodingCookieBase {
		return nil, errDamaged
	}
	size := binary.BigEndian.Uint32(b[4:])
	if b = b[8:]; uint64(size) > uint64(len(b)) {
		return nil, errDamaged
	}
	d.from.Reset(b[:size])
	if d.inflate == nil {
		d.inflate, err = zlib.NewReader(&d.from)
	} else {
		err = d.inflate.(zlib.Resetter).Reset(&d.from, nil)
	}
	if err != nil {
		return nil, err
	}
	var head [headerSize]byte
	if _, err := io.ReadFull(d.inflate, head[:]); err != nil {
		return nil, err
	}
	g, ok := geometryOf(head[:])
	size = binary.BigEndian.Uint32(head[4:])
	if !ok || cookie(head[:]) != hdrhistogram.V2EncodingCookieBase || uint64(size) > 9*uint64(g.counts) { // a count has 9 bytes at most
		return nil, errDamaged
	}
	d.payload.Reset()
	if _, err := d.payload.ReadFrom(io.LimitReader(d.inflate, int64(size)+1)); err != nil || d.payload.Len() != int(size) { // the end checks the sum
		return nil, errors.Join(errDamaged, err)
	}
	return d.counts(g)
}

func cookie(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) &^ 0xf0 }

// counts reads the counts of all buckets in order: zigzag LEB128, and a negative number skips as many empty ones.
func (d *decoder) counts(g geometry) ([]bucket, error) {
	d.buckets = d.buckets[:0]
	at := int64(0)
	for b := d.payload.Bytes(); len(b) > 0; {
		var u uint64
		n, whole := 0, false
		for ; n < len(b) && !whole; n++ {
			if n == 8 { // the last byte has eight bits
				u, whole = u|uint64(b[n])<<56, true
				continue
			}
			u, whole = u|uint64(b[n]&0x7f)<<(7*n), b[n] < 0x80
		}
		count := int64(u>>1) ^ -int64(u&1)
		b = b[n:]
		switch skip := -count; {
		case !whole, count < 0 && (skip <= 0 || skip > g.counts-at), count >= 0 && at >= g.counts:
			return nil, errDamaged
		case count < 0:
			at += skip
		default:
			if count > 0 {
				d.buckets = append(d.buckets, bucket{g.time(at), count})
			}
			at++
		}
	}
	return d.buckets, nil
}

// A geometry says which times the buckets of a histogram have (hdrhistogram.org).
type geometry struct {
	unit, half int   // powers of two: the width of the first buckets, and half of those per doubling of the time
	counts     int64 // buckets
}

// geometryOf reads a header; false if no histogram can have it.
func geometryOf(head []byte) (g geometry, ok bool) {
	digits := binary.BigEndian.Uint32(head[12:])
	lowest, highest := int64(binary.BigEndian.Uint64(head[16:])), int64(binary.BigEndian.Uint64(head[24:]))
	if digits > 5 {
		return g, false
	}
	g.unit = bits.Len64(uint64(max(1, lowest))) - 1
	g.half = bits.Len64(uint64(2*math.Pow10(int(digits)))-1) - 1
	if g.unit+g.half > 61 {
		return g, false
	}
	doublings := int64(1)
	for beyond := int64(1) << (g.unit + g.half + 1); beyond > 0 && beyond <= highest; beyond <<= 1 {
		doublings++
	}
	g.counts = (doublings + 1) << g.half
	return g, true
}

// time returns the first time of a bucket, ns.
func (g geometry) time(at int64) int64 {
	doubling, sub := at>>g.half-1, at&(1<<g.half-1)+1<<g.half
	if doubling < 0 {
		doubling, sub = 0, sub-1<<g.half
	}
	return sub << (int(doubling) + g.unit)
}
