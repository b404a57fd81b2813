package tally

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

const (
	msec   = int64(time.Millisecond)
	every  = msec / 2
	second = 1000 * msec
	clock  = 77_000 * msec // server's less the client's
	oneWay = msec / 10
)

// A path moves requests and replies. Times are ms from the beginning of the window.
type path struct {
	there, back    [][2]float64 // what leaves between is lost
	hold, holdBack [][2]float64 // what leaves between arrives at the end
	sender         [][2]float64 // the sender has no CPU
	server         [][2]float64 // the server has none
	room           int          // replies that the client's socket has room for while they come at once; 0: any
	mute           bool         // no reply ever comes
}

func in(spans [][2]float64, t int64) (end int64, ok bool) {
	for _, s := range spans {
		if t >= int64(s[0]*1e6) && t < int64(s[1]*1e6) {
			return int64(s[1] * 1e6), true
		}
	}
	return t, false
}

type came struct {
	seq int
	at  int64
	far wire.Arrival
}

// run sends through a path for a window and 100 ms more.
func (p path) run() *Outages {
	o := NewOutages(time.Duration(every), event.OutageLimit(2000), 0, int(second/every))
	o.Begin(0, time.Duration(second))
	server := NewArrivals(event.OutageLimit(2000))
	var all []came
	seq := 0
	for due := int64(0); due < second+100*msec; due += every {
		t, away := in(p.sender, due)
		if away && t-due > every {
			continue
		}
		if due < second {
			o.Sent(t, t+1000)
		}
		n := seq
		seq++
		if _, lost := in(p.there, t); lost {
			continue
		}
		held, _ := in(p.hold, t)
		at := held + oneWay + clock
		server.Add(uint64(n), at, 0)
		ready, _ := in(p.server, at-clock)
		far := server.Tell(ready + clock)
		if _, lost := in(p.back, ready); lost || p.mute {
			continue
		}
		ready, _ = in(p.holdBack, ready)
		all = append(all, came{n, ready + oneWay, far})
	}
	slices.SortStableFunc(all, func(a, b came) int { return cmp.Compare(a.at, b.at) })
	at, queued, dropped := int64(-1), 0, int64(0)
	for _, x := range all {
		if x.at != at {
			at, queued = x.at, 0
		}
		if queued++; p.room > 0 && queued > p.room {
			dropped++
			continue
		}
		o.Replied(x.seq, x.at, dropped, x.far)
	}
	return o
}

// An outage of a table: its begin and length in ms.
type outage struct{ begin, length float64 }

