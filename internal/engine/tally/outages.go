package tally

import (
	"cmp"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Outages holds the requests of a window and their replies, and finds the times in which a way delivered nothing. Times are
// ns on the client's clock; those of a wire.Arrival are on the server's.
//
// Replies that come after one to a later request, and copies, end no outage: what was sent later is still missing.
type Outages struct {
	// Stream means that requests and replies are one stream each: none is lost, and of the server's pauses the sum is known.
	Stream bool
	// Away is the sum so far of the client's own pauses in which something waited for it, of a stream without stamps.
	Away     int64
	interval int64 // from one request to the next
	limit    int64 // a gap between arrivals must be longer

	sends  []sent
	newest int    // request answered so far
	marks  []mark // the replies that were the newest when they came; first what was known when the window began
	later  []mark // a reply to a request after the window, none or one
	quick  int64  // the shortest response time, without the server's part
	last   int64  // arrival
	bins   event.Timeline
	counts event.Outages // only what replies count
}

type sent struct {
	from, to int64 // before and after the call that sent it
	replies  int
}

type mark struct {
	seq     int
	at      int64 // of the reply's arrival
	dropped int64 // by the client's socket until then
	away    int64
	far     wire.Arrival
}

// unanswered is the response time before any reply.
const unanswered = int64(1) << 62

// NewOutages begins a window of at most n requests. before is how many the server was sent in this run before them.
func NewOutages(interval time.Duration, limit time.Duration, before uint64, n int) *Outages {
	return &Outages{interval: int64(interval), limit: int64(limit), sends: make([]sent, 0, n), newest: -1, quick: unanswered,
		marks: append(make([]mark, 0, n+1), mark{seq: -1 - int(before)})}
}

// Begin sets the bounds of the window, for the counts by the time.
func (o *Outages) Begin(begin int64, d time.Duration) {
	width := max(int64(time.Millisecond), (int64(d)+event.MaxBins-1)/event.MaxBins)
	n := (int64(d) + width - 1) / width
	o.bins = event.Timeline{Begin: begin, Bin: width, Replies: make([]int64, n), Answered: make([]int64, n)}
}

// Sent enters a request, of a call from and to a time.
func (o *Outages) Sent(from, to int64) { o.sends = append(o.sends, sent{from: from, to: to}) }

// Replied enters a reply that came at t, when the client's socket had dropped this many for lack of room. Requests before the
// window have numbers below 0, those after it follow on.
func (o *Outages) Replied(seq int, t, dropped int64, far wire.Arrival) {
	switch m := (mark{seq, t, dropped, o.Away, far}); {
	case seq >= len(o.sends) && o.later == nil:
		o.later = append(o.later, m)
		return
	case seq >= len(o.sends):
		return
	case seq < 0:
		if len(o.marks) == 1 && seq > o.marks[0].seq {
			o.marks[0] = m
		}
		return
	}
	x := &o.sends[seq]
	t = max(t, x.from) // the clock of the stamps can be set
	x.replies++
	o.count(o.bins.Replies, t)
	if x.replies > 1 {
		o.counts.Duplicates++
		return
	}
	o.counts.Answered++
	o.count(o.bins.Answered, x.from)
	if t-x.from > int64(event.ReplyTimeout) {
		o.counts.Late++
	}
	if seq < o.newest {
		o.counts.Reordered++
		return
	}
	o.newest = seq
	o.last = max(t, o.last) // stamps of two CPUs can be in the wrong order
	m := mark{seq, o.last, dropped, o.Away, far}
	o.quick = min(o.quick, m.ideal()-x.from)
	o.marks = append(o.marks, m)
}

// count enters a moment into its bin, if it has one.
func (o *Outages) count(bins []int64, at int64) {
	if i := (at - o.bins.Begin) / max(o.bins.Bin, 1); at >= o.bins.Begin && i < int64(len(bins)) {
		bins[i]++
	}
}

// ideal is when the reply would have come if the server had answered at once.
func (m mark) ideal() int64 { return m.at - m.far.Turn }

// replied is when the reply left the server.
func (m mark) replied() int64 { return m.far.At + m.far.Turn }

// Waits reports whether a reply to a request that was sent after t can still come (open), and whether the last request
// is not answered and no later one is, whose reply would tell what became of it (untold).
func (o *Outages) Waits(t int64) (open, untold bool) {
	for i := len(o.sends) - 1; i >= 0 && o.sends[i].from > t && !open; i-- {
		open = o.sends[i].replies == 0
	}
	return open, o.newest < len(o.sends)-1 && o.later == nil
}

// Found returns what a window from begin to end has shown.
func (o *Outages) Found(begin, end int64) event.Outages {
	r := o.counts
	r.Timeline, r.Requests = o.bins, int64(len(o.sends))
	w := o.window(begin, end)
	r.ClientPause = w.pauses(-1, len(o.sends)).pause
	for i := 1; i < len(w.marks); i++ {
		r.ServerPause = max(r.ServerPause, w.marks[i].far.Stalled-w.marks[i-1].far.Stalled)
		s := w.between(w.marks[i-1], w.marks[i])
		add(&r.Lost, s.lost)
		keep(&r.RoundTrip, s.roundTrip()...)
		keep(&r.There, s.there()...)
		keep(&r.Back, s.back()...)
	}
	for _, g := range []*event.Gaps{&r.RoundTrip, &r.There, &r.Back} {
		longest(g)
	}
	return r
}

func add(to *event.Lost, l event.Lost) {
	to.There, to.Socket, to.Back, to.Unknown = to.There+l.There, to.Socket+l.Socket, to.Back+l.Back, to.Unknown+l.Unknown
}

func keep(g *event.Gaps, some ...event.Gap) {
	for _, x := range some {
		g.Count++
		g.Total += x.Length
		g.Longest = max(g.Longest, x.Length)
		g.List = append(g.List, x)
	}
}

// longest leaves the longest gaps of a list, in the order in which they began.
func longest(g *event.Gaps) {
	slices.SortStableFunc(g.List, func(a, b event.Gap) int { return cmp.Compare(b.Length, a.Length) })
	g.List = g.List[:min(len(g.List), event.MaxGaps)]
	slices.SortStableFunc(g.List, func(a, b event.Gap) int { return cmp.Compare(a.Begin, b.Begin) })
}
