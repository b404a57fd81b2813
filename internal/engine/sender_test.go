package engine

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fakePath takes every datagram that it is not told to refuse.
type fakePath struct {
	refuse map[int]unix.Errno // by attempt
	calls  int
	seqs   []uint64
}

func (p *fakePath) send(k kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno) {
	p.calls++
	if errno := p.refuse[p.calls]; errno != 0 {
		return 0, n, errno
	}
	for i := range n {
		p.seqs = append(p.seqs, seq+uint64(i))
	}
	return n, n, 0
}

func TestSenderSchedule(t *testing.T) {
	p := &fakePath{refuse: map[int]unix.Errno{2: unix.ENOBUFS, 3: unix.EAGAIN, 5: unix.EMSGSIZE}}
	x := sender{path: p, interval: float64(time.Millisecond), stop: new(stopper)}
	begin := now()
	if err := x.run(kindMeasure, int64(10*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if d := now() - begin; d < int64(10*time.Millisecond) {
		t.Errorf("a window of 10 ms lasted %d ns", d)
	}
	if x.offered != 10 || x.sent > 7 || x.sent != int64(len(p.seqs)) {
		t.Errorf("offered %d, sent %d: want 10, and at most 7", x.offered, x.sent)
	}
	for i, seq := range p.seqs { // what was not sent has no number
		if seq != uint64(i) {
			t.Errorf("datagram %d has number %d", i, seq)
		}
	}
	if x.noBuffer > 1 || x.full > 1 || x.tooLarge > 1 {
		t.Errorf("errors %v", x.errors())
	}
}

// Batches keep to the schedule, and the last one holds what is left of it.
func TestSenderBatches(t *testing.T) {
	p := &fakePath{}
	x := sender{path: p, batch: 4, interval: float64(100 * time.Microsecond), stop: new(stopper)}
	if err := x.run(kindMeasure, int64(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if x.offered != 10 || x.sent > 10 || int64(p.calls) != (x.sent+3)/4 {
		t.Errorf("offered %d, sent %d in %d calls: want 10, at most as many, and four per call", x.offered, x.sent, p.calls)
	}
	p = &fakePath{refuse: map[int]unix.Errno{1: unix.ENOBUFS, 2: unix.EMSGSIZE}}
	x = sender{path: p, batch: 4, whole: true, stop: new(stopper)}
	if err := x.run(kindMeasure, int64(time.Hour)); err != unix.EMSGSIZE || x.noBuffer != 4 {
		t.Errorf("%v, %v: want 4 refused for want of a buffer, and the end where nothing is fragmented", err, x.errors())
	}
}

func TestSenderEnds(t *testing.T) {
	x := sender{path: &fakePath{refuse: map[int]unix.Errno{3: unix.ECONNREFUSED}}, stop: new(stopper)}
	if err := x.run(kindMeasure, int64(time.Hour)); err != unix.ECONNREFUSED {
		t.Errorf("%v, want refused", err)
	}
	x.stop.stop()
	if err := x.run(kindMeasure, int64(time.Hour)); err != errStopped {
		t.Errorf("%v, want stopped", err)
	}
}
