package tally

import (
	"math"
	"testing"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func TestReceiverOrder(t *testing.T) {
	for _, tc := range []struct {
		name                             string
		seqs                             []uint64
		delivered, reordered, duplicates int64
	}{
		{"in order", []uint64{0, 1, 2, 3}, 4, 0, 0},
		{"first ones lost", []uint64{5, 6}, 2, 0, 0},
		{"late", []uint64{0, 2, 3, 1, 4}, 5, 1, 0},                     // RFC 4737, 3.3: only 1 is below the expected number
		{"early", []uint64{0, 3, 1, 2, 4}, 5, 2, 0},                    // and here 1 and 2 are
		{"twice at once", []uint64{0, 1, 1, 2}, 3, 0, 1},               //
		{"twice later", []uint64{0, 1, 2, 0}, 3, 0, 1},                 //
		{"late and twice", []uint64{0, 2, 1, 1}, 3, 1, 1},              //
		{"beyond the window", []uint64{0, seenWindow + 9, 0}, 3, 1, 0}, // the second 0 cannot be known
		{"a jump forgets", []uint64{3, seenWindow + 7, seenWindow + 3}, 3, 1, 0},
		{"a small jump forgets", []uint64{3, seenWindow - 1, seenWindow + 3, seenWindow + 4}, 4, 0, 0},
		{"numbers end at 2^40", []uint64{0, wire.Mask40, wire.Mask40}, 2, 0, 1},
	} {
		var r Receiver
		for i, seq := range tc.seqs {
			r.Add(wire.Header{Seq: seq}, 100, int64(i))
			r.Done(1)
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

// What a socket drops can be copies that the network made, if any arrived, and requests; nothing else beyond what was sent.
func TestReceived(t *testing.T) {
	for _, c := range []struct {
		dropped, duplicates int64
		want                int64 // -1: impossible
	}{{0, 0, 90}, {10, 0, 100}, {12, 0, 100}, {13, 0, -1}, {13, 1, 100}, {20, 2, 100}} {
		var r wire.UDPReport
		r.Delivered, r.Bytes, r.Dropped, r.Duplicates = 90, 9000, c.dropped, c.duplicates
		got, err := Received(event.Mode{Size: 100}, 2, 100, r)
		if err == nil != (c.want >= 0) || err == nil && got != c.want {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
}

// The queue is the last datagram's delay over the quickest, for all clock offsets, even if the
// first was read late.
func TestReceiverQueue(t *testing.T) {
	for _, offset := range []int64{0, 1 << 50, -12345, wire.Mask40 - 1500} {
		var r Receiver
		for i, transit := range []int64{900, 500, 700, 650} {
			sent := int64(1000 * i)
			r.Add(wire.Header{Seq: uint64(i), Sent: uint64(sent-offset) & wire.Mask40}, 1, sent+transit)
			r.Done(1)
			if want := []int64{0, 0, 200, 150}[i]; r.Queue != want {
				t.Errorf("offset %d, datagram %d: %d ns, want %d", offset, i, r.Queue, want)
			}
		}
	}
}

// Jitter does not depend on the offset of the two clocks.
func TestReceiverJitter(t *testing.T) {
	sent := []int64{0, 1000, 2000, 3000}
	transit := []int64{500, 516, 484, 484}
	want := 0.0
	for _, d := range []float64{16, 32, 0} {
		want += (d - want) / 16
	}
	for _, offset := range []int64{0, 1 << 50, -12345, wire.Mask40 - 1500} { // the last makes the time wrap
		var r Receiver
		for i := range sent {
			r.Add(wire.Header{Seq: uint64(i), Sent: uint64(sent[i]-offset) & wire.Mask40}, 1, sent[i]+transit[i])
			r.Done(1)
		}
		if math.Abs(r.Jitter-want) > 1e-9 {
			t.Errorf("offset %d: jitter %g, want %g", offset, r.Jitter, want)
		}
		if r.Span != 2984 {
			t.Errorf("span %d, want 2984", r.Span)
		}
	}
}

// A silence lasts from one read that delivers new datagrams to the next.
func TestReceiverSilence(t *testing.T) {
	var r Receiver
	read := func(at int64, seqs ...uint64) {
		for _, seq := range seqs {
			r.Add(wire.Header{Seq: seq}, 1, at)
		}
		r.Done(int64(len(seqs)))
	}
	for _, step := range []struct {
		at   int64
		seqs []uint64
		want int64
	}{
		{1000, []uint64{0}, 0}, // earlier arrivals do not matter
		{1030, []uint64{1, 2, 3}, 30},
		{1040, []uint64{3}, 30}, // a duplicate
		{1090, nil, 30},
		{1100, []uint64{4, 5}, 70},
		{1101, []uint64{6}, 70},
	} {
		if read(step.at, step.seqs...); r.Silence != step.want {
			t.Errorf("at %d: a silence of %d, want %d", step.at, r.Silence, step.want)
		}
	}
}

func TestReceiverDoesNotAllocate(t *testing.T) {
	var r Receiver
	seq := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		r.Add(wire.Header{Seq: seq}, 18, int64(seq))
		r.Done(1)
		seq += 3
	}); n != 0 {
		t.Errorf("%g allocations per datagram", n)
	}
}

// The datagrams of a read are one sample of jitter: that of the last.
func TestReceiverJitterOfReads(t *testing.T) {
	var r Receiver
	read := func(arrival int64, transits ...int64) {
		for _, d := range transits {
			r.Add(wire.Header{Seq: r.Next, Sent: uint64(arrival-d) & wire.Mask40}, 1, arrival)
		}
		r.Done(1)
	}
	read(1000, 900, 500, 100)
	if r.Jitter != 0 {
		t.Errorf("jitter %g after the first read", r.Jitter)
	}
	read(2000, 700, 116)
	if r.Jitter != 1 { // |116-100| / 16
		t.Errorf("jitter %g, want 1", r.Jitter)
	}
	r.Add(wire.Header{Seq: 0}, 1, 9999) // a duplicate alone
	r.Done(1)
	r.Done(0) // a read of something else
	if r.Jitter != 1 || r.Reads != 3 || r.Buffers != 3 || r.Delivered != 5 || r.Duplicates != 1 {
		t.Errorf("%+v", r.UDPReport)
	}
}

// FuzzReceiver loses, repeats and swaps batches, and compares with a model of unlimited memory.
func FuzzReceiver(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 0x81, 0x42, 0x17}, uint8(46))
	f.Add([]byte{0xff, 0xff, 0, 0x40, 0x80}, uint8(1))
	f.Fuzz(func(t *testing.T, moves []byte, batch uint8) {
		size := uint64(batch%64) + 1
		var r Receiver
		seen := map[uint64]bool{}
		var want wire.UDPReport
		next, base := uint64(0), uint64(0)
		for i, m := range moves {
			first := base
			switch m >> 6 { // how far from where the sender is
			case 0: // the next batch
				base += size
			case 1: // some are lost
				first += uint64(m&63) * size
				base = first + size
			case 2: // one from before, late or once more
				first -= min(first, uint64(m&63)*size)
			case 3: // a part of the next
				first += uint64(m&63) % size
				base += size
			}
			for seq := first; seq < first+size; seq++ {
				switch {
				case seen[seq]:
					want.Duplicates++
				case seq < next:
					want.Reordered++
					want.Delivered++
				default:
					want.Delivered++
				}
				if !seen[seq] {
					want.Bytes += 18
				}
				seen[seq] = true
				next = max(next, seq+1)
				r.Add(wire.Header{Seq: seq, Sent: uint64(i)}, 18, int64(i))
			}
			r.Done(1)
			if next > seenWindow/2 {
				return // beyond it the model knows more than the receiver
			}
		}
		if r.Delivered != want.Delivered || r.Duplicates != want.Duplicates || r.Reordered != want.Reordered || r.Bytes != want.Bytes {
			t.Errorf("%+v, want %+v", r.UDPReport, want)
		}
		if math.IsNaN(r.Jitter) || math.IsInf(r.Jitter, 0) || r.Jitter < 0 {
			t.Errorf("jitter %g", r.Jitter)
		}
	})
}

func BenchmarkReceiver(b *testing.B) {
	buf := make([]byte, 64*18)
	var r Receiver
	b.SetBytes(64)
	for n := range b.N {
		for i := range 64 {
			wire.Header{Kind: wire.KindMeasure, Run: 1, Seq: uint64(n)*64 + uint64(i), Sent: uint64(n)}.Put(buf[i*18:])
		}
		for rest := buf; len(rest) > 0; rest = rest[18:] {
			h, ok := wire.ParseHeader(rest[:18])
			if !ok {
				b.Fatal("not a header")
			}
			r.Add(h, 18, int64(n))
		}
		r.Done(1)
	}
}
