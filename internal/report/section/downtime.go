package section

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

var downtimeAbout = say("Requests leave at a fixed rate, whether or not earlier ones were answered. Traffic has stopped when nothing that was sent arrives for more than a millisecond and than three intervals; pauses of the programs that measure do not count. Each line of a chart is one trial.")

// downtimeSection has a part per probe and its conditions: how long each event stopped traffic over each network.
func downtimeSection(s source) []doc.Section {
	all := s.p.Downtimes()
	if len(all) == 0 {
		return nil
	}
	x := doc.Section{ID: "downtime", Title: say("How long traffic stops"), Label: say("downtime"), About: downtimeAbout, Flat: true}
	var parts doc.Groups[string, analysis.Downtime]
	for _, d := range all {
		parts.Add(s.Under(d.Probe, d.Levels), d)
	}
	for _, title := range parts.Keys {
		some := parts.Of[title]
		id := "downtime " + some[0].Probe + " " + prose.Levels(some[0].Levels)
		part := doc.Section{ID: id, Probe: some[0].Probe, Title: title, Label: title, Tables: append([]doc.Table{s.downtimes(id, some)}, s.told(id, some)...), Data: some}
		part.Figures = s.arrivals(id, some)
		if slices.ContainsFunc(some, func(d analysis.Downtime) bool { return d.Open > 0 }) {
			part.Notes = []string{say("An outage that had not ended when the measurement did is at least as long as the table says.")}
		}
		x.Parts = append(x.Parts, part)
	}
	return []doc.Section{x}
}

func (s source) downtimes(id string, all []analysis.Downtime) doc.Table {
	interval := func(head string, keep int, get func(analysis.Downtime) stat.Interval) []doc.Filled {
		some := func(d analysis.Downtime) (float64, bool) { return doc.Center(get(d)) }
		c := doc.Intervals("s", all, get)
		c.Keep = keep
		return []doc.Filled{doc.Numbers(head, "s", keep, all, some), c}
	}
	columns := []doc.Filled{doc.Names("event", all, func(d analysis.Downtime) string { return eventName(d.Event) }),
		doc.Layout(doc.Column{Head: say("network"), Left: true, Kind: "name", Keep: 9}, all, func(d analysis.Downtime) doc.Cell { return doc.Cell{Text: d.Network} })}
	columns = append(columns, interval("traffic stops", 9, func(d analysis.Downtime) stat.Interval { return d.Outage })...)
	columns = append(columns,
		doc.Numbers("p99", "s", 6, all, func(d analysis.Downtime) (float64, bool) { return d.P99, d.P99 > 0 }),
		doc.Numbers("worst", "s", 8, all, func(d analysis.Downtime) (float64, bool) { return d.Worst, d.Stopped > 0 }),
		doc.Layout(doc.Column{Head: say("stopped in"), Keep: 9}, all, func(d analysis.Downtime) doc.Cell {
			return doc.Cell{Text: fmt.Sprintf("%d/%d", d.Stopped, d.Of), Value: doc.Number(float64(d.Stopped))}
		}))
	if s.p.Baseline != "" {
		columns = append(columns, interval(say("longer than %s", s.p.Baseline), 7, func(d analysis.Downtime) stat.Interval { return d.More })...)
	}
	columns = append(columns, doc.Numbers("event lasts", "s", 6, all, func(d analysis.Downtime) (float64, bool) { return d.Lasted, d.Lasted > 0 }))
	columns = append(columns, interval("flows again after it is undone", 6, func(d analysis.Downtime) stat.Interval { return d.After })...)
	columns = append(columns, doc.Numbers("requests lost", "", 4, all, func(d analysis.Downtime) (float64, bool) { return d.Lost, d.Lost > 0 }))
	t := doc.Tabulate(id+" table", columns...)
	for i, d := range all {
		t.Rows[i].Network, t.Rows[i].Baseline = d.Network, d.Network == s.p.Baseline
	}
	return t
}

