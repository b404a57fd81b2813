package engine

import (
	"bytes"
	"testing"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []header{
		{kind: kindWarmup},
		{kind: kindMeasure, run: maxRun, seq: mask40, sent: mask40},
		{kind: kindReport | kindAnswer, run: 0x123456, seq: 1 << 32, sent: 0xfedcba9876},
	} {
		b := make([]byte, headerSize)
		h.put(b)
		if got, ok := parseHeader(b); !ok || got != h {
			t.Errorf("%+v came back as %+v, %v", h, got, ok)
		}
		if _, ok := parseHeader(b[:headerSize-1]); ok {
			t.Errorf("%+v: a header cut short was accepted", h)
		}
		b[0] ^= 1
		if _, ok := parseHeader(b); ok {
			t.Errorf("%+v: another magic was accepted", h)
		}
	}
	for _, k := range []kind{0, kindLast + 1, kindAnswer} {
		b := make([]byte, headerSize)
		header{kind: k}.put(b)
		if _, ok := parseHeader(b); ok {
			t.Errorf("kind %#x was accepted", k)
		}
	}
}

// What is accepted is exactly what put writes.
func FuzzHeader(f *testing.F) {
	b := make([]byte, headerSize+2)
	header{kind: kindEcho, run: 7, seq: 9, sent: 11}.put(b)
	f.Add(b)
	f.Add([]byte("W"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := parseHeader(b)
		if !ok {
			return
		}
		again := make([]byte, headerSize)
		h.put(again)
		if !bytes.Equal(again, b[:headerSize]) {
			t.Errorf("%x was read as %+v and written as %x", b[:headerSize], h, again)
		}
	})
}

func TestDiff40(t *testing.T) {
	for _, tc := range []struct {
		a, b uint64
		want int64
	}{
		{5, 3, 2}, {3, 5, -2}, {1, mask40, 2}, {mask40, 1, -2}, {0, 0, 0},
	} {
		if got := diff40(tc.a, tc.b); got != tc.want {
			t.Errorf("%d-%d = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
