package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

//go:embed gap.html
var gapSource string

// A wayWord is what a way is called, and what the step to it changes.
type wayWord struct{ name, short, step string }

var wayWords = map[string]wayWord{
	analysis.Single: {"UDP, one send per datagram", "one send each", ""},
	analysis.Mmsg:   {"UDP, sendmmsg", "sendmmsg", "system calls of the sender"},
	analysis.GSO:    {"UDP, GSO", "GSO", "passes through the stack"},
	analysis.GSOGRO: {"UDP, GSO and GRO", "GRO", "what the receiver does per datagram"},
	analysis.TCP:    {"TCP with offload", "TCP", "the rest: protocol, acknowledgements, copies"},
}

// wayParts are the colours of steps, the same for all networks.
var wayParts = map[string]int{analysis.Mmsg: 4, analysis.GSO: 0, analysis.GSOGRO: 2, analysis.TCP: 5}

const (
	gapTitle = "What lies between UDP and TCP"
	gapAbout = "Both carry packets of about the same size, as fast as they can. The steps lead from UDP with one send per datagram to TCP with segmentation offload, " +
		"each by the ratio of two cells of the same block; factors multiply. Passes are counted by the bytes per packet on the devices of the path: " +
		"what is one packet there is looked up, encapsulated and delivered once, whatever it becomes on a wire."
)

// A gapPart is the gap of one network.
type gapPart struct {
	legend
	Title   string
	Answer  string
	Notes   []string // what is proved, what would refute it, what a pass costs
	Steps   []column
	Figures []figure
	// What the network adds to the baseline; nil for that itself.
	ExtraTitle string
	Extra      []column
}

// gapParts takes the gap between UDP and TCP apart, network by network; nil where the
// cells for it were not measured.
func (p painter) gapParts() (out []gapPart) {
	var falls []chart.Fall
	var drawn []int // the part that each is of
	for i, g := range p.p.Gaps() {
		x := gapPart{legend: p.legend(g.Network), Title: g.Network, Answer: gapAnswer(g), Notes: gapNotes(g, p.p.Baseline), Steps: gapSteps(g), Extra: gapExtra(g)}
		if l := levelText(g.Levels); l != "" {
			x.Title += ", " + l
		}
		if x.Extra != nil {
			x.ExtraTitle = fmt.Sprintf("What %s adds to %s", g.Network, p.p.Baseline)
		}
		if g.Total.N > 0 {
			falls, drawn = append(falls, p.fall(g, x.Title)), append(drawn, i)
		}
		out = append(out, x)
	}
	svgs, err := chart.Waterfalls(falls, "× UDP with one send per datagram")
	if err != nil {
		out[0].Notes = append(out[0].Notes, fmt.Sprintf("the steps are not drawn: %v", err))
	}
	for i, svg := range svgs {
		x := &out[drawn[i]]
		x.Figures = []figure{{x.Title + ": from UDP to TCP, step by step", template.HTML(svg)}} // package chart escapes its texts
	}
	return out
}

func (p painter) fall(g analysis.Gap, title string) chart.Fall {
	row := func(name string, color int, r stat.Interval) chart.Row {
		return chart.Row{Name: name, Color: color, Value: r.Center, Lo: r.Lo, Hi: r.Hi, Bounded: r.Bounded(), Label: times(r)}
	}
	f := chart.Fall{First: wayWords[analysis.Single].short, Total: row("TCP ÷ UDP", p.color(g.Network), g.Total)}
	var alt []string
	for _, w := range g.Modes[1:] {
		f.Steps = append(f.Steps, row(wayWords[w.Kind].short, wayParts[w.Kind], w.Step))
		alt = append(alt, wayWords[w.Kind].short+" "+times(w.Step))
	}
	f.Alt = fmt.Sprintf("%s: from UDP to TCP: %s; together %s.", title, strings.Join(alt, "; "), times(g.Total))
	return f
}

// times prints a ratio and whether it says anything.
func times(i stat.Interval) string {
	s := fixed(i.Center, gapDigits(i)) + "×"
	if i.Contains(1) {
		return "~ " + s
	}
	return s
}

