package section

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// sendModes names each send mode and what the step to it changes; by is that in the answer.
var sendModes = map[string]struct {
	name, short, step, by string
	color                 int // of the step, common to all networks
}{
	analysis.Single: {say("UDP, one send per datagram"), say("one send each"), "", "", 0},
	analysis.Mmsg:   {say("UDP, sendmmsg"), "sendmmsg", say("system calls of the sender"), say("fewer system calls"), 4},
	analysis.GSO:    {say("UDP, GSO"), "GSO", say("passes through the stack"), say("shared passes through the kernel"), 0},
	analysis.GSOGRO: {say("UDP, GSO and GRO"), "GRO", say("the receiver's work per datagram"), say("datagrams joined at the receiver"), 2},
	analysis.TCP:    {say("TCP with offload"), "TCP", say("the rest: protocol, acknowledgements, copies"), say("the protocol itself"), 5},
}

// gapSection splits the gap between UDP and TCP, with a part for each measured network.
func gapSection(s source) []doc.Section {
	gaps := s.p.Gaps()
	if gaps == nil {
		return nil
	}
	x := doc.Section{ID: "gap", Title: say("The gap between UDP and TCP"), Data: gaps,
		About: say("Both carry packets of about the same size, as fast as they can. The steps lead from UDP with one send per datagram to TCP with segmentation offload, " +
			"each the ratio of two cells of the same block; the factors multiply in every block, and their estimates about do. The bytes per packet on the devices of the path count the passes: " +
			"one packet there is looked up, encapsulated and delivered once, however many it becomes on a wire.")}
	var falls []chart.Fall
	for _, g := range gaps {
		levels := prose.Levels(g.Levels)
		title, id := prose.Comma(g.Network, levels), "gap "+g.Network+" "+levels
		part := doc.Section{ID: id, Title: title, Tables: []doc.Table{doc.Tabulate(id+" steps", gapSteps(g)...)}, Notes: gapNotes(g, s.p.Baseline)}
		if more := gapExtra(g); more != nil {
			t := doc.Tabulate(id+" extra", more...)
			t.Title = say("Cost that %s adds to %s", g.Network, s.p.Baseline)
			part.Tables = append(part.Tables, t)
		}
		if g.Total.N > 0 {
			falls = append(falls, s.fall(g, title))
			x.Figures = append(x.Figures, doc.Figure{ID: id + " chart", Caption: say("%s: from UDP to TCP, step by step", title)})
		}
		x.Lines = append(x.Lines, doc.Line{Network: g.Network, Title: title, Text: gapAnswer(g)})
		x.Parts = append(x.Parts, part)
	}
	for i := range x.Figures {
		x.Figures[i].Chart = chart.Waterfall{Fall: falls[i], All: falls, Axis: say("× UDP with one send per datagram")}
	}
	return []doc.Section{x}
}

func (s source) fall(g analysis.Gap, title string) chart.Fall {
	row := func(name string, color int, r stat.Interval) chart.Row { return ChartRow(name, color, r, 1, times(r)) }
	f := chart.Fall{First: sendModes[analysis.Single].short, Total: row("TCP ÷ UDP", s.color(g.Network), g.Total)}
	var alt []string
	for _, w := range g.Modes[1:] {
		mode := sendModes[w.Kind]
		f.Steps = append(f.Steps, row(mode.short, mode.color, w.Step))
		alt = append(alt, mode.short+" "+times(w.Step))
	}
	f.Alt = say("%s: from UDP to TCP: %s; together %s.", title, prose.Alternatives(alt), times(g.Total))
	return f
}

// changes names what the step to mode i changes, including steps of unmeasured modes in between.
func changes(g analysis.Gap, i int) string {
	var parts []string
	for _, kind := range analysis.Between(g.Modes[i-1].Kind, g.Modes[i].Kind) {
		parts = append(parts, sendModes[kind].step)
	}
	return strings.Join(parts, say(", and "))
}

