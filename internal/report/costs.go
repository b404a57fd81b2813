package report

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/stat"
)

// inDetail are the media of tables that a terminal has no room for.
var inDetail = []Medium{forPage, forMarkdown}

var costsAbout = say("CPU time by the clocks of the engine's own threads, with the softirqs that ran on top of them: other programs hardly change it. " +
	"Intervals are over blocks, and each holds by itself. In a lab the sender's thread carries packets up to the receiver's socket, across both hosts.")

// costSection has the models of what a packet costs, the sum of an overlay's segments next to the
// measured path, and what free encapsulation would give.
func costSection(s source) []Section {
	x := Section{ID: "costs", Title: say("What a packet costs"), About: costsAbout, In: full}
	models := s.Models()
	x.Parts = append(x.Parts, s.boundPart(s.Bounds())...)
	x.Parts = append(x.Parts, s.hookPart(s.Hooks())...)
	x.Parts = append(x.Parts, modelParts(models, costmodel.Wakes(s.p, models), s.p.Baseline)...)
	if x.Parts == nil {
		return nil
	}
	return []Section{x}
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
func modelParts(models []costmodel.Model, wakes []costmodel.Wake, baseline string) (parts []Section) {
	var by groups[string, costmodel.Model]
	for _, m := range models {
		by.add(m.Kind+" "+m.Mode+" "+levelText(m.Levels), m)
	}
	for _, k := range by.keys {
		all := by.of[k]
		good := slices.DeleteFunc(slices.Clone(all), func(m costmodel.Model) bool { return m.Refused != "" })
		if len(good) == 0 {
			continue
		}
		t := traffic[good[0].Kind]
		title := comma(t.name, levelText(good[0].Levels))
		p := Section{ID: "cost model " + k, Title: say("Cost model: %s", title), Label: title, In: inDetail,
			About:  say("CPU time of a %s = pass + bytes × byte%s, fitted to %s of payload. \"Even at\" is the payload whose bytes cost as much as the pass, if it is no larger than those. \"Held out\" is the error of predictions for sizes that the fit did not have.", t.pass, segments(good), sizesOf(good[0])),
			Tables: []Table{table("cost model table "+k, modelColumns(good)...).named(baseline)}}
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
	return say("%s bytes", list(all))
}

func modelColumns(models []costmodel.Model) []column {
	errors := layout(Column{Head: say("held out"), Keep: 8}, models, func(m costmodel.Model) Cell {
		return Cell{Text: say("%.1f %%, at most %.1f %%", 100*m.MeanError, 100*m.LargestError), Value: number(m.MeanError)}
	})
	cs := []column{names("network", models, func(m costmodel.Model) string { return m.Network }),
		layout(Column{Head: say("end"), Left: true, Keep: 9}, models, func(m costmodel.Model) Cell { return Cell{Text: word(m.End)} })}
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
func coefficient(head, base string, keep int, models []costmodel.Model, get func(costmodel.Model) stat.Interval) []column {
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
	factor, label, d := inOneUnit(base, centers)
	return []column{layout(Column{Head: word(head), Unit: label, Base: base, Keep: keep}, models, func(m costmodel.Model) (c Cell) {
		if i := get(m); i.N > 0 {
			c = Cell{Text: fixed(i.Center*factor, d), Value: number(i.Center)}
			if c.bounds(i); !resolved(i) {
				c.Text = notResolved
			}
		}
		return c
	}), layout(Column{Head: say("interval"), Base: base, Kind: "interval", Keep: 5}, models, func(m costmodel.Model) Cell {
		i := get(m)
		c := intervalCell(i, factor, d)
		if !resolved(i) {
			c.Text = say("at most %s", fixed(i.Hi*factor, d))
		}
		return c
	})}
}

// anyUnresolved reports whether a table of models has a cost that the run does not resolve.
func anyUnresolved(models []costmodel.Model) bool {
	return slices.ContainsFunc(models, func(m costmodel.Model) bool { return !resolved(m.Pass) || !resolved(m.Segment) || !resolved(m.Byte) })
}

func (s source) boundPart(bounds []costmodel.Bound) []Section {
	if bounds == nil {
		return nil
	}
	p := Section{ID: "what-if", Title: say("What free encapsulation would give"), Data: bounds,
		About: say("Encapsulation is vxlan − host, and veths and bridges are 2 (bridge − host): the path of vxlan-overlay is host and both. " +
			"Where this sum is not the measured path, within the intervals, weir gives no bound. Costs are CPU time of the sender."),
		Tables: []Table{table("segments table", s.sumColumns(bounds)...), table("what-if table", s.boundColumns(bounds)...)}}
	for i := range p.Tables {
		p.Tables[i].In = inDetail
	}
	for _, b := range costmodel.Leading(bounds) {
		line := Line{Network: b.Network, Title: comma(b.Network, under(s.Words, b.Probe, b.Levels)), Text: whatIf(b)}
		if s.Why().States(explain.Bound, b.Cell) {
			line.In = []Medium{forAlone}
		}
		p.Lines = append(p.Lines, line)
	}
	return []Section{p}
}

// perUnit scales a cost for people: a byte's is too small.
func perUnit(unit string) (by float64, noun string) {
	if unit == "s/byte" {
		return 1024, "KiB"
	}
	return 1, say("packet")
}

func (s source) boundNames(bounds []costmodel.Bound) []column {
	return []column{names("network", bounds, func(b costmodel.Bound) string { return b.Network }),
		layout(Column{Head: say("traffic"), Left: true, Keep: 9}, bounds, func(b costmodel.Bound) Cell {
			_, noun := perUnit(b.Unit)
			return Cell{Text: comma(under(s.Words, b.Probe, b.Levels), say("per %s", noun))}
		})}
}

// sumColumns lays out the sum of the segments next to the measured path.
func (s source) sumColumns(bounds []costmodel.Bound) []column {
	cs := s.boundNames(bounds)
	add := func(head string, keep int, bounded bool, get func(costmodel.Bound) stat.Interval) {
		scaled := func(b costmodel.Bound) stat.Interval {
			i, by := get(b), 1.0
			by, _ = perUnit(b.Unit)
			i.Center, i.Lo, i.Hi = i.Center*by, i.Lo*by, i.Hi*by
			return i
		}
		value := numbers(head, "s", keep, bounds, func(b costmodel.Bound) (float64, bool) { return center(scaled(b)) })
		for i, b := range bounds {
			value.cells[i].bounds(scaled(b))
		}
		if cs = append(cs, value); bounded { // the others are in the cells' numbers
			cs = append(cs, intervals("s", bounds, scaled))
		}
	}
	add("host", 7, false, func(b costmodel.Bound) stat.Interval { return b.Host })
	add("+ veths and bridges", 7, false, func(b costmodel.Bound) stat.Interval { return b.Bridging })
	add("+ encapsulation", 8, true, func(b costmodel.Bound) stat.Interval { return b.Encapsulation })
	add("= sum", 9, true, func(b costmodel.Bound) stat.Interval { return b.Sum })
	add("measured", 9, true, func(b costmodel.Bound) stat.Interval { return b.Cost })
	return append(cs, ratios(bounds, "sum ÷ measured", func(b costmodel.Bound) (stat.Interval, bool) { return b.OfMeasured, b.OfMeasured.Contains(1) })...)
}

// boundColumns lays out the bound, what limits, and what the run without the tunnel gained.
func (s source) boundColumns(bounds []costmodel.Bound) []column {
	cs := s.boundNames(bounds)
	cs = append(cs, ratios(bounds, "free encapsulation", func(b costmodel.Bound) (stat.Interval, bool) { return b.Free, false })...)
	cs = append(cs, ratios(bounds, "free network", func(b costmodel.Bound) (stat.Interval, bool) { return b.FreeAll, false })[0])
	cs = append(cs, ratios(bounds, "bridged gains", func(b costmodel.Bound) (stat.Interval, bool) { return b.Gain, b.Gain.Contains(1) })...)
	cs = append(cs, ratios(bounds, "per CPU time", func(b costmodel.Bound) (stat.Interval, bool) { return b.GainCPU, b.GainCPU.Contains(1) })...)
	text := func(head string, of func(costmodel.Bound) string) {
		cs = append(cs, layout(Column{Head: word(head), Left: true, Keep: 6}, bounds, func(b costmodel.Bound) Cell { return Cell{Text: of(b)} }))
	}
	text("verdict", func(b costmodel.Bound) string { return word(string(b.Verdict)) })
	text("limit", func(b costmodel.Bound) string { return busiest(b.Limit) })
	text("next", func(b costmodel.Bound) string { return busiest(b.Next) })
	return append(cs, numbers("saves", "core", 6, bounds, func(b costmodel.Bound) (float64, bool) { return b.Saved.Center, b.Saved.Lo > 0 }))
}

func (s source) hookPart(hooks []costmodel.Hook) []Section {
	if hooks == nil {
		return nil
	}
	p := Section{ID: "hooks", Title: say("What bridge-nf costs without a rule"), Data: hooks,
		About: say("With bridge-nf, bridges pass every packet to netfilter as if they routed it, whether or not there is a rule.")}
	for _, h := range hooks {
		p.Lines = append(p.Lines, Line{Network: h.Network, Title: comma(h.Network, under(s.Words, h.Probe, h.Levels)), Text: hook(h)})
	}
	return []Section{p}
}
