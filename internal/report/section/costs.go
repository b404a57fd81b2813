package section

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// inDetail are the media of tables that a terminal has no room for.
var inDetail = []doc.Medium{doc.Page, doc.Markdown}

var costsAbout = say("CPU time by the clocks of the engine's own threads, with the softirqs that ran on top of them: other programs hardly change it. " +
	"Intervals are over blocks, and each holds by itself. In a lab the sender's thread carries packets up to the receiver's socket, across both hosts.")

// costSection has the models of what a packet costs, the sum of an overlay's segments next to the
// measured path, and what free encapsulation would give.
func costSection(s source) []doc.Section {
	x := doc.Section{ID: "costs", Title: say("What a packet costs"), About: costsAbout, In: doc.Full}
	models := s.Models()
	x.Parts = append(x.Parts, s.boundPart(s.Bounds())...)
	x.Parts = append(x.Parts, s.hookPart(s.Hooks())...)
	x.Parts = append(x.Parts, modelParts(models, costmodel.Wakes(s.p, models), s.p.Baseline)...)
	if x.Parts == nil {
		return nil
	}
	return []doc.Section{x}
}

// traffic names kinds of traffic, and what one pass of each carries.
var traffic = map[string]struct{ name, pass string }{
	costmodel.UDP:      {say("UDP, one send per datagram"), say("datagram")},
	costmodel.Mmsg:     {say("UDP, sendmmsg"), say("datagram")},
	costmodel.GSO:      {say("UDP with GSO"), say("buffer")},
	costmodel.TCP:      {"TCP", say("write")},
	costmodel.Requests: {say("UDP requests"), say("message")},
	costmodel.Paced:    {say("UDP at a rate"), say("datagram")},
}

// modelParts has a part per traffic that has a model.
func modelParts(models []costmodel.Model, wakes []costmodel.Wake, baseline string) (parts []doc.Section) {
	var by doc.Groups[string, costmodel.Model]
	for _, m := range models {
		by.Add(m.Kind+" "+m.Mode+" "+prose.Levels(m.Levels), m)
	}
	for _, k := range by.Keys {
		all := by.Of[k]
		good := slices.DeleteFunc(slices.Clone(all), func(m costmodel.Model) bool { return m.Refused != "" })
		if len(good) == 0 {
			continue
		}
		t := traffic[good[0].Kind]
		title := prose.Comma(t.name, prose.Levels(good[0].Levels))
		p := doc.Section{ID: "cost model " + k, Title: say("Cost model: %s", title), Label: title, In: inDetail,
			About:  say("CPU time of a %s = pass + bytes × byte%s, fitted to %s of payload. \"Even at\" is the payload whose bytes cost as much as the pass, if it is no larger than those. \"Held out\" is the error of predictions for sizes that the fit did not have.", t.pass, segments(good), sizesOf(good[0])),
			Tables: []doc.Table{doc.Tabulate("cost model table "+k, modelColumns(good)...).Named(baseline)}}
		if anyUnresolved(good) {
			p.Notes = append(p.Notes, unresolvedCosts)
		}
		p.Notes = append(append(p.Notes, refusals(all)...), crossings(costmodel.Crossings(good))...)
		p.Notes = append(p.Notes, promise(good[0], wakes)...)
		parts = append(parts, p)
	}
	return parts
}

func segments(models []costmodel.Model) string {
	if slices.ContainsFunc(models, func(m costmodel.Model) bool { return m.Segment.N > 0 }) {
		return say(" + datagrams × segment")
	}
	return ""
}

func sizesOf(m costmodel.Model) string {
	var all []string
	for _, p := range m.Points {
		text := fmt.Sprintf("%.0f", p.Bytes)
		if p.Segments > 1 {
			text = fmt.Sprintf("%.0f × %s", p.Segments, text)
		}
		all = append(all, text)
	}
	return say("%s bytes", prose.List(all))
}

