package tally

import (
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A window is Outages between two moments, with marks at both.
type window struct {
	*Outages
	begin, end int64
	marks      []mark
	offset     int64 // server's clock less the client's, and the way there of the quickest request
	known      bool  // offset is
}

// window returns the window from begin to end. Its first mark is a reply to a request at its beginning, and its last one is a
// reply to one at its end, each after the response time of the quickest: a way that delivers nothing from the beginning on,
// or until the end, shows as a gap after the one, or before the other.
func (o *Outages) window(begin, end int64) window {
	w := window{Outages: o, begin: begin, end: end}
	for _, m := range o.marks[1:] {
		if d := m.far.At - o.sends[m.seq].from; !w.known || d < w.offset {
			w.offset, w.known = d, true
		}
	}
	quick := o.quick
	if quick == unanswered {
		quick = 0
	}
	w.marks = append(w.marks, o.marks...)
	w.marks[0].at = begin + quick + o.marks[0].far.Turn
	last := mark{seq: len(o.sends), at: end + quick}
	if len(o.later) > 0 {
		last = o.later[0]
		last.at = end + quick + last.far.Turn
	}
	w.marks = append(w.marks, last)
	return w
}

// A span is what happened between two marks that follow each other.
type span struct {
	w        *window
	from, to mark
	pauses
	lost    event.Lost
	reached int64    // requests that reached the server's program after the request of from, up to the request of to; -1: unknown
	dropped [2]int64 // by its socket, and by the client's
}

func (w *window) between(from, to mark) (s span) {
	s = span{w: w, from: from, to: to, reached: -1}
	s.pauses = w.pauses(from.seq, min(to.seq, len(w.sends)))
	if to.seq == from.seq+1 { // nothing was lost: what was sent next was late, and ended the outage
		s.last = 0
	}
	missing := int64(0)
	for _, x := range w.sends[max(from.seq+1, 0):min(to.seq, len(w.sends))] {
		if x.replies == 0 {
			missing++
		}
	}
	if to.far == (wire.Arrival{}) {
		s.lost.Unknown = missing
		return s
	}
	s.reached, s.dropped = to.far.Count-from.far.Count, [2]int64{to.far.DroppedSince(from.far), to.dropped - from.dropped}
	// The server counts requests out of order in another span than this one, so each part has a bound.
	not := min(max(int64(to.seq-from.seq)-s.reached, 0), missing)
	full := [2]int64{min(s.dropped[0], not), min(s.dropped[1], missing-not)}
	s.lost = event.Lost{There: not - full[0], Socket: full[0] + full[1], Back: missing - not - full[1]}
	return s
}

// Pauses are the times between two sends from one request to another.
type pauses struct {
	pause       int64 // the longest
	first, last int64
	long        int64 // sum of those that can be gaps where the requests arrive
}

// pauses returns the pauses from one request to another. Request -1, and all before it, is sent when the window begins,
// and the one after the last when it ends.
func (o *window) pauses(from, to int) (p pauses) {
	from = max(from, -1)
	at, first := o.begin, true
	if from >= 0 {
		at = o.sends[from].from
	}
	for i := from + 1; i <= to; i++ {
		x := sent{from: o.end, to: o.end}
		if i < len(o.sends) {
			x = o.sends[i]
		}
		p.last = max(x.to-at, 0)
		if first {
			p.first, first = p.last, false
		}
		if p.pause = max(p.pause, p.last); p.last > o.limit/2 {
			p.long += p.last
		}
		at = x.from
	}
	return p
}

// gap returns an outage between two arrivals, on the receiver's clock, in which the longest pause of the sender was
// pause. It must be longer than that pause. It began at some moment between the last request that arrived and the next
// one, sent a time first later; it ended at some moment between the last request that did not arrive and the next one,
// sent a time last later. During a pause inside it, between requests that did not arrive, nothing shows whether the way
// worked; a pause that is most of the gap is taken out.
func (s *span) gap(begin, end, pause, first, last int64) (g event.Gap, ok bool) {
	if end-begin-pause <= s.w.limit {
		return g, false
	}
	g = event.Gap{Begin: begin + s.w.edge(first), End: end - s.w.edge(last), Lost: s.lost}
	if g.Length = g.End - g.Begin; pause > g.Length/2 && pause > max(first, last) {
		g.Length -= pause
	}
	return g, g.Length > 0
}

// edge is how much of the time between two requests at the edge of an outage is not part of it: half, unless
// that can be off by more than a millisecond.
func (w *window) edge(between int64) int64 {
	if between > max(2*int64(time.Millisecond), 2*w.interval) {
		return between
	}
	return between / 2
}

// within cuts a gap at the bounds of the window. What is left must still be an outage.
func (s *span) within(g event.Gap, begin, end int64) []event.Gap {
	cut := g.Length - (g.End - g.Begin)
	if g.Before = g.Before || g.Begin <= begin; g.Begin < begin {
		g.Begin = begin
	}
	if g.After = g.After || g.End > end; g.End > end {
		g.End = end
	}
	if g.Length = g.End - g.Begin + cut; g.Length <= s.w.limit {
		return nil
	}
	return []event.Gap{g}
}

func (s *span) roundTrip() []event.Gap {
	from := s.from.ideal()
	if s.dropped != [2]int64{} { // an end had no CPU, and what came then is lost
		from = s.from.at
	}
	g, ok := s.gap(from, s.to.ideal(), s.pause, s.first, s.last)
	if away := s.to.far.Stalled - s.from.far.Stalled + s.to.away - s.from.away; ok && s.w.Stream && away > 0 {
		if g.Length -= away; g.Length <= s.w.limit {
			return nil
		}
	}
	if !ok {
		return nil
	}
	g.Before, g.After = s.from.seq < 0, s.to.seq >= len(s.w.sends)
	return s.within(g, s.w.begin, s.w.end)
}

// there returns the outages of the way to the server. The reply that ends the span tells the last gap between arrivals; if
// it was not the only one since the reply that began the span, all others are one, somewhere in between.
func (s *span) there() (all []event.Gap) {
	f, begun, ended := s.to.far, s.w.begin+s.w.offset, s.w.end+s.w.offset
	switch {
	case !s.w.known || s.reached < 1:
		return nil
	case f.Count == 1: // the first request that ever came
		f.GapBegin, f.GapEnd, f.Gaps = begun, f.At, f.At-begun
	case f.GapEnd <= s.from.far.GapEnd:
		return nil
	}
	first, last, begin := s.w.interval, s.w.interval, f.GapBegin
	if begin == begun {
		first = 0
	} else if s.from.far.At == begin && s.from.seq >= 0 {
		first = s.first
		if s.dropped[0] > 0 {
			begin = max(begin, s.from.replied())
		}
	} else if s.dropped[0] > 0 { // it is not known when the socket was full
		return nil
	}
	if s.to.far.At == f.GapEnd && s.to.seq < len(s.w.sends) {
		last = s.last
	}
	if others := f.Gaps - s.from.far.Gaps - (f.GapEnd - f.GapBegin); others > 0 && s.from.seq >= 0 {
		if g, ok := s.gap(f.GapBegin-others, f.GapBegin, max(s.pause, s.long), first, last); ok {
			g.Begin, g.Lost = min(g.Begin, s.from.far.At), event.Lost{}
			g.Length = min(g.Length, others-s.long) // each pause of the sender is one of them
			all = append(all, s.within(g, begun, ended)...)
		}
	}
	if g, ok := s.gap(begin, f.GapEnd, s.pause, first, last); ok {
		all = append(all, s.within(g, begun, ended)...)
	}
	return all
}

// back returns the outage of the way back: the time without replies, less the time in which the server sent none because
// nothing came.
func (s *span) back() []event.Gap {
	silent, pause := int64(0), s.pause
	switch own := s.from.seq >= 0 && s.to.seq < len(s.w.sends); {
	case s.reached < 1:
		return nil
	case s.reached == 1 && own:
		silent = s.to.replied() - s.from.replied()
	case s.reached == 1 && s.to.seq < len(s.w.sends) && s.w.known:
		silent = s.to.replied() - s.w.begin - s.w.offset
	case s.reached == 1:
		return nil
	case s.dropped[0] > 0:
		silent = s.to.far.Gaps - s.from.far.Gaps
	default:
		for _, g := range s.there() {
			silent += g.Length
		}
		pause = max(pause, s.to.far.Stalled-s.from.far.Stalled)
	}
	g, ok := s.gap(s.from.at, s.to.at, max(pause, silent), s.first, s.last)
	if !ok {
		return nil
	}
	if silent > s.pause {
		g.Length = min(g.Length, s.to.at-s.from.at-silent)
	}
	g.Before, g.After = s.from.seq < 0, s.to.seq >= len(s.w.sends)
	return s.within(g, s.w.begin, s.w.end)
}