// eventName names an event in a table.
func eventName(event string) string {
	if event == analysis.NoEvent {
		return say("none")
	}
	return event
}

// arrivals draws a figure per event with a panel per network.
func (s source) arrivals(id string, all []analysis.Downtime) (out []doc.Figure) {
	var events doc.Groups[string, analysis.Downtime]
	for _, d := range all {
		if d.Event != analysis.NoEvent && len(d.Lines) > 0 {
			events.Add(d.Event, d)
		}
	}
	for _, event := range events.Keys {
		cells := events.Of[event]
		v := chart.TimeSeries{X: say("s since the event began")}
		var rates [][][]float64
		var alt []string
		toEnd := false
		if v.Times, rates = analysis.Aligned(cells); len(v.Times) < 2 {
			continue
		}
		for i, d := range cells {
			p := chart.Panel{Axis: say("%s: replies per second", d.Network)}
			for _, y := range rates[i] {
				p.Lines = append(p.Lines, chart.TimeLine{Color: s.color(d.Network), Y: y})
			}
			v.Window, toEnd = max(v.Window, d.Lasted), toEnd || d.ToEnd
			v.Panels = append(v.Panels, p)
			alt = append(alt, say("%s %s", d.Network, unit.Format(d.Outage.Center, "s")))
		}
		note := say("Between the dashed lines, the event lasted.")
		if toEnd {
			note = say("The event began at the dashed line.")
		}
		caption := say("Replies around the event %s", event)
		v.Alt = say("%s, %s; traffic stops for, in the median: %s.", caption, s.Under(all[0].Probe, all[0].Levels), prose.Alternatives(alt))
		out = append(out, doc.Figure{ID: id + " " + event, Caption: caption, Chart: v, Note: note})
	}
	return out
}

// downtime tells for each event how long it stops traffic over each network, and what was seen without one.
func (s source) downtime() (out []string) {
	type happening struct{ event, what string }
	var events doc.Groups[happening, analysis.Downtime]
	bounded, of, each := false, 0, 0.0
	all := s.p.Downtimes()
	calm := 0.0
	for _, d := range all {
		if d.Event == analysis.NoEvent {
			calm = max(calm, d.Worst)
		} else {
			events.Add(happening{d.Event, prose.Comma(s.Short(d.Probe), prose.Levels(d.Levels))}, d)
			bounded, of, each = bounded || d.Outage.Bounded(), max(of, d.Of), d.Each
		}
	}
	for _, e := range events.Keys {
		out = append(out, s.stops(e.event, e.what, events.Of[e], calm)...)
	}
	if out == nil {
		return nil
	}
	out = append(out, calmTime(all)...)
	if least := stat.MinPairs(each); !bounded {
		out = append(out, say("Too few blocks to tell: %d of at least %d (--blocks %[2]d). The numbers below have no interval: another run can give others.", of, least))
	}
	return out
}