func modelColumns(models []costmodel.Model) []doc.Filled {
	errors := doc.Layout(doc.Column{Head: say("held out"), Keep: 8}, models, func(m costmodel.Model) doc.Cell {
		return doc.Cell{Text: say("%.1f %%, at most %.1f %%", 100*m.MeanError, 100*m.LargestError), Value: doc.Number(m.MeanError)}
	})
	cs := []doc.Filled{doc.Names("network", models, func(m costmodel.Model) string { return m.Network }),
		doc.Layout(doc.Column{Head: say("end"), Left: true, Keep: 9}, models, func(m costmodel.Model) doc.Cell { return doc.Cell{Text: word(m.End)} })}
	cs = append(cs, coefficient("pass", "s", 9, models, func(m costmodel.Model) stat.Interval { return m.Pass })...)
	cs = append(cs, coefficient("segment", "s", 7, models, func(m costmodel.Model) stat.Interval { return m.Segment })...)
	cs = append(cs, coefficient("byte", "s/byte", 8, models, func(m costmodel.Model) stat.Interval { return m.Byte })...)
	cs = append(cs, coefficient("even at", "byte", 4, models, func(m costmodel.Model) stat.Interval { return m.Even })...)
	return append(cs, errors)
}

// resolved reports whether a run shows a cost: its interval lies above 0.
func resolved(i stat.Interval) bool { return !i.Bounded() || i.Lo > 0 }

var (
	notResolved     = say("not resolved")
	unresolvedCosts = say("Not resolved: the interval contains 0, so the run shows no such cost, only the most that it can be.")
)

// coefficient returns a cost and its interval. Of one that can be 0 it writes only the upper end, because the
// estimate is noise, which can be below 0.
func coefficient(head, base string, keep int, models []costmodel.Model, get func(costmodel.Model) stat.Interval) []doc.Filled {
	var centers, ends []float64
	for _, m := range models {
		switch i := get(m); {
		case i.N == 0:
		case resolved(i):
			centers = append(centers, i.Center)
		default:
			ends = append(ends, i.Hi)
		}
	}
	if centers == nil {
		centers = ends
	}
	factor, label, d := doc.InOneUnit(base, centers)
	return []doc.Filled{doc.Layout(doc.Column{Head: word(head), Unit: label, Base: base, Keep: keep}, models, func(m costmodel.Model) (c doc.Cell) {
		if i := get(m); i.N > 0 {
			c = doc.Cell{Text: prose.Fixed(i.Center*factor, d), Value: doc.Number(i.Center)}
			if c.Bounds(i); !resolved(i) {
				c.Text = notResolved
			}
		}
		return c
	}), doc.Layout(doc.Column{Head: say("interval"), Base: base, Kind: "interval", Keep: 5}, models, func(m costmodel.Model) doc.Cell {
		i := get(m)
		c := doc.IntervalCell(i, factor, d)
		if !resolved(i) {
			c.Text = say("at most %s", prose.Fixed(i.Hi*factor, d))
		}
		return c
	})}
}

// anyUnresolved reports whether a table of models has a cost that the run does not resolve.
func anyUnresolved(models []costmodel.Model) bool {
	return slices.ContainsFunc(models, func(m costmodel.Model) bool { return !resolved(m.Pass) || !resolved(m.Segment) || !resolved(m.Byte) })
}

func (s source) boundPart(bounds []costmodel.Bound) []doc.Section {
	if bounds == nil {
		return nil
	}
	p := doc.Section{ID: "what-if", Title: say("What free encapsulation would give"), Data: bounds,
		About: say("Encapsulation is vxlan − host, and veths and bridges are 2 (bridge − host): the path of vxlan-overlay is host and both. " +
			"Where this sum is not the measured path, within the intervals, weir gives no bound. Costs are CPU time of the sender."),
		Tables: []doc.Table{doc.Tabulate("segments table", s.sumColumns(bounds)...), doc.Tabulate("what-if table", s.boundColumns(bounds)...)}}
	for i := range p.Tables {
		p.Tables[i].In = inDetail
	}
	for _, b := range costmodel.Leading(bounds) {
		line := doc.Line{Network: b.Network, Title: prose.Comma(b.Network, s.Under(b.Probe, b.Levels)), Text: whatIf(b)}
		if s.Why().States(explain.Bound, b.Cell) {
			line.In = []doc.Medium{doc.Alone}
		}
		p.Lines = append(p.Lines, line)
	}
	return []doc.Section{p}
}

// perUnit scales a cost for people: a byte's is too small.
func perUnit(unit string) (by float64, noun string) {
	if unit == "s/byte" {
		return 1024, "KiB"
	}
	return 1, say("packet")
}

