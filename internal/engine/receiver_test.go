package engine

import (
	"math"
	"testing"
)

func TestReceiverOrder(t *testing.T) {
	for _, tc := range []struct {
		name                             string
		seqs                             []uint64
		delivered, reordered, duplicates int64
	}{
		{"in order", []uint64{0, 1, 2, 3}, 4, 0, 0},
		{"first ones lost", []uint64{5, 6}, 2, 0, 0},
		{"late", []uint64{0, 2, 3, 1, 4}, 5, 1, 0},                     // RFC 4737, 3.3: only 1 is below what was expected
		{"early", []uint64{0, 3, 1, 2, 4}, 5, 2, 0},                    // and here 1 and 2 are
		{"twice at once", []uint64{0, 1, 1, 2}, 3, 0, 1},               //
		{"twice later", []uint64{0, 1, 2, 0}, 3, 0, 1},                 //
		{"late and twice", []uint64{0, 2, 1, 1}, 3, 1, 1},              //
		{"beyond the window", []uint64{0, seenWindow + 9, 0}, 3, 1, 0}, // the second 0 cannot be known
		{"a jump forgets", []uint64{3, seenWindow + 7, seenWindow + 3}, 3, 1, 0},
		{"a small jump forgets", []uint64{3, seenWindow - 1, seenWindow + 3, seenWindow + 4}, 4, 0, 0},
		{"numbers end at 2^40", []uint64{0, mask40, mask40}, 2, 0, 1},
	} {
		var r receiver
		for i, seq := range tc.seqs {
			r.add(header{seq: seq}, 100, int64(i))
			r.done(1)
		}
		if r.Delivered != tc.delivered || r.Reordered != tc.reordered || r.Duplicates != tc.duplicates {
			t.Errorf("%s: delivered %d, reordered %d, duplicates %d; want %d, %d, %d", tc.name,
				r.Delivered, r.Reordered, r.Duplicates, tc.delivered, tc.reordered, tc.duplicates)
		}
		if r.Bytes != 100*r.Delivered {
			t.Errorf("%s: %d bytes in %d datagrams", tc.name, r.Bytes, r.Delivered)
		}
	}
}

// The jitter of RFC 3550 is the same whatever the two clocks show.
func TestReceiverJitter(t *testing.T) {
	sent := []int64{0, 1000, 2000, 3000}
	transit := []int64{500, 516, 484, 484}
	want := 0.0
	for _, d := range []float64{16, 32, 0} {
		want += (d - want) / 16
	}
	for _, offset := range []int64{0, 1 << 50, -12345, mask40 - 1500} { // the last makes the time wrap
		var r receiver
		for i := range sent {
			r.add(header{seq: uint64(i), sent: uint64(sent[i]-offset) & mask40}, 1, sent[i]+transit[i])
			r.done(1)
		}
		if math.Abs(r.Jitter-want) > 1e-9 {
			t.Errorf("offset %d: jitter %g, want %g", offset, r.Jitter, want)
		}
		if r.Span != 2984 {
			t.Errorf("span %d, want 2984", r.Span)
		}
	}
}

func TestReceiverDoesNotAllocate(t *testing.T) {
	var r receiver
	seq := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		r.add(header{seq: seq}, 18, int64(seq))
		r.done(1)
		seq += 3
	}); n != 0 {
		t.Errorf("%g allocations per datagram", n)
	}
}
