package wire

import (
	"bytes"
	"testing"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []Header{
		{Kind: KindWarmup},
		{Kind: KindMeasure, Run: MaxRun, Seq: Mask40, Sent: Mask40},
		{Kind: KindReport | KindAnswer, Run: 0x123456, Seq: 1 << 32, Sent: 0xfedcba9876},
	} {
		b := make([]byte, HeaderSize)
		h.Put(b)
		if got, ok := ParseHeader(b); !ok || got != h {
			t.Errorf("%+v came back as %+v, %v", h, got, ok)
		}
		if _, ok := ParseHeader(b[:HeaderSize-1]); ok {
			t.Errorf("%+v: a header cut short was accepted", h)
		}
		b[0] ^= 1
		if _, ok := ParseHeader(b); ok {
			t.Errorf("%+v: another magic was accepted", h)
		}
	}
	for _, k := range []Kind{0, kindLast + 1, KindAnswer} {
		b := make([]byte, HeaderSize)
		Header{Kind: k}.Put(b)
		if _, ok := ParseHeader(b); ok {
			t.Errorf("kind %#x was accepted", k)
		}
	}
}

func FuzzHeader(f *testing.F) {
	b := make([]byte, HeaderSize+2)
	Header{Kind: KindEcho, Run: 7, Seq: 9, Sent: 11}.Put(b)
	f.Add(b)
	f.Add([]byte("W"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := ParseHeader(b)
		if !ok {
			return
		}
		again := make([]byte, HeaderSize)
		h.Put(again)
		if !bytes.Equal(again, b[:HeaderSize]) {
			t.Errorf("%x was read as %+v and written as %x", b[:HeaderSize], h, again)
		}
	})
}

func TestDiff40(t *testing.T) {
	for _, tc := range []struct {
		a, b uint64
		want int64
	}{
		{5, 3, 2}, {3, 5, -2}, {1, Mask40, 2}, {Mask40, 1, -2}, {0, 0, 0},
	} {
		if got := Diff40(tc.a, tc.b); got != tc.want {
			t.Errorf("%d-%d = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
