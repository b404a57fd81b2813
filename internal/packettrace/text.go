package packettrace

import (
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/unit"
)

// says is how a mode is named to readers.
var says = map[string]lang.Text{
	ByBPF:      lang.T("raw tracepoints (BPF)"),
	ByTaps:     lang.T("packet sockets on the devices"),
	ByCounters: lang.T("device counters"),
}

// Text prints the trace for a reader of a language; nil is English.
func (t Trace) Text(to io.Writer, l *lang.Language) error {
	var b strings.Builder
	line := func(x lang.Text) { b.WriteString(x.In(l) + "\n") }
	line(lang.T("%s: requests of %d bytes from %s to %s, by %s", t.Network, t.Size, t.Client, t.Server, says[t.Mode]))
	for _, x := range []struct {
		name string
		Way
	}{{"request", t.Request}, {"reply", t.Reply}} {
		if len(x.Hops) == 0 {
			continue
		}
		head := lang.T("%s, %s", lang.Stored(x.name), micro(x.Path))
		if t.TwoMachines {
			head += lang.T(" on the two machines")
		}
		line("\n  " + head)
		b.WriteString(l.Table(x.rows()))
	}
	if len(t.Devices) > 0 {
		line("")
		b.WriteString(l.Table(t.devices()))
	}
	line("")
	for _, n := range t.Notes() {
		line(n)
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// Notes says how the numbers were made, what was dropped, and what is missing.
func (t Trace) Notes() (notes []lang.Text) {
	if len(t.Request.Hops) > 0 {
		notes = append(notes, lang.T("The path there and back took %s: %s with the trace, less %d events of %s each.", micro(t.Path), micro(t.Traced), t.Events, nano(t.Event)))
		if t.Stamps > 0 {
			notes = append(notes, lang.T("Without the trace, the sockets' own stamps say %s, of which %s pass before the first event (making the stamps) and %s in making them again at further devices: path ÷ stamps is %.2f.",
				micro(t.Stamps), micro(t.Before), micro(t.Again), (t.Path+t.Before+t.Again)/t.Stamps))
		}
		notes = append(notes, lang.T("%d of %d requests and their replies took these paths. Times are their medians.", t.Usual, t.Requests))
	}
	if t.TwoMachines && len(t.Request.Hops) > 0 {
		notes = append(notes, lang.T("Between the machines, there and back: %s, from when a packet leaves %s until the reply is back there by its clock, less what passes on %s by that one's. No time is taken across two clocks.",
			micro(t.Between), t.Client, t.Server))
	}
	for _, d := range t.Drops {
		notes = append(notes, lang.T("dropped: %d in %s %s: %s", d.Packets, d.Node, d.Dev, d.Reason))
	}
	if t.Lost > 0 {
		notes = append(notes, lang.T("%d later events did not fit the buffer.", t.Lost))
	}
	missing := Missing
	if t.TwoMachines {
		missing = missingApart
	}
	if m := missing[t.Mode]; m != "" {
		notes = append(notes, lang.T("Missing: %s.", lang.Stored(m)))
	}
	if t.Why != "" {
		notes = append(notes, lang.T("Why: %s.", t.Why))
	}
	return notes
}

// rows is a line for each hop.
func (w Way) rows() (rows [][]lang.Text) {
	past := false
	for i, h := range w.Hops {
		what, time := lang.T("sent"), lang.Text("")
		if i > 0 {
			what, time = h.Words(w.Hops[i-1]), aligned(h.Time)
		}
		if h.Does == DoesWire {
			time = lang.T("another clock")
		}
		if past {
			time += "  " + lang.T("after the path's end")
		}
		past = past || h.Last
		rows = append(rows, []lang.Text{lang.Text("    " + h.Node), lang.Text(h.Dev), what, time})
	}
	if w.Program > 0 {
		rows = append(rows, []lang.Text{"", "", lang.T("the program wakes up and answers"), aligned(w.Program)})
	}
	return rows
}

// Words says what happened between two hops.
func (h Hop) Words(before Hop) lang.Text {
	from := before.Dev
	if before.Node != h.Node {
		from = before.Node + " " + before.Dev
	}
	switch h.Does {
	case DoesCross, DoesWire:
		return lang.T("from %s", from)
	case DoesUser:
		return lang.T("user space, after %s", from)
	case DoesKernel:
		return lang.T("from %s", from)
	}
	return lang.Stored(string(h.Does))
}

// devices is a line for each device that moved packets.
func (t Trace) devices() [][]lang.Text {
	rows := [][]lang.Text{{"  " + lang.T("packets for each request"), "", lang.T("received"), lang.T("sent")}}
	for _, d := range t.Devices {
		rows = append(rows, []lang.Text{lang.Text("    " + d.Node), lang.Text(d.Dev), lang.Text(fmt.Sprintf("%.2f", d.Rx)), lang.Text(fmt.Sprintf("%.2f", d.Tx))})
	}
	return rows
}

func micro(s float64) string { return fmt.Sprintf("%.2f µs", s*1e6) }

// aligned is micro in a column of numbers.
func aligned(s float64) lang.Text { return lang.Text(fmt.Sprintf("%8s", micro(s))) }

func nano(s float64) string { return unit.Format(s, "s") }