func (s source) boundNames(bounds []costmodel.Bound) []doc.Filled {
	return []doc.Filled{doc.Names("network", bounds, func(b costmodel.Bound) string { return b.Network }),
		doc.Layout(doc.Column{Head: say("traffic"), Left: true, Keep: 9}, bounds, func(b costmodel.Bound) doc.Cell {
			_, noun := perUnit(b.Unit)
			return doc.Cell{Text: prose.Comma(s.Under(b.Probe, b.Levels), say("per %s", noun))}
		})}
}

// sumColumns lays out the sum of the segments next to the measured path.
func (s source) sumColumns(bounds []costmodel.Bound) []doc.Filled {
	cs := s.boundNames(bounds)
	add := func(head string, keep int, bounded bool, get func(costmodel.Bound) stat.Interval) {
		scaled := func(b costmodel.Bound) stat.Interval {
			i, by := get(b), 1.0
			by, _ = perUnit(b.Unit)
			i.Center, i.Lo, i.Hi = i.Center*by, i.Lo*by, i.Hi*by
			return i
		}
		value := doc.Numbers(head, "s", keep, bounds, func(b costmodel.Bound) (float64, bool) { return doc.Center(scaled(b)) })
		for i, b := range bounds {
			value.Cells[i].Bounds(scaled(b))
		}
		if cs = append(cs, value); bounded { // the others are in the cells' numbers
			cs = append(cs, doc.Intervals("s", bounds, scaled))
		}
	}
	add("host", 7, false, func(b costmodel.Bound) stat.Interval { return b.Host })
	add("+ veths and bridges", 7, false, func(b costmodel.Bound) stat.Interval { return b.Bridging })
	add("+ encapsulation", 8, true, func(b costmodel.Bound) stat.Interval { return b.Encapsulation })
	add("= sum", 9, true, func(b costmodel.Bound) stat.Interval { return b.Sum })
	add("measured", 9, true, func(b costmodel.Bound) stat.Interval { return b.Cost })
	return append(cs, doc.Ratios(bounds, "sum ÷ measured", func(b costmodel.Bound) (stat.Interval, bool) { return b.OfMeasured, b.OfMeasured.Contains(1) })...)
}

// boundColumns lays out the bound, what limits, and what the run without the tunnel gained.
func (s source) boundColumns(bounds []costmodel.Bound) []doc.Filled {
	cs := s.boundNames(bounds)
	cs = append(cs, doc.Ratios(bounds, "free encapsulation", func(b costmodel.Bound) (stat.Interval, bool) { return b.Free, false })...)
	cs = append(cs, doc.Ratios(bounds, "free network", func(b costmodel.Bound) (stat.Interval, bool) { return b.FreeAll, false })[0])
	cs = append(cs, doc.Ratios(bounds, "bridged gains", func(b costmodel.Bound) (stat.Interval, bool) { return b.Gain, b.Gain.Contains(1) })...)
	cs = append(cs, doc.Ratios(bounds, "per CPU time", func(b costmodel.Bound) (stat.Interval, bool) { return b.GainCPU, b.GainCPU.Contains(1) })...)
	text := func(head string, of func(costmodel.Bound) string) {
		cs = append(cs, doc.Layout(doc.Column{Head: word(head), Left: true, Keep: 6}, bounds, func(b costmodel.Bound) doc.Cell { return doc.Cell{Text: of(b)} }))
	}
	text("verdict", func(b costmodel.Bound) string { return word(string(b.Verdict)) })
	text("limit", func(b costmodel.Bound) string { return busiest(b.Limit) })
	text("next", func(b costmodel.Bound) string { return busiest(b.Next) })
	return append(cs, doc.Numbers("saves", "core", 6, bounds, func(b costmodel.Bound) (float64, bool) { return b.Saved.Center, b.Saved.Lo > 0 }))
}

func (s source) hookPart(hooks []costmodel.Hook) []doc.Section {
	if hooks == nil {
		return nil
	}
	p := doc.Section{ID: "hooks", Title: say("What bridge-nf costs without a rule"), Data: hooks,
		About: say("With bridge-nf, bridges pass every packet to netfilter as if they routed it, whether or not there is a rule.")}
	for _, h := range hooks {
		p.Lines = append(p.Lines, doc.Line{Network: h.Network, Title: prose.Comma(h.Network, s.Under(h.Probe, h.Levels)), Text: hook(h)})
	}
	return []doc.Section{p}
}