// stops tells what an event does to what a probe sends, over all networks. noise is the longest outage without an event.
func (s source) stops(event, what string, all []analysis.Downtime, noise float64) (out []string) {
	var stopped, brief, calm, open []string // brief without the worst of each
	trials, lasted, limit, toEnd := 0, 0.0, 0.0, false
	for _, d := range all {
		over, amount, worst := s.Noun(d.Network), prose.Measured(d.Outage, "s"), unit.Format(d.Worst, "s")
		if d.AtLeast {
			amount = say("at least %s", amount)
		}
		if d.Open > 0 { // what was seen of it ends with the measurement
			worst = say("at least %s", worst)
		}
		switch {
		case d.Stopped == 0:
			calm, trials, limit = append(calm, over), trials+d.Of, max(limit, d.Limit)
			continue
		case d.Stopped < d.Of && d.Open > 0:
			stopped = append(stopped, say("%s in the worst of %d of %s over %s", worst, d.Stopped, prose.Count(d.Of, "trial"), over))
		case d.Stopped < d.Of:
			stopped = append(stopped, say("up to %s in %d of %s over %s", worst, d.Stopped, prose.Count(d.Of, "trial"), over))
		default:
			stopped = append(stopped, say("%s over %s (worst of %d: %s)", amount, over, d.Of, worst))
			brief = append(brief, say("%s over %s", amount, over))
		}
		lasted, toEnd = max(lasted, d.Lasted), toEnd || d.ToEnd
		if d.Open > 0 {
			open = append(open, say("over %s in %d of %s", over, d.Open, prose.Count(d.Of, "trial")))
		}
	}
	if stopped != nil {
		until := unit.Format(lasted, "s")
		if toEnd {
			until = say("until the measurement ends")
		}
		text := say("%s, which lasts %s, stops %s for %s.", event, until, what, prose.And(stopped))
		if long(text) && len(brief) == len(stopped) {
			text = say("%s, which lasts %s, stops %s for %s.", event, until, what, prose.And(brief))
		}
		if open != nil {
			text = prose.Sentences(text, say("It had not recovered when the measurement ended %s.", prose.And(open)))
		}
		out = append(out, text)
	}
	var none []string
	if calm != nil {
		none = []string{say("%s stops no %s over %s: no outage above %s in %s.", event, what, prose.And(calm), unit.Format(limit, "s"), prose.Count(trials, "trial"))}
	}
	more := slices.Concat(s.notices(all), s.passes(all), s.reasons(all), s.reacts(all, noise))
	if stopped == nil { // what follows is about the event that this names
		return slices.Concat(none, more)
	}
	return slices.Concat(out, more, none)
}

// reacts ranks the networks by how long after the event, and after its end, traffic followed: where it stopped during the event,
// and for longer than without one.
func (s source) reacts(all []analysis.Downtime, noise float64) (out []string) {
	rank := func(get func(analysis.Downtime) stat.Interval, tell func(network, time string) string) (times []string) {
		var some []analysis.Downtime
		for _, d := range all {
			its := d.Stopped == d.Of && d.Open == 0 && !d.ToEnd && d.Outage.Center > noise && d.Delay.Center < d.Lasted
			if its && d.Reasons() == nil && get(d).Center > d.Limit {
				some = append(some, d)
			}
		}
		slices.SortStableFunc(some, func(a, b analysis.Downtime) int { return cmp.Compare(get(a).Center, get(b).Center) })
		for _, d := range some {
			times = append(times, tell(s.Noun(d.Network), prose.Measured(get(d), "s")))
		}
		return times
	}
	flowed := rank(func(d analysis.Downtime) stat.Interval { return d.Delay }, func(network, time string) string { return say("over %s for %s", network, time) })
	if flowed != nil {
		out = append(out, say("After it began, traffic flowed on %s.", prose.And(flowed)))
	}
	again := rank(func(d analysis.Downtime) stat.Interval { return d.After }, func(network, time string) string { return say("over %s within %s", network, time) })
	if again != nil {
		out = append(out, say("After it was undone, traffic flowed again %s.", prose.And(again)))
	}
	return out
}

// calmTime tells what was seen in the trials without an event: what of the others could be the machine's own.
func calmTime(all []analysis.Downtime) []string {
	of, stopped, worst, limit := 0, 0, 0.0, 0.0
	for _, d := range all {
		if d.Event == analysis.NoEvent {
			of, stopped, worst, limit = of+d.Of, stopped+d.Stopped, max(worst, d.Worst), max(limit, d.Limit)
		}
	}
	switch {
	case of == 0:
		return nil
	case stopped == 0:
		return []string{say("Without an event, no outage above %s was seen in %s.", unit.Format(limit, "s"), prose.Count(of, "trial"))}
	}
	return []string{say("Without an event, traffic stopped in %d of %s, for up to %s: an outage of this length can be the machine's own.", stopped, prose.Count(of, "trial"), unit.Format(worst, "s"))}
}
