package engine

import (
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

// ask opens request seq at t in a slot.
func (l *ledger) ask(i int, seq uint64, t int64) {
	l.open(i, slot{seq: seq, start: t, sent: t, measured: true, sample: -1})
}

// answer enters and records a reply.
func (l *ledger) answer(i int, seq uint64, t int64) (ok bool, err error) {
	x, ok := l.reply(i, seq, t)
	if ok {
		err = l.record(x, t)
	}
	return ok, err
}

func TestLedger(t *testing.T) {
	l := newLedger(2, 500*time.Millisecond)
	reply := func(i int, seq uint64, at int64, want bool) {
		t.Helper()
		if ok, err := l.answer(i, seq, at); ok != want || err != nil {
			t.Errorf("reply to %d at %d: %v, %v; want %v", seq, at, ok, err, want)
		}
	}
	l.open(0, slot{seq: 1, measured: false, sample: -1}) // of the warm-up
	reply(0, 1, 5, true)
	l.ask(0, 2, 100)
	l.ask(1, 3, 100)
	reply(1, 3, 300, true) // overtakes
	reply(1, 3, 301, false)
	reply(0, 9, 301, false)
	reply(7, 2, 301, false)
	reply(-1, 2, 301, false)
	reply(0, 2, 400, true)
	if l.requests != 2 || l.answered != 2 || l.late != 4 || l.lost != 0 || l.pending != 0 {
		t.Errorf("%d requests, %d answered, %d late, %d lost, %d pending", l.requests, l.answered, l.late, l.lost, l.pending)
	}
	if l.hist.Min() != 200 || l.hist.Max() != 300 || l.hist.TotalCount() != 2 {
		t.Errorf("response times %d..%d of %d", l.hist.Min(), l.hist.Max(), l.hist.TotalCount())
	}
}

// A reply after the time-out is not counted, even if nobody has looked yet.
func TestLedgerLoses(t *testing.T) {
	l := newLedger(2, 500*time.Millisecond)
	l.ask(0, 1, 0)
	l.ask(1, 2, 0)
	if ok, _ := l.answer(0, 1, 501*ms); ok || l.late != 1 {
		t.Error("a reply after the time-out counts")
	}
	if free := l.expire([]int{9}, 500*ms); len(free) != 1 {
		t.Errorf("lost in time: %v", free)
	}
	if free := l.expire(nil, 501*ms); len(free) != 2 || l.lost != 2 || l.pending != 0 {
		t.Errorf("slots %v are free, %d lost", free, l.lost)
	}
	l.ask(0, 3, 600*ms)
	l.ask(0, 4, 601*ms) // its slot was needed
	if l.lost != 3 || l.pending != 1 {
		t.Errorf("%d lost, %d pending", l.lost, l.pending)
	}
	never := newLedger(1, 0)
	never.ask(0, 1, 0)
	if ok, err := never.answer(0, 1, 30_000*ms); !ok || err != nil || never.answered != 1 {
		t.Errorf("without a time-out a reply after 30 s does not count: %v", err)
	}
}

// A stall delays many requests and is one.
func TestLedgerStalls(t *testing.T) {
	l := newLedger(100, 0)
	for seq := range int64(60) { // one per ms; nothing is answered from 5 to 80 ms
		l.ask(int(seq), uint64(seq), seq*ms)
	}
	for seq := range int64(60) {
		at := max(seq*ms+ms/10, 80*ms+seq)
		if seq < 5 {
			at = seq*ms + ms/10
		}
		if ok, err := l.answer(int(seq), uint64(seq), at); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if l.stalls != 1 {
		t.Errorf("%d stalls, want 1", l.stalls)
	}
	l.ask(0, 100, 200*ms)
	l.answer(0, 100, 251*ms)
	l.ask(0, 101, 260*ms)
	l.answer(0, 101, 310*ms) // exactly the bound is none
	if l.stalls != 2 {
		t.Errorf("%d stalls, want 2", l.stalls)
	}
}
