package tally

import (
	"errors"
	"slices"
	"testing"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// Stamps of sending come late, out of order, twice, and for requests that were given up; each
// belongs to one request at most.
func TestSamplesSent(t *testing.T) {
	s := NewSamples()
	for i := range 4 {
		s.Add(Sample{Seq: uint64(10 + i), ID: uint32(i), Start: int64(1000 + i)})
	}
	s.sent(2, 2002)
	s.sent(0, 2000)
	s.sent(2, 9999) // of a later device: the first one counts
	s.sent(3, 900)  // older than the request
	s.sent(77, 2000)
	got := []int64{s.List[0].tx, s.List[1].tx, s.List[2].tx, s.List[3].tx}
	if want := []int64{2000, 0, 2002, 0}; !slices.Equal(got, want) || s.pending != 2 {
		t.Errorf("stamps %v with %d pending, want %v with 2", got, s.pending, want)
	}
	s.Restart() // identifiers begin anew
	s.Add(Sample{Seq: 20, ID: 0, Start: 3000})
	s.sent(1, 3500)
	s.sent(0, 3001)
	if s.List[1].tx != 0 || s.List[0].tx != 2000 || s.List[4].tx != 3001 || s.pending != 0 {
		t.Errorf("after a restart: %+v, %d pending", s.List, s.pending)
	}
}

// whole is a sample with every stamp: 1000 ns from start to got, 300 on the path (the server's part
// is 400).
func whole(seq uint64) Sample {
	return Sample{Seq: seq, Start: 5000, tx: 5100, Rx: 5800, Got: 6000, RTT: 1000}
}

func TestJoin(t *testing.T) {
	change := func(f func(*Sample)) Sample {
		x := whole(1)
		f(&x)
		return x
	}
	for _, tc := range []struct {
		name                   string
		own                    Sample
		far                    []FarSample
		incomplete, impossible int64
	}{
		{name: "whole", own: whole(1), far: []FarSample{{1, 400, 250}}},
		{name: "the first of two answers counts", own: whole(1), far: []FarSample{{1, 400, 250}, {1, 90000, 250}}},
		{name: "no clock of the server's is used", own: change(func(x *Sample) { x.Start, x.tx, x.Rx, x.Got = 0, 100, 800, 1000 }), far: []FarSample{{1, 400, 250}}},
		{name: "server lost it", own: whole(1), far: []FarSample{{2, 400, 250}}, incomplete: 1},
		{name: "server lacks a stamp", own: whole(1), far: []FarSample{{1, 0, 0}}, incomplete: 1},
		{name: "no stamp of sending", own: change(func(x *Sample) { x.tx = 0 }), far: []FarSample{{1, 400, 250}}, incomplete: 1},
		{name: "no stamp of receiving", own: change(func(x *Sample) { x.Rx = 0 }), far: []FarSample{{1, 400, 250}}, incomplete: 1},
		{name: "no reply", own: change(func(x *Sample) { x.Got = 0 }), far: []FarSample{{1, 400, 250}}, incomplete: 1},
		{name: "server took longer than it took", own: whole(1), far: []FarSample{{1, 700, 250}}, impossible: 1},
		{name: "read before it came", own: change(func(x *Sample) { x.Rx = 6001 }), far: []FarSample{{1, 400, 250}}, impossible: 1},
		{name: "wake-up longer than the whole", own: whole(1), far: []FarSample{{1, 400, 750}}, impossible: 1},
		{name: "clock set", own: change(func(x *Sample) { x.Rx += 1e9; x.Got += 1e9 }), far: []FarSample{{1, 400, 250}}, impossible: 1},
		{name: "an hour", own: change(func(x *Sample) { x.Rx += 3600e9; x.Got += 3600e9; x.RTT += 3600e9 }), far: []FarSample{{1, 400, 250}}, impossible: 1},
	} {
		s := Samples{List: []Sample{tc.own}}
		p := s.Join(tc.far)
		if p.Incomplete != tc.incomplete || p.Impossible != tc.impossible {
			t.Errorf("%s: %d incomplete, %d impossible; want %d, %d", tc.name, p.Incomplete, p.Impossible, tc.incomplete, tc.impossible)
		}
		if tc.incomplete+tc.impossible > 0 {
			if p.Whole.TotalCount() != 0 {
				t.Errorf("%s: counted all the same", tc.name)
			}
			continue
		}
		path, wake, app := p.Path.Max(), p.Wake.Max(), p.App.Max()
		if path != 300 || wake != 450 || app != 250 || p.Whole.Max() != 1000 {
			t.Errorf("%s: path %d, wake-up %d, application %d of %d; want 300, 450, 250 of 1000", tc.name, path, wake, app, p.Whole.Max())
		}
	}
}

func TestFarSamples(t *testing.T) {
	s := NewSamples()
	for i := range 5 {
		s.Add(Sample{Seq: uint64(i), Rx: 100, Got: 150, tx: 200 + int64(i)})
	}
	s.List[1].tx = 0       // never stamped
	s.List[2].Got = 99     // the clock was set
	s.List[3].tx = 1 << 40 // 18 minutes
	var all []FarSample
	for len(all) < 5 {
		list, from, total, err := DecodeFar(s.Encode(nil, len(all), 2))
		if err != nil || from != len(all) || total != 5 {
			t.Fatalf("%d samples from %d of %d: %v", len(list), from, total, err)
		}
		all = append(all, list...)
	}
	if want := []FarSample{{0, 100, 50}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 104, 50}}; !slices.Equal(all, want) {
		t.Errorf("got %v, want %v", all, want)
	}
	if list, from, total, err := DecodeFar(s.Encode(nil, 99, 2)); err != nil || len(list) != 0 || from != 5 || total != 5 {
		t.Errorf("beyond the end: %d from %d of %d: %v", len(list), from, total, err)
	}
	if b := s.Encode(nil, 0, FarMost); wire.HeaderSize+FarHeader+FarMost*FarSize > 1200 || len(b) > 1200-wire.HeaderSize {
		t.Errorf("an answer of %d bytes does not fit a small path", len(b))
	}
}

func FuzzDecodeFar(f *testing.F) {
	s := NewSamples()
	s.Add(Sample{Seq: 7, Rx: 1, Got: 2, tx: 3})
	f.Add(s.Encode(nil, 0, 9))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1})
	f.Add([]byte{0, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, from, total, err := DecodeFar(b)
		if err != nil {
			if !errors.Is(err, ErrFar) || list != nil {
				t.Errorf("%v with %d samples", err, len(list))
			}
			return
		}
		if from < 0 || from+len(list) > total || total > MaxSamples || len(list) == 0 && from < total {
			t.Errorf("%d samples from %d of %d", len(list), from, total)
		}
		for _, x := range list {
			if x.wake < 0 || x.wake > x.turn {
				t.Errorf("%+v", x)
			}
		}
		(&Samples{List: []Sample{whole(1)}}).Join(list)
	})
}
