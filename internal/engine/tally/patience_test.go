package tally

import (
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

func TestPatience(t *testing.T) {
	p := NewPatience()
	if p.Known() || p.Wait() != 20*ms {
		t.Errorf("at first %d ns, known %v", p.Wait(), p.Known())
	}
	p.Ended()
	p.Ended()
	if p.Wait() != 80*ms {
		t.Errorf("after two waits without a reply: %d ns", p.Wait())
	}
	for range 100 {
		p.Heard(50_000)
	}
	if got := p.Wait(); !p.Known() || got != 50_000+int64(LeastPatience) {
		t.Errorf("with replies after 50 µs: %d ns", got)
	}
	for i := range 1000 { // a far server, whose replies vary
		p.Heard((100 + 20*int64(i%2)) * ms)
	}
	if got := p.Wait(); got < 120*ms || got > 200*ms {
		t.Errorf("with replies after 100 to 120 ms: %d ns", got)
	}
	for range 20 {
		p.Ended()
	}
	if got := p.Wait(); got != int64(event.ReplyTimeout) {
		t.Errorf("after a long silence: %d ns", got)
	}
	p.Heard(0)
	p.Heard(int64(time.Hour))
	if got := p.Wait(); got != int64(event.ReplyTimeout) {
		t.Errorf("after an hour: %d ns", got)
	}
}

// Nobody waits for an overdue request, but its reply counts until the timeout.
func TestOverdue(t *testing.T) {
	l := NewLedger(3, 500*time.Millisecond)
	l.ask(0, 1, 0)
	if l.Overdue(10*ms, 10*ms) || l.Waiting != 1 {
		t.Error("overdue before its time")
	}
	if !l.Overdue(11*ms, 10*ms) || l.Waiting != 0 || l.Pending != 1 {
		t.Errorf("%d waited for, %d pending", l.Waiting, l.Pending)
	}
	l.ask(1, 2, 11*ms)
	if ok, _ := l.answer(0, 1, 400*ms); !ok || l.Waiting != 1 || l.Answered != 1 {
		t.Errorf("an overdue reply: %v, %d waited for, %d answered", ok, l.Waiting, l.Answered)
	}
	l.Overdue(30*ms, 10*ms)
	if free := l.Expire(nil, 512*ms); len(free) != 1 || l.Lost != 1 || l.Waiting != 0 || l.Pending != 0 {
		t.Errorf("free %v, %d lost, %d waited for, %d pending", free, l.Lost, l.Waiting, l.Pending)
	}
	never := NewLedger(1, 0)
	never.ask(0, 1, 0)
	if never.Overdue(30_000*ms, 10*ms) || never.Waiting != 1 {
		t.Error("a stream's reply is overdue: it will come")
	}
}