func gapAnswer(g analysis.Gap) string {
	if g.Product == 0 { // some mode has no trials, or carried nothing
		return say("no block has data for every send mode.")
	}
	var parts []string
	for i, w := range g.Modes[1:] {
		parts = append(parts, say("%s %s", times(w.Step), changes(g, i+1)))
	}
	return say("TCP with segmentation offload carries %s of what UDP carries with one send per datagram: %s.", timesWithin(g.Total), prose.Alternatives(parts))
}

// StepsOf tells the steps from UDP to TCP of gaps that are those of a run, or pooled over runs of which r is one; nil if its
// study does not ask for them.
func StepsOf(r *account.Account, gaps []analysis.Gap) []string {
	s := source{Account: r, p: r.Analysis}
	if s.plain() {
		return nil
	}
	return s.steps(gaps)
}

// steps tells for each network which step from UDP to TCP gains how much, and then what the protocol alone does: both pass
// one by one without offload.
func (s source) steps(gaps []analysis.Gap) (out []string) {
	var protocol, same []string
	for _, g := range gaps {
		over := prose.Comma(s.Noun(g.Network), prose.Levels(g.Levels))
		if !g.Total.Bounded() {
			if g.Total.N > 0 && g.Blocks > 0 {
				out = append(out, say("Over %s, too few blocks to tell the steps from UDP to TCP: %d of at least %d (--blocks %[3]d).", over, g.Blocks, stat.MinPairs(g.Each)))
			}
			continue
		}
		var parts, none []string
		for i, m := range g.Modes[1:] {
			var by []string
			for _, kind := range analysis.Between(g.Modes[i].Kind, m.Kind) {
				by = append(by, sendModes[kind].by)
			}
			if m.Step.Contains(1) {
				none = append(none, by...)
			} else {
				parts = append(parts, say("%s from %s", change(m.Step), prose.And(by)))
			}
		}
		if none != nil {
			parts = append(parts, say("%s from %s", say("no difference shown"), prose.And(none)))
		}
		total := say("TCP has %s the throughput of UDP", timesOf(g.Total))
		if g.Total.Contains(1) {
			total = say("no difference between TCP and UDP is shown, %s", timesOf(g.Total))
		}
		out = append(out, say("Over %s, %s: %s.", over, total, prose.Alternatives(parts)))
		for _, c := range g.Checks {
			switch {
			case c.Name != analysis.CheckProtocol || !c.Ratio.Bounded():
			case c.Ratio.Contains(1):
				same = append(same, say("%s (%s)", timesOf(c.Ratio), over))
			default:
				protocol = append(protocol, say("%s (%s)", timesOf(c.Ratio), over))
			}
		}
	}
	if protocol != nil {
		out = append(out, say("Without segmentation offload, where every packet passes alone, TCP has %s the throughput of UDP.", prose.And(protocol)))
	}
	if same != nil {
		out = append(out, say("Without segmentation offload, no difference between TCP and UDP is shown: %s.", prose.And(same)))
	}
	return out
}

// timesOf is a ratio in a sentence: "1.57 times [1.32, 1.98]".
func timesOf(i stat.Interval) string {
	return say("%s times%s", prose.Centered(i, prose.Digits(i)), prose.RatioInterval(i))
}

// inexact is how far the product of the steps can be from the total without a note.
const inexact = 0.05

