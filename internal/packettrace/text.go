package packettrace

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/unit"
)

// says is how a mode is named to readers.
var says = map[string]string{
	ByBPF:      "raw tracepoints (BPF)",
	ByTaps:     "packet sockets on the devices",
	ByCounters: "device counters",
}

// Text prints the trace for a reader.
func (t Trace) Text(to io.Writer) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s: requests of %d bytes from %s to %s, by %s\n", t.Network, t.Size, t.Client, t.Server, says[t.Mode])
	for _, x := range []struct {
		name string
		Way
	}{{"request", t.Request}, {"reply", t.Reply}} {
		if len(x.Hops) > 0 {
			fmt.Fprintf(w, "\n  %s, %s%s\n", x.name, micro(x.Path), map[bool]string{true: " on the two machines"}[t.Apart])
			x.list(w)
		}
	}
	if len(t.Devices) > 0 {
		t.devices(w)
	}
	fmt.Fprintln(w)
	for _, n := range t.Notes() {
		fmt.Fprintln(w, n)
	}
	return w.Flush()
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
	if t.Apart && len(t.Request.Hops) > 0 {
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
	if t.Apart {
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

func (w Way) list(to io.Writer) {
	tw := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	past := false
	for i, h := range w.Hops {
		what, time := lang.T("sent"), ""
		if i > 0 {
			what, time = h.Words(w.Hops[i-1]), fmt.Sprintf("%8s", micro(h.Time))
		}
		if h.Does == DoesWire {
			time = "another clock"
		}
		if past {
			time += "  after the path's end"
		}
		past = past || h.Last
		fmt.Fprintf(tw, "    %s\t%s\t%s\t%s\n", h.Node, h.Dev, what, time)
	}
	if w.Program > 0 {
		fmt.Fprintf(tw, "    \t\tthe program wakes up and answers\t%8s\n", micro(w.Program))
	}
	tw.Flush() // a bufio.Writer keeps the error
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

func (t Trace) devices(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\n  packets for each request\t\treceived\tsent")
	for _, d := range t.Devices {
		fmt.Fprintf(tw, "    %s\t%s\t%.2f\t%.2f\n", d.Node, d.Dev, d.Rx, d.Tx)
	}
	tw.Flush()
}

func micro(s float64) string { return strings.TrimSpace(fmt.Sprintf("%.2f µs", s*1e6)) }

func nano(s float64) string { return unit.Format(s, "s") }
