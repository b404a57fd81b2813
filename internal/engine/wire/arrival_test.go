package wire

import (
	"bytes"
	"testing"
)

func TestArrivalRoundTrip(t *testing.T) {
	for _, a := range []Arrival{
		{Count: 1},
		{At: 1 << 60, Turn: maxTurn, Dropped: maxDropped, Count: 1<<32 - 1, Stalled: 1000 * (1<<32 - 1), GapBegin: 5, GapEnd: 1 << 59, Gaps: 1 << 60},
	} {
		b := make([]byte, ArrivalSize)
		a.Put(b)
		if got, ok := ParseArrival(b); !ok || got != a {
			t.Errorf("%+v came back as %+v, %v", a, got, ok)
		}
		if _, ok := ParseArrival(b[:ArrivalSize-1]); ok {
			t.Errorf("%+v: bytes cut short were accepted", a)
		}
	}
	for _, bad := range []Arrival{{}, {Count: 1, At: -1}, {Count: 1, At: 9, GapBegin: 4, GapEnd: 3}, {Count: 1, At: 9, GapBegin: 4, GapEnd: 10, Gaps: 6}, {Count: 1, At: 9, GapBegin: 4, GapEnd: 8, Gaps: 3}} {
		b := make([]byte, ArrivalSize)
		bad.Put(b)
		if got, ok := ParseArrival(b); ok {
			t.Errorf("%+v was accepted as %+v", bad, got)
		}
	}
	if n := (Arrival{Dropped: 3}).DroppedSince(Arrival{Dropped: maxDropped}); n != 4 {
		t.Errorf("%d drops, want 4", n)
	}
}

func FuzzArrival(f *testing.F) {
	b := make([]byte, ArrivalSize)
	Arrival{At: 9, Count: 2, GapBegin: 4, GapEnd: 8, Gaps: 7}.Put(b)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := ParseArrival(b)
		if !ok {
			return
		}
		again := make([]byte, ArrivalSize)
		a.Put(again)
		if !bytes.Equal(again, b[:ArrivalSize]) {
			t.Errorf("%x was read as %+v and written as %x", b[:ArrivalSize], a, again)
		}
	})
}