func gapNotes(g analysis.Gap, baseline string) (out []string) {
	if g.Product > 0 && math.Abs(g.Product/g.Total.Center-1) > inexact {
		out = append(out, say("The steps multiply to %s instead of %s: in every block they multiply to the total, but blocks differ too much for the estimates to do so.",
			times(stat.Interval{Center: g.Product}), times(g.Total)))
	}
	if g.Busy != nil {
		out = append(out, say("%s.", prose.Capital(string(finding.Busy(*g.Busy).Say()))))
	}
	out = append(out, together(g))
	for _, c := range g.Checks {
		out = append(out, checked(c))
	}
	out = append(append(out, shares(g, baseline)), cautions(g)...)
	switch {
	case g.Total.Bounded():
		out = append(out, say("The %d intervals of this network's gap hold together with %s %% confidence, separately from those of other tables.",
			g.Intervals, prose.Trim(100*(1-float64(g.Intervals)*(1-g.Each)))))
	case g.Total.N > 0:
		out = append(out, say("%s with every send mode are too few for intervals: %d simultaneous intervals need at least %d.",
			prose.Count(g.Blocks, "block"), g.Intervals, stat.MinPairs(g.Each)))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// cautions returns the warnings about intervals. Missing intervals have a separate note.
func cautions(g analysis.Gap) []string {
	var s said
	add := func(of string, i stat.Interval) {
		if i.Bounded() {
			s.add(of, doc.Warnings(i)...)
		}
	}
	add(say("the total"), g.Total)
	for _, w := range g.Modes {
		add(say("the step to %s", sendModes[w.Kind].name), w.Step)
	}
	for _, c := range g.Checks {
		add(say("the check of %s", word(c.Name)), c.Ratio)
	}
	for _, e := range g.Extra {
		add(say("the cost added to %s", sendModes[e.Kind].name), e.Time)
	}
	return s.lines(nil)
}

// together reports how many packets pass the path as one, by its counters.
func together(g analysis.Gap) string {
	var parts []string
	for _, w := range g.Modes {
		if w.Together == 0 || w.Kind == analysis.Mmsg {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", sendModes[w.Kind].name, prose.Fixed(w.Together, 1), unit.Format(w.Size, "byte")))
	}
	if parts == nil {
		return ""
	}
	return say("Packets that pass the path as one, by the counters of its devices: %s. A UDP packet carries %.0f bytes of payload, a TCP packet %.0f.",
		prose.Alternatives(parts), g.Datagram, g.Segment)
}

func checked(c analysis.Check) string {
	if c.Ratio.N == 0 {
		return ""
	}
	ratio := timesWithin(c.Ratio)
	switch c.Name {
	case analysis.CheckProtocol:
		return say("Counter-check: without offload, where TCP's packets also pass one by one, TCP carries %s of what UDP carries with one send per datagram: "+
			"this ratio is the effect of the protocol, with its large writes and reads.", ratio)
	case analysis.CheckOffload:
		return say("TCP as fast without offload as with it would refute that packets share passes. It carries %s: %s.", ratio, slower(c.Ratio))
	case analysis.CheckReads:
		return say("System calls of the receiver: many datagrams per read carry %s of what one per read carries.", ratio)
	case analysis.CheckGRO:
		return say("GRO alone, with one send per datagram, carries %s of the rate without it. "+
			"Only packets that arrive together can be merged.", ratio)
	}
	return ""
}

// times is a ratio, and marks one that shows no difference; timesWithin adds its interval.
func times(i stat.Interval) string       { return unlike(i) + prose.Ratio(i) }
func timesWithin(i stat.Interval) string { return unlike(i) + prose.Times(i) }

func unlike(i stat.Interval) string {
	if i.Contains(1) {
		return "~ "
	}
	return ""
}

// slower reports whether a ratio is below 1, as the explanation requires.
func slower(i stat.Interval) string {
	switch {
	case !i.Bounded():
		return say("too few blocks for a verdict")
	case i.Hi < 1:
		return say("it is slower")
	case i.Lo > 1:
		return say("the explanation is refuted here")
	}
	return say("no difference shown, which leaves it open")
}

// similar is the largest factor between alike pass costs, far less than the packets per pass.
const similar = 3

// shares compares the cost that a network adds to packets that pass alone and together.
func shares(g analysis.Gap, baseline string) string {
	var parts []string
	lo, hi := math.Inf(1), 0.0
	for _, e := range g.Extra {
		if e.Time.N == 0 || e.Together == 0 {
			continue
		}
		if !adds(e) {
			return say("The run does not show how much time %s adds to a packet on %s for %s.", g.Network, baseline, sendModes[e.Kind].name)
		}
		part := say("%s for one that passes alone (%s)", unit.Format(e.Time.Center, "s"), sendModes[e.Kind].name)
		if e.Together >= 2 {
			part = say("%s for each of %s that pass together (%s), which is %s per pass",
				unit.Format(e.Time.Center, "s"), prose.Fixed(e.Together, 1), sendModes[e.Kind].name, unit.Format(e.PerPass(), "s"))
		}
		parts = append(parts, part)
		lo, hi = min(lo, e.PerPass()), max(hi, e.PerPass())
	}
	if len(parts) < 2 {
		return ""
	}
	s := say("%s adds to the time of a packet on %s: %s.", g.Network, baseline, prose.Alternatives(parts))
	if hi < similar*lo {
		return prose.Sentences(s, say("A pass costs about the same, within a factor of %s: the difference is how many packets share it.", prose.Fixed(hi/lo, 1)))
	}
	return prose.Sentences(s, say("The most expensive pass costs %s times as much as the cheapest: sharing passes does not explain everything.", prose.Fixed(hi/lo, 1)))
}

func adds(e analysis.Extra) bool { return e.Time.Center > 0 && !e.Time.Contains(0) }

// modeNames is a first column whose names are shortened last.
func modeNames[T any](of []T, kind func(T) string) doc.Filled {
	c := doc.Names("send mode", of, func(x T) string { return sendModes[kind(x)].name })
	c.Whole = true
	return c
}

func gapSteps(g analysis.Gap) []doc.Filled {
	rate := doc.Numbers("throughput", "bit/s", 8, g.Modes, func(m analysis.SendMode) (float64, bool) { return doc.Center(m.Rate) })
	rate.Kind = "value"
	what := doc.Filled{Column: doc.Column{Head: say("what the step changes"), Left: true, Keep: 1}, Cells: make([]doc.Cell, len(g.Modes))}
	for i := range g.Modes[1:] {
		what.Cells[i+1].Text = changes(g, i+1)
	}
	cs := []doc.Filled{modeNames(g.Modes, func(m analysis.SendMode) string { return m.Kind }), rate}
	cs = append(cs, doc.Ratios(g.Modes, "step", func(m analysis.SendMode) (stat.Interval, bool) { return m.Step, m.Step.Contains(1) })...)
	return append(cs, doc.Numbers("time", "s/packet", 7, g.Modes, func(m analysis.SendMode) (float64, bool) { return known(m.Time) }),
		doc.Numbers("together", "packet", 7, g.Modes, func(m analysis.SendMode) (float64, bool) { return known(m.Together) }), what)
}

// gapExtra has a row for each send mode with a known extra cost.
func gapExtra(g analysis.Gap) []doc.Filled {
	extra := slices.DeleteFunc(slices.Clone(g.Extra), func(e analysis.Extra) bool { return e.Time.N == 0 })
	if len(extra) == 0 {
		return nil
	}
	return []doc.Filled{
		modeNames(extra, func(e analysis.Extra) string { return e.Kind }),
		doc.Numbers("more time", "s/packet", 9, extra, func(e analysis.Extra) (float64, bool) { return known(e.Time.Center) }),
		doc.Intervals("s/packet", extra, func(e analysis.Extra) stat.Interval { return e.Time }),
		doc.Numbers("together", "packet", 8, extra, func(e analysis.Extra) (float64, bool) { return known(e.Together) }),
		doc.Numbers("per pass", "s", 8, extra, func(e analysis.Extra) (float64, bool) { return e.PerPass(), adds(e) && e.PerPass() != 0 }),
		doc.Numbers("more CPU", "s/packet", 5, extra, func(e analysis.Extra) (float64, bool) { return known(e.CPU) }),
	}
}

func known(v float64) (float64, bool) { return v, v != 0 }