func TestOutages(t *testing.T) {
	span := func(from, to float64) [][2]float64 { return [][2]float64{{from, to}} }
	for name, tc := range map[string]struct {
		path
		round, there, back []outage
		lost               event.Lost
		client, server     float64 // pauses, ms
	}{
		"nothing":              {},
		"less than the limit":  {path: path{there: span(100, 101)}, lost: event.Lost{There: 2}},
		"there":                {path: path{there: span(100, 105)}, round: []outage{{100, 5}}, there: []outage{{100, 5}}, lost: event.Lost{There: 10}},
		"back":                 {path: path{back: span(100, 120)}, round: []outage{{100, 20}}, back: []outage{{100, 20}}, lost: event.Lost{Back: 40}},
		"one after the other":  {path: path{there: span(100, 120), back: span(120, 150)}, round: []outage{{100, 50}}, there: []outage{{100, 20}}, back: []outage{{100, 30}}, lost: event.Lost{There: 40, Back: 60}},
		"both at once":         {path: path{there: span(100, 200), back: span(100, 200)}, round: []outage{{100, 100}}, there: []outage{{100, 100}}, lost: event.Lost{There: 200}},
		"several":              {path: path{there: [][2]float64{{100, 105}, {300, 310}}}, round: []outage{{100, 5}, {300, 10}}, there: []outage{{100, 5}, {300, 10}}, lost: event.Lost{There: 30}},
		"held there":           {path: path{hold: span(100, 120)}, round: []outage{{100, 20}}, there: []outage{{100, 20}}},
		"held on the way back": {path: path{holdBack: span(100, 120)}, round: []outage{{100, 20}}, back: []outage{{100, 20}}},
		"unseen by a reply":    {path: path{there: [][2]float64{{110, 120}, {130, 150}}, back: span(105, 160)}, round: []outage{{105, 55}}, there: []outage{{105, 10}, {130, 20}}, back: []outage{{105, 25}}, lost: event.Lost{There: 60, Back: 50}},

		"sender stops":                {path: path{sender: span(100, 300)}, client: 200},
		"server stops":                {path: path{server: span(100, 300)}, server: 200},
		"server stops, client full":   {path: path{server: span(100, 300), room: 100}, lost: event.Lost{Socket: 300}, server: 200},
		"sender stops in an outage":   {path: path{there: span(100, 150), sender: span(110, 130)}, round: []outage{{100, 50}}, there: []outage{{100, 50}}, lost: event.Lost{There: 61}, client: 20},
		"sender stops for most of it": {path: path{there: span(100, 150), sender: span(105, 145)}, round: []outage{{100, 10}}, there: []outage{{100, 10}}, lost: event.Lost{There: 21}, client: 40},
		"then the sender stops":       {path: path{there: span(100, 110), sender: span(109, 210)}, round: []outage{{100, 9}}, there: []outage{{100, 9}}, lost: event.Lost{There: 18}, client: 101},

		"from the beginning":   {path: path{there: span(0, 50)}, round: []outage{{0, 50}}, there: []outage{{0, 50}}, lost: event.Lost{There: 100}},
		"until the end":        {path: path{there: span(900, 1040)}, round: []outage{{900, 100}}, there: []outage{{900, 100}}, lost: event.Lost{There: 200}},
		"back until the end":   {path: path{back: span(900, 1040)}, round: []outage{{900, 100}}, back: []outage{{900, 100}}, lost: event.Lost{Back: 200}},
		"longer than it waits": {path: path{there: span(900, 2000)}, round: []outage{{900, 100}}, lost: event.Lost{Unknown: 200}},
		"all the time":         {path: path{mute: true}, round: []outage{{0, 1000}}, lost: event.Lost{Unknown: 2000}},
	} {
		r := tc.path.run().Found(0, second)
		r.Offered = 2000
		if err := r.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r.Lost != tc.lost || r.Answered+r.Lost.Sum() != r.Requests {
			t.Errorf("%s: lost %+v of %d, want %+v", name, r.Lost, r.Requests, tc.lost)
		}
		for way, x := range map[string]struct {
			got    event.Gaps
			want   []outage
			offset int64
		}{"round trip": {r.RoundTrip, tc.round, 2 * oneWay}, "there": {r.There, tc.there, clock + oneWay}, "back": {r.Back, tc.back, oneWay}} {
			sameGaps(t, name+", "+way, x.got, x.want, x.offset)
		}
		for end, x := range map[string][2]float64{"client": {float64(r.ClientPause) / 1e6, max(tc.client, 0.5)}, "server": {float64(r.ServerPause) / 1e6, tc.server}} {
			if x[0] < x[1]-0.5 || x[0] > x[1]+0.6 {
				t.Errorf("%s: the %s paused for %g ms, want %g", name, end, x[0], x[1])
			}
		}
	}
}

func sameGaps(t *testing.T, name string, got event.Gaps, want []outage, offset int64) {
	t.Helper()
	if len(got.List) != len(want) || got.Count != int64(len(want)) {
		t.Errorf("%s: %+v, want %v", name, got, want)
		return
	}
	for i, g := range got.List {
		begin, length := float64(g.Begin-offset)/1e6, float64(g.Length)/1e6
		if d := begin - want[i].begin; d < -0.51 || d > 0.51 {
			t.Errorf("%s: begins at %g ms, want %g", name, begin, want[i].begin)
		}
		if d := length - want[i].length; d < -1.1 || d > 1.1 {
			t.Errorf("%s: lasts %g ms, want %g", name, length, want[i].length)
		}
		if before, after := want[i].begin == 0, want[i].begin+want[i].length == float64(second/msec); g.Before != before || g.After != after {
			t.Errorf("%s: %+v, want begun before %v and not ended %v", name, g, before, after)
		}
	}
}

// Over a stream, the server's pauses are taken from the gaps in which they were.
func TestOutagesOfAStream(t *testing.T) {
	server := NewArrivals(event.OutageLimit(2000))
	o := NewOutages(time.Duration(every), event.OutageLimit(2000), 0, 2000)
	o.Stream = true
	o.Begin(0, time.Duration(second))
	server.Alive(0, false)
	for i := range int64(2000) {
		t := i * every
		o.Sent(t, t)
		came := t
		if end, away := in([][2]float64{{100, 130}}, t); away { // the server
			came = end
		} else if end, held := in([][2]float64{{300, 350}}, t); held { // the path
			came = end
			for x := t; x < end && t == 300*msec; x += msec {
				server.Alive(x, false)
			}
		} else if end, held := in([][2]float64{{500, 540}}, t); held { // both
			came = end
		}
		server.Add(uint64(i), came, 0)
		if came == 540*msec && i == 1000 {
			server.Alive(510*msec, true)
			server.Blocked(520 * msec)
		}
		o.Replied(int(i), came, 0, server.TellStream(came))
	}
	r := o.Found(0, second)
	sameGaps(t, "stream", r.RoundTrip, []outage{{300, 50}, {500, 10}}, 0)
	if d := r.ServerPause - 30*msec; d < 0 || d > msec {
		t.Errorf("the server was away for %d ns, want 30 ms", r.ServerPause)
	}
}

