package sock

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// A fakePath takes every datagram except those in its refusals.
type fakePath struct {
	refuse map[int]unix.Errno // by attempt
	calls  int
	seqs   []uint64
}

func (p *fakePath) Close() {}

func (p *fakePath) Send(k wire.Kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno) {
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
	x := Sender{Path: p, Interval: float64(time.Millisecond), Stop: new(Stopper)}
	begin := Now()
	if err := x.Run(wire.KindMeasure, int64(10*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if d := Now() - begin; d < int64(10*time.Millisecond) {
		t.Errorf("a window of 10 ms lasted %d ns", d)
	}
	if x.Offered != 10 || x.Sent > 7 || x.Sent != int64(len(p.seqs)) {
		t.Errorf("offered %d, sent %d: want 10, and at most 7", x.Offered, x.Sent)
	}
	for i, seq := range p.seqs { // unsent datagrams have no number
		if seq != uint64(i) {
			t.Errorf("datagram %d has number %d", i, seq)
		}
	}
	if x.noBuffer > 1 || x.full > 1 || x.tooLarge > 1 {
		t.Errorf("errors %v", x.Errors())
	}
}

func TestSenderBatches(t *testing.T) {
	p := &fakePath{}
	x := Sender{Path: p, Batch: 4, Interval: float64(100 * time.Microsecond), Stop: new(Stopper)}
	if err := x.Run(wire.KindMeasure, int64(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if x.Offered != 10 || x.Sent > 10 || int64(p.calls) != (x.Sent+3)/4 {
		t.Errorf("offered %d, sent %d in %d calls: want 10, at most as many, and four per call", x.Offered, x.Sent, p.calls)
	}
	p = &fakePath{refuse: map[int]unix.Errno{1: unix.ENOBUFS, 2: unix.EMSGSIZE}}
	x = Sender{Path: p, Batch: 4, Whole: true, Stop: new(Stopper)}
	if err := x.Run(wire.KindMeasure, int64(time.Hour)); err != unix.EMSGSIZE || x.noBuffer != 4 {
		t.Errorf("%v, %v: want 4 refused for want of a buffer, and the end where nothing is fragmented", err, x.Errors())
	}
}

func TestSenderEnds(t *testing.T) {
	x := Sender{Path: &fakePath{refuse: map[int]unix.Errno{3: unix.ECONNREFUSED}}, Stop: new(Stopper)}
	if err := x.Run(wire.KindMeasure, int64(time.Hour)); err != unix.ECONNREFUSED {
		t.Errorf("%v, want refused", err)
	}
	x.Stop.Stop()
	if err := x.Run(wire.KindMeasure, int64(time.Hour)); err != ErrStopped {
		t.Errorf("%v, want stopped", err)
	}
}