// timesWithin is times with the interval, if there is one.
func timesWithin(i stat.Interval) string {
	if !i.Bounded() {
		return times(i)
	}
	return times(i) + " " + bracket(i, gapDigits(i))
}

// gapDigits leaves three digits of large ratios.
func gapDigits(i stat.Interval) int {
	if i.Center >= 10 {
		return 1
	}
	return ratioDigits(i)
}

// changes says what the step to way i changes; where a way between was not
// measured, its step is in it.
func changes(g analysis.Gap, i int) string {
	var parts []string
	for _, kind := range analysis.Between(g.Modes[i-1].Kind, g.Modes[i].Kind) {
		parts = append(parts, wayWords[kind].step)
	}
	return strings.Join(parts, ", and ")
}

// gapAnswer is the gap in one sentence.
func gapAnswer(g analysis.Gap) string {
	if g.Refused != "" {
		return g.Refused + "; end what else runs here, or count them all the same with --keep-disturbed."
	}
	if g.Total.N == 0 {
		return "in no block did all ways carry something."
	}
	var parts []string
	for i, w := range g.Modes[1:] {
		parts = append(parts, times(w.Step)+" "+changes(g, i+1))
	}
	return fmt.Sprintf("TCP with segmentation offload carries %s of what UDP carries with one send per datagram: %s.", timesWithin(g.Total), strings.Join(parts, "; "))
}

// inexact is how far the product of the steps may be from the total without a word.
const inexact = 0.05

func gapNotes(g analysis.Gap, baseline string) (out []string) {
	add := func(s string) {
		if s != "" {
			out = append(out, s)
		}
	}
	if g.Total.N > 0 && math.Abs(g.Product/g.Total.Center-1) > inexact {
		add(fmt.Sprintf("The steps multiply to %s and not to %s: in every block they multiply to the whole, but blocks differ too much for their estimates to do so.",
			times(stat.Interval{Center: g.Product}), times(g.Total)))
	}
	add(together(g))
	for _, c := range g.Checks {
		add(checked(c))
	}
	add(shares(g, baseline))
	out = append(out, cautions(g)...)
	if g.Total.N == 0 {
		return out
	}
	if !g.Total.Bounded() {
		add(fmt.Sprintf("%s with all ways are too few for intervals: %d that hold together need at least %d.", count(g.Blocks, "block"), g.Intervals, stat.MinPairs(g.Each)))
		return out
	}
	add(fmt.Sprintf("The %d intervals of this network's gap hold together with %s %% confidence, apart from those of other tables.",
		g.Intervals, trim(100*(1-float64(g.Intervals)*(1-g.Each)))))
	return out
}

// cautions are what a reader must know of intervals, and of which. That there is none
// is said once for all.
func cautions(g analysis.Gap) []string {
	var s said
	add := func(of string, i stat.Interval) {
		if i.Bounded() {
			s.add(of, i.Warnings...)
		}
	}
	add("all of it", g.Total)
	for _, w := range g.Modes {
		add("the step to "+wayWords[w.Kind].name, w.Step)
	}
	for _, c := range g.Checks {
		add("the check of "+c.Name, c.Ratio)
	}
	for _, e := range g.Extra {
		add("what is added to "+wayWords[e.Kind].name, e.Time)
	}
	return s.lines(each)
}

