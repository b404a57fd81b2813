package section

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// kernelTold says what the kernel reported.
func kernelTold(t analysis.Told) string {
	switch t.What + " " + t.State {
	case evidence.OfDevice + " " + evidence.Up:
		return say("%s of %s came up", t.Dev, t.In)
	case evidence.OfDevice + " " + evidence.NoCarrier:
		return say("%s of %s lost its carrier", t.Dev, t.In)
	case evidence.OfDevice + " " + evidence.Down:
		return say("%s of %s went down", t.Dev, t.In)
	case evidence.OfDevice + " " + evidence.Gone:
		return say("%s of %s was removed", t.Dev, t.In)
	case evidence.OfNeighbor + " " + evidence.Known:
		return say("%s learned the MAC address of %s (%s)", t.In, t.To, t.Dev)
	case evidence.OfNeighbor + " " + evidence.Unknown:
		return say("%s asked for the MAC address of %s (%s)", t.In, t.To, t.Dev)
	case evidence.OfNeighbor + " " + evidence.Failed:
		return say("%s got no answer about the MAC address of %s (%s)", t.In, t.To, t.Dev)
	case evidence.OfNeighbor + " " + evidence.Gone:
		return say("%s forgot the MAC address of %s (%s)", t.In, t.To, t.Dev)
	case evidence.OfRoute + " " + evidence.Set:
		return say("%s got the route to %s (%s)", t.In, t.To, t.Dev)
	case evidence.OfRoute + " " + evidence.Gone:
		return say("%s lost the route to %s (%s)", t.In, t.To, t.Dev)
	case evidence.OfAddress + " " + evidence.Set:
		return say("%s got the address %s (%s)", t.In, t.To, t.Dev)
	case evidence.OfRules + " " + evidence.Set:
		return say("%s changed the packet filter of %s", t.To, t.In)
	}
	return say("%s lost the address %s (%s)", t.In, t.To, t.Dev)
}

// told is a table of what the kernel reported while an event happened, in order of time.
func (s source) told(id string, all []analysis.Downtime) (out []doc.Table) {
	type row struct {
		analysis.Told
		network string
	}
	var events doc.Groups[string, row]
	for _, d := range all {
		for _, t := range d.Told {
			events.Add(d.Event, row{t, d.Network})
		}
	}
	for _, event := range events.Keys {
		rows := events.Of[event]
		t := doc.Tabulate(id+" told "+event,
			doc.Names("network", rows, func(r row) string { return r.network }),
			doc.Numbers("since the event", "s", 9, rows, func(r row) (float64, bool) { return r.At, true }),
			doc.Layout(doc.Column{Head: say("what the kernel reported"), Left: true, Keep: 9}, rows, func(r row) doc.Cell { return doc.Cell{Text: kernelTold(r.Told)} }),
			doc.Layout(doc.Column{Head: say("trials"), Keep: 8}, rows, func(r row) doc.Cell {
				return doc.Cell{Text: prose.Trim(float64(r.Trials)), Value: doc.Number(float64(r.Trials))}
			})).Named(s.p.Baseline)
		t.Title, t.In = say("What the kernel reported during %s", event), []doc.Medium{doc.Page, doc.Markdown}
		out = append(out, t)
	}
	return out
}

// reasons tells what the kernel reported when traffic flowed again.
func (s source) reasons(all []analysis.Downtime) (out []string) {
	var by doc.Groups[string, analysis.Downtime]
	for _, d := range all {
		var what []string
		for _, t := range d.Reasons() {
			what = append(what, kernelTold(t))
		}
		if what != nil {
			by.Add(prose.And(what), d)
		}
	}
	for _, what := range by.Keys {
		var over []string
		after := 0.0
		for _, d := range by.Of[what] {
			over, after = append(over, s.Noun(d.Network)), max(after, d.After.Center)
		}
		out = append(out, say("Over %s, traffic flowed again when %s, up to %s after the event was undone.", prose.And(over), what, unit.Format(after, "s")))
	}
	return out
}

// notices tells how long it took until a kernel had other routes or rules: the part of a control plane.
func (s source) notices(all []analysis.Downtime) (out []string) {
	within := func(get func(analysis.Downtime) stat.Interval) (times []string) {
		for _, d := range all {
			if i := get(d); i.N > 0 && i.N == d.Outage.N {
				times = append(times, say("over %s within %s", s.Noun(d.Network), prose.Measured(i, "s")))
			}
		}
		return times
	}
	if times := within(func(d analysis.Downtime) stat.Interval { return d.Noticed }); times != nil {
		out = append(out, say("After it began, a kernel reported other routes or rules %s.", prose.And(times)))
	}
	if times := within(func(d analysis.Downtime) stat.Interval { return d.UndoNoticed }); times != nil {
		out = append(out, say("After it was undone, a kernel reported other routes or rules %s.", prose.And(times)))
	}
	return out
}

// passes tells what came through an event that should have stopped it.
func (s source) passes(all []analysis.Downtime) (out []string) {
	var none, some []string
	trials := 0
	for _, d := range all {
		switch over := s.Noun(d.Network); {
		case d.Passed.N == 0:
		case d.PassedMost == 0:
			none, trials = append(none, over), trials+d.Of
		default:
			some = append(some, say("%s over %s for %s (most: %s)", prose.Measured(d.Passed, "1"), over, prose.Measured(d.PassedFor, "s"), prose.Trim(d.PassedMost)))
		}
	}
	if some != nil {
		out = append(out, say("Once its steps had ended and nothing should have passed, requests sent then were still answered: %s.", prose.And(some)))
	}
	if none != nil {
		out = append(out, say("Once its steps had ended, nothing passed over %s in %s.", prose.And(none), prose.Count(trials, "trial")))
	}
	return out
}
