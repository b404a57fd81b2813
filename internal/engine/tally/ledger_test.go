package tally

import (
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

// ask opens request seq at t in a slot.
func (l *Ledger) ask(i int, seq uint64, t int64) {
	l.Open(i, Slot{Seq: seq, Start: t, Sent: t, Measured: true, Sample: -1})
}

func (l *Ledger) answer(i int, seq uint64, t int64) (ok bool, err error) {
	x, ok := l.Reply(i, seq, t)
	if ok {
		err = l.Record(x, t)
	}
	return ok, err
}

// A marked request is in the histogram of all, and not in that of the plain ones.
func TestPlain(t *testing.T) {
	l := NewLedger(1, 0)
	for i := range int64(20) {
		if err := l.Enter(Slot{Measured: i > 0, Marked: i%4 == 0, Sample: -1}, 1000+i); err != nil {
			t.Fatal(err)
		}
	}
	if all, plain := l.Hist.TotalCount(), l.Plain.TotalCount(); all != 19 || plain != 15 {
		t.Errorf("%d requests, %d of them plain", all, plain)
	}
}

func TestLedger(t *testing.T) {
	l := NewLedger(2, 500*time.Millisecond)
	reply := func(i int, seq uint64, at int64, want bool) {
		t.Helper()
		if ok, err := l.answer(i, seq, at); ok != want || err != nil {
			t.Errorf("reply to %d at %d: %v, %v; want %v", seq, at, ok, err, want)
		}
	}
	l.Open(0, Slot{Seq: 1, Measured: false, Sample: -1}) // of the warm-up
	reply(0, 1, 5, true)
	l.ask(0, 2, 100)
	l.ask(1, 3, 100)
	reply(1, 3, 300, true) // overtakes
	reply(1, 3, 301, false)
	reply(0, 9, 301, false)
	reply(7, 2, 301, false)
	reply(-1, 2, 301, false)
	reply(0, 2, 400, true)
	if l.Requests != 2 || l.Answered != 2 || l.Late != 4 || l.Lost != 0 || l.Pending != 0 {
		t.Errorf("%d requests, %d answered, %d late, %d lost, %d pending", l.Requests, l.Answered, l.Late, l.Lost, l.Pending)
	}
	if l.Hist.Min() != 200 || l.Hist.Max() != 300 || l.Hist.TotalCount() != 2 {
		t.Errorf("response times %d..%d of %d", l.Hist.Min(), l.Hist.Max(), l.Hist.TotalCount())
	}
}

// A reply after the timeout does not count, even before Expire.
func TestLedgerLoses(t *testing.T) {
	l := NewLedger(2, 500*time.Millisecond)
	l.ask(0, 1, 0)
	l.ask(1, 2, 0)
	if ok, _ := l.answer(0, 1, 501*ms); ok || l.Late != 1 {
		t.Error("a reply after the time-out counts")
	}
	if free := l.Expire([]int{9}, 500*ms); len(free) != 1 {
		t.Errorf("lost in time: %v", free)
	}
	if free := l.Expire(nil, 501*ms); len(free) != 2 || l.Lost != 2 || l.Pending != 0 {
		t.Errorf("slots %v are free, %d lost", free, l.Lost)
	}
	l.ask(0, 3, 600*ms)
	l.ask(0, 4, 601*ms) // its slot was needed
	if l.Lost != 3 || l.Pending != 1 {
		t.Errorf("%d lost, %d pending", l.Lost, l.Pending)
	}
	never := NewLedger(1, 0)
	never.ask(0, 1, 0)
	if ok, err := never.answer(0, 1, 30_000*ms); !ok || err != nil || never.Answered != 1 {
		t.Errorf("without a time-out a reply after 30 s does not count: %v", err)
	}
}

func TestLedgerStalls(t *testing.T) {
	l := NewLedger(100, 0)
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
	if l.Stalls != 1 {
		t.Errorf("%d stalls, want 1", l.Stalls)
	}
	l.ask(0, 100, 200*ms)
	l.answer(0, 100, 251*ms)
	l.ask(0, 101, 260*ms)
	l.answer(0, 101, 310*ms) // exactly the bound is not a stall
	if l.Stalls != 2 {
		t.Errorf("%d stalls, want 2", l.Stalls)
	}
}
