package wire

import (
	"math"
	"testing"
)

func TestReadingSince(t *testing.T) {
	a := Reading{CPU: 5, RunDelay: 7, TCP: TCP{Busy: 10, RwndLimited: 4, SndbufLimited: 1, SegmentsOut: math.MaxUint32 - 1, Retransmitted: 3}}
	b := Reading{CPU: 9, RunDelay: 8, TCP: TCP{Busy: 30, RwndLimited: 5, SndbufLimited: 2, SegmentsOut: 2, Retransmitted: 3}}
	want := Reading{CPU: 4, RunDelay: 1, TCP: TCP{Busy: 20, RwndLimited: 1, SndbufLimited: 1, SegmentsOut: 4}} // segments modulo 2^32
	if got := b.Since(a); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, delays := range [][2]int64{{-1, 8}, {7, -1}, {-1, -1}, {8, 7}} {
		a.RunDelay, b.RunDelay = delays[0], delays[1]
		if got := b.Since(a); got.RunDelay != -1 || got.CPU != 4 {
			t.Errorf("from %d to %d: %+v, want an unknown wait", delays[0], delays[1], got)
		}
	}
}

func TestSum(t *testing.T) {
	a := Reading{CPU: 5, RunDelay: 0, TCP: TCP{Busy: 10, SegmentsOut: 1}}
	b := Reading{CPU: 9, RunDelay: 8, TCP: TCP{Busy: 30, SndbufLimited: 2, Retransmitted: 3}}
	for _, tc := range []struct {
		of   []Reading
		want Reading
	}{
		{[]Reading{a, b}, Reading{CPU: 14, RunDelay: 8, TCP: TCP{Busy: 40, SndbufLimited: 2, SegmentsOut: 1, Retransmitted: 3}}},
		{[]Reading{b, {CPU: 1, RunDelay: -1}, a}, Reading{CPU: 15, RunDelay: -1, TCP: TCP{Busy: 40, SndbufLimited: 2, SegmentsOut: 1, Retransmitted: 3}}},
		{[]Reading{a, {}}, Reading{RunDelay: -1}}, // a stall lasted over a mark
	} {
		if got := Sum(tc.of); got != tc.want {
			t.Errorf("%+v: %+v, want %+v", tc.of, got, tc.want)
		}
	}
}

// Another end cannot claim what no thread can use.
func TestReadingCheck(t *testing.T) {
	good := Reading{CPU: 1e9, RunDelay: -1, TCP: TCP{Busy: 30, RwndLimited: 20, SndbufLimited: 10, SegmentsOut: 1}}
	for _, r := range []Reading{{}, good} {
		if err := r.Check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, harm := range []func(r *Reading){
		func(r *Reading) { r.CPU = -1 },
		func(r *Reading) { r.CPU = math.MaxInt64 },
		func(r *Reading) { r.RunDelay = -2 },
		func(r *Reading) { r.RunDelay = math.MaxInt64 },
		func(r *Reading) { r.TCP.Busy = 29 },
		func(r *Reading) { r.TCP.Busy = math.MaxInt64 },
		func(r *Reading) { r.TCP.RwndLimited = -1 },
		func(r *Reading) { r.TCP.SndbufLimited = -1 },
		func(r *Reading) { r.TCP.SndbufLimited = 11 },
		func(r *Reading) { r.TCP.SegmentsOut = -1 },
		func(r *Reading) { r.TCP.Retransmitted = 1 << 50 },
	} {
		r := good
		harm(&r)
		if r.Check() == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}
