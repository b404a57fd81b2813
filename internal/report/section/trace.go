package section

import (
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/unit"
)

// traceSection shows the path of each network's packets, with the time of every hop.
func traceSection(s source) []doc.Section {
	x := doc.Section{ID: "trace", Title: say("The path of a packet"), Fold: true,
		About: say("Requests were sent one at a time, and their packets recorded at every place that they passed. Times are medians, less what the recording took.")}
	for _, t := range s.Traces {
		part := doc.Section{ID: "trace " + t.Network, Title: t.Network, Notes: doc.Marked(t.Notes())}
		if len(t.Request.Hops) > 0 {
			part.Figures = []doc.Figure{{ID: "trace " + t.Network + " chart", Caption: say("From %s to %s and back", t.Client, t.Server), Chart: t.Picture()}}
		}
		for _, w := range []struct {
			name string
			packettrace.Way
		}{{"request", t.Request}, {"reply", t.Reply}} {
			if len(w.Hops) > 0 {
				one := doc.Tabulate("trace "+t.Network+" "+w.name, wayColumns(w.Way)...)
				one.Title = say("The %s, %s", word(w.name), unit.Format(w.Path, "s"))
				part.Tables = append(part.Tables, one)
			}
		}
		if len(t.Devices) > 0 {
			part.Tables = append(part.Tables, doc.Tabulate("trace "+t.Network+" devices",
				doc.Names("device", t.Devices, func(d packettrace.Device) string { return d.Node + " " + d.Dev }),
				doc.Numbers("received", "1", 9, t.Devices, func(d packettrace.Device) (float64, bool) { return d.Rx, true }),
				doc.Numbers("sent", "1", 9, t.Devices, func(d packettrace.Device) (float64, bool) { return d.Tx, true })))
		}
		x.Parts = append(x.Parts, part)
	}
	if x.Parts == nil {
		return nil
	}
	return []doc.Section{x}
}

func wayColumns(w packettrace.Way) []doc.Filled {
	what := make([]string, len(w.Hops))
	for i, h := range w.Hops {
		what[i] = say("sent")
		if i > 0 {
			what[i] = string(h.Words(w.Hops[i-1]))
		}
	}
	words := doc.Layout(doc.Column{Head: say("what happens on the way there"), Left: true, Keep: 9}, what, func(s string) doc.Cell { return doc.Cell{Text: s} })
	return []doc.Filled{doc.Names("place", w.Hops, func(h packettrace.Hop) string { return h.Node + " " + h.Dev }), words,
		doc.Numbers("time", "s", 9, w.Hops, func(h packettrace.Hop) (float64, bool) { return h.Time, h.Does != "" && h.Does != packettrace.DoesWire }),
		doc.Numbers("so far", "s", 7, w.Hops, func(h packettrace.Hop) (float64, bool) { return h.At, true })}
}
