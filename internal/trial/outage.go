package trial

import (
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// outages adds what the probe saw of the event to the result: when traffic stopped, and when it flowed again.
func (s *Setup) outages(r *record.Result, m probe.Measured, h *happening) {
	if m.Outages == nil || h == nil || h.undid[1] == 0 {
		return
	}
	add := func(q record.Quantity, ns int64) {
		r.Values = append(r.Values, q.Whole().Value("s", time.Duration(max(0, ns)).Seconds()))
	}
	add(record.EventLasted, h.undid[1]-h.did[0])
	if at := noticed(h.changes, h.Do, h.did); at > 0 && at < h.undid[0] {
		add(record.Noticed, at-h.did[0])
	}
	if at := noticed(h.changes, h.Undo, h.undid); at > 0 {
		add(record.UndoNoticed, at-h.undid[1])
	}
	if h.Traffic == plan.Stops && m.Outages.Timeline.Answered != nil {
		n, last := through(m.Outages.Timeline, h.did[1], h.undid[0])
		r.Values = append(r.Values, record.Passed.Whole().Value("1", float64(n)))
		add(record.PassedFor, last-h.did[1])
	}
	g, ok := after(m.Outages.RoundTrip.List, h.did[0])
	if !ok {
		return
	}
	add(record.OutageDelay, g.Begin-h.did[0])
	if !g.After {
		add(record.Recovery, g.End-h.undid[1])
	}
}

// heardWithin is the longest time until weir hears of a change, ns: a wake-up takes that long.
const heardWithin = 2e6

// noticed returns when a kernel first reported a change of routes or rules, after steps began, that they cannot have
// made themselves; 0 if none did. A change that they can have made counts only once they have ended.
func noticed(all []evidence.Change, steps []plan.Step, when [2]int64) int64 {
	own := map[string]bool{}
	for _, s := range steps {
		own[evidence.OfRules] = own[evidence.OfRules] || s.Exec != nil || s.Drop != nil || s.Reload != nil || s.Command != nil
		own[evidence.OfRoute] = own[evidence.OfRoute] || s.Route != nil || s.Addr != nil || s.Set != nil || s.Link != nil || s.Command != nil
	}
	for _, c := range all {
		if (c.What == evidence.OfRoute || c.What == evidence.OfRules) && c.At >= when[0] && (!own[c.What] || c.At > when[1]+heardWithin) {
			return c.At
		}
	}
	return 0
}

// through returns how many of the requests sent in whole bins between two moments were answered, and the end of the
// last bin with an answer; from if there is none.
func through(t event.Timeline, from, to int64) (n, last int64) {
	last = from
	for i, answered := range t.Answered {
		if begin := t.Begin + int64(i)*t.Bin; begin >= from && begin+t.Bin <= to && answered > 0 {
			n, last = n+answered, begin+t.Bin
		}
	}
	return n, last
}

// after returns the longest gap that ended after a moment.
func after(all []event.Gap, moment int64) (longest event.Gap, ok bool) {
	for _, g := range all {
		if g.End > moment && g.Length > longest.Length {
			longest, ok = g, true
		}
	}
	return longest, ok
}

// sawOutages adds what the probe saw to the evidence of an event, or of none.
func sawOutages(e *evidence.Event, m probe.Measured) *evidence.Event {
	o := m.Outages
	if o == nil {
		return e
	}
	if e == nil {
		e = &evidence.Event{}
	}
	e.Limit = int64(event.OutageLimit(o.Rate))
	e.From, e.Bin, e.Arrivals = o.Timeline.Begin, o.Timeline.Bin, o.Timeline.Replies
	for _, x := range []struct {
		way  string
		gaps []event.Gap
	}{{evidence.RoundTrip, o.RoundTrip.List}, {evidence.There, o.There.List}, {evidence.Back, o.Back.List}} {
		for _, g := range x.gaps {
			e.Gaps = append(e.Gaps, evidence.Gap{Way: x.way, Begin: g.Begin, End: g.End, Open: g.After})
		}
	}
	slices.SortStableFunc(e.Gaps, func(a, b evidence.Gap) int { return int(a.Begin - b.Begin) })
	return e
}