// Copies and replies out of order are counted, and end no outage.
func TestOutagesOrder(t *testing.T) {
	o := NewOutages(time.Duration(every), event.OutageLimit(2000), 5, 1000)
	o.Begin(0, 20*time.Millisecond)
	far := wire.Arrival{At: 1, Count: 5}
	o.Replied(-1, 0, 0, far)
	for i := range int64(40) {
		o.Sent(i*every, i*every)
	}
	for seq := range 40 {
		if seq >= 10 && seq < 30 {
			if seq == 20 { // comes from before
				o.Replied(5, 20*every, 0, wire.Arrival{At: 20 * every, Count: 15})
				o.Replied(9, 20*every, 0, wire.Arrival{At: 20 * every, Count: 15})
			}
			continue
		}
		if seq == 5 {
			continue
		}
		far.At, far.Count = int64(seq)*every, far.Count+1
		o.Replied(seq, int64(seq)*every, 0, far)
	}
	o.Replied(39, 2*int64(event.ReplyTimeout), 0, far)
	r := o.Found(0, 20*msec)
	if r.Requests != 40 || r.Answered != 20 || r.Duplicates != 2 || r.Reordered != 1 || r.Lost.Sum() != 20 {
		t.Errorf("%d requests, %d answered, %d twice, %d out of order, %+v lost", r.Requests, r.Answered, r.Duplicates, r.Reordered, r.Lost)
	}
	if r.RoundTrip.Count != 1 || r.RoundTrip.Longest != 10*msec {
		t.Errorf("%+v, want one outage of 10 ms", r.RoundTrip)
	}
	if open, untold := o.Waits(0); !open || untold {
		t.Errorf("waits for replies %v, for what became of the last request %v", open, untold)
	}
}

// Only the longest gaps are listed, and all are counted.
func TestManyOutages(t *testing.T) {
	var p path
	for i := range 100 {
		p.there = append(p.there, [2]float64{float64(10 * i), float64(10*i) + 3 + float64(i%2)*2})
	}
	r := p.run().Found(0, second)
	if r.RoundTrip.Count != 100 || len(r.RoundTrip.List) != event.MaxGaps || r.RoundTrip.Total <= 0 || !slices.IsSortedFunc(r.RoundTrip.List, func(a, b event.Gap) int { return cmp.Compare(a.Begin, b.Begin) }) {
		t.Errorf("%+v", r.RoundTrip)
	}
}

// Whatever a server says, the result is possible.
func FuzzOutages(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 5, 9, 0, 0, 7, 1}, int64(5))
	f.Fuzz(func(t *testing.T, b []byte, x int64) {
		o := NewOutages(time.Duration(every), event.OutageLimit(2000), 3, len(b))
		o.Begin(0, time.Duration(second))
		at := int64(0)
		for _, c := range b {
			at += int64(c) * msec / 8
			o.Sent(at, at+1000)
		}
		for i, c := range b {
			far := wire.Arrival{At: x + int64(c)*msec, Turn: int64(c) << 10, Count: int64(c) ^ x, Dropped: x, Stalled: int64(c) << 9, GapBegin: x, GapEnd: x + int64(c)<<20, Gaps: int64(c) << 21}
			var enc [wire.ArrivalSize]byte
			far.Put(enc[:])
			far, ok := wire.ParseArrival(enc[:])
			if ok {
				o.Replied(int(c)-4+i%3, at-int64(c)*msec+x%second, int64(i/2), far)
			}
		}
		r := o.Found(0, second)
		r.Offered = r.Requests
		if err := r.Check(); err != nil {
			t.Error(err)
		}
	})
}

// A reply counts when it comes, and its request as answered when it was sent, once.
func TestAnswered(t *testing.T) {
	o := NewOutages(time.Millisecond, time.Millisecond, 0, 3)
	o.Begin(0, 5*time.Millisecond)
	at := func(ms int64) int64 { return ms * int64(time.Millisecond) }
	for i := range int64(3) {
		o.Sent(at(i), at(i))
	}
	o.Replied(0, at(3), 0, wire.Arrival{Count: 1})
	o.Replied(0, at(4), 0, wire.Arrival{Count: 1})
	o.Replied(2, at(3), 0, wire.Arrival{Count: 2})
	if line := o.Found(0, at(5)).Timeline; !slices.Equal(line.Replies, []int64{0, 0, 0, 2, 1}) || !slices.Equal(line.Answered, []int64{1, 0, 1, 0, 0}) {
		t.Errorf("%d replies, %d answered requests", line.Replies, line.Answered)
	}
}