// together says what the counters prove of packets that pass the path as one.
func together(g analysis.Gap) string {
	var parts []string
	for _, w := range g.Modes {
		if w.Together == 0 || w.Kind == analysis.Mmsg {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", wayWords[w.Kind].name, fixed(w.Together, 1), unit.Format(w.Size, "byte")))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("Packets that pass the path as one, by the counters of its devices: %s. Of payload, one of UDP holds %.0f bytes and one of TCP %.0f.",
		strings.Join(parts, "; "), g.Datagram, g.Segment)
}

// checked says what a check found, and whether that refutes the explanation.
func checked(c analysis.Check) string {
	if c.Ratio.N == 0 {
		return ""
	}
	r := timesWithin(c.Ratio)
	switch c.Name {
	case analysis.CheckProtocol:
		return fmt.Sprintf("Counter-check: without offload, where TCP's packets pass one by one too, TCP carries %s of what UDP carries with one send per datagram: this is the protocol, with its large writes and reads.", r)
	case analysis.CheckOffload:
		return fmt.Sprintf("What would refute that packets share passes: TCP as fast without offload as with it. It carries %s: %s.", r,
			verdictOn(c.Ratio, "it is not", "the explanation is refuted here"))
	case analysis.CheckReads:
		return fmt.Sprintf("System calls of the receiver: many datagrams per read carry %s of what one per read carries.", r)
	case analysis.CheckGRO:
		return fmt.Sprintf("GRO alone, with one send per datagram: %s of what is carried without. Only what arrives together can be joined.", r)
	}
	return ""
}

// verdictOn says whether a ratio is below 1, as it must be.
func verdictOn(i stat.Interval, below, not string) string {
	switch {
	case !i.Bounded():
		return "too few blocks to tell"
	case i.Hi < 1:
		return below
	case i.Lo > 1:
		return not
	}
	return "no difference shown, which does not decide it"
}

// similar is how far the costs of two passes may differ and still be called alike:
// far less than the number of packets that share one.
const similar = 3

// shares compares what a network adds to a packet that passes alone with what it
// adds to those that pass together.
func shares(g analysis.Gap, baseline string) string {
	var parts []string
	lo, hi := math.Inf(1), 0.0
	for _, e := range g.Extra {
		if e.Time.N == 0 || e.Together == 0 {
			continue
		}
		if !adds(e) {
			return fmt.Sprintf("What %s adds to the time of a packet on %s is not shown for %s.", g.Network, baseline, wayWords[e.Kind].name)
		}
		part := fmt.Sprintf("%s to one that passes alone (%s)", unit.Format(e.Time.Center, "s"), wayWords[e.Kind].name)
		if e.Together >= 2 {
			part = fmt.Sprintf("%s to each of %s that pass together (%s), which is %s per pass",
				unit.Format(e.Time.Center, "s"), fixed(e.Together, 1), wayWords[e.Kind].name, unit.Format(e.PerPass(), "s"))
		}
		parts = append(parts, part)
		lo, hi = min(lo, e.PerPass()), max(hi, e.PerPass())
	}
	if len(parts) < 2 {
		return ""
	}
	s := fmt.Sprintf("%s adds to the time of a packet on %s: %s.", g.Network, baseline, strings.Join(parts, "; "))
	if hi < similar*lo {
		return s + fmt.Sprintf(" A pass costs about the same, within a factor of %s: what differs is how many packets share it.", fixed(hi/lo, 1))
	}
	return s + fmt.Sprintf(" The dearest pass costs %s times as much as the cheapest: that packets share passes is not all.", fixed(hi/lo, 1))
}

// adds reports whether it was shown that a network adds time.
func adds(e analysis.Extra) bool { return e.Time.Center > 0 && !e.Time.Contains(0) }

func textGap(w io.Writer, p analysed, width int) {
	for i, x := range (painter{p}).gapParts() {
		if i == 0 {
			fmt.Fprintf(w, "\n%s\n", gapTitle)
			wrap(w, "  ", gapAbout, width)
		}
		fmt.Fprintf(w, "\n%s\n", plain(x.Title))
		wrap(w, "  ", plain(x.Answer), width)
		textTable(w, x.Steps, width)
		if x.Extra != nil {
			wrap(w, "  ", plain(x.ExtraTitle), width)
			textTable(w, x.Extra, width)
		}
		for _, n := range x.Notes {
			wrap(w, "  ", plain(n), width)
		}
	}
}

func mdGap(w io.Writer, p analysed) {
	for i, x := range (painter{p}).gapParts() {
		if i == 0 {
			fmt.Fprintf(w, "\n## %s\n\n%s\n", gapTitle, mdText(gapAbout))
		}
		fmt.Fprintf(w, "\n### %s\n\n%s\n\n", mdText(x.Title), mdText(x.Answer))
		mdTable(w, x.Steps)
		if x.Extra != nil {
			fmt.Fprintf(w, "\n%s\n\n", mdText(x.ExtraTitle))
			mdTable(w, x.Extra)
		}
		bullets(w, x.Notes)
	}
}
