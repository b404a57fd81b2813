package report

import (
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/unit"
)

// traceSection shows the path of each network's packets, with the time of every hop.
func traceSection(s source) []Section {
	x := Section{ID: "trace", Title: say("The path of a packet"), Fold: true,
		About: say("Requests were sent one at a time, and their packets recorded at every place that they passed. Times are medians, less what the recording took.")}
	for _, t := range s.Traces {
		part := Section{ID: "trace " + t.Network, Title: t.Network, Notes: marked(t.Notes())}
		if len(t.Request.Hops) > 0 {
			part.Figures = []Figure{{ID: "trace " + t.Network + " chart", Caption: say("From %s to %s and back", t.Client, t.Server), Chart: t.Picture()}}
		}
		for _, w := range []struct {
			name string
			packettrace.Way
		}{{"request", t.Request}, {"reply", t.Reply}} {
			if len(w.Hops) > 0 {
				one := table("trace "+t.Network+" "+w.name, wayColumns(w.Way)...)
				one.Title = say("The %s, %s", word(w.name), unit.Format(w.Path, "s"))
				part.Tables = append(part.Tables, one)
			}
		}
		if len(t.Devices) > 0 {
			part.Tables = append(part.Tables, table("trace "+t.Network+" devices",
				names("device", t.Devices, func(d packettrace.Device) string { return d.Node + " " + d.Dev }),
				numbers("received", "1", 9, t.Devices, func(d packettrace.Device) (float64, bool) { return d.Rx, true }),
				numbers("sent", "1", 9, t.Devices, func(d packettrace.Device) (float64, bool) { return d.Tx, true })))
		}
		x.Parts = append(x.Parts, part)
	}
	if x.Parts == nil {
		return nil
	}
	return []Section{x}
}

func wayColumns(w packettrace.Way) []column {
	what := make([]string, len(w.Hops))
	for i, h := range w.Hops {
		what[i] = say("sent")
		if i > 0 {
			what[i] = string(h.Words(w.Hops[i-1]))
		}
	}
	words := layout(Column{Head: say("what happens on the way there"), Left: true, Keep: 9}, what, func(s string) Cell { return Cell{Text: s} })
	return []column{names("place", w.Hops, func(h packettrace.Hop) string { return h.Node + " " + h.Dev }), words,
		numbers("time", "s", 9, w.Hops, func(h packettrace.Hop) (float64, bool) { return h.Time, h.Does != "" && h.Does != packettrace.DoesWire }),
		numbers("so far", "s", 7, w.Hops, func(h packettrace.Hop) (float64, bool) { return h.At, true })}
}
