package section

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// answerSection has a sentence per comparison that the study states and per network that is compared, and a
// table of all ratios to the baseline if conditions are few.
func answerSection(s source) []doc.Section {
	about, costs := s.busy()
	x := doc.Section{ID: "answer", Title: say("Answer"), About: about, Lines: s.answers(), Box: true}
	stated := s.sentences()
	if t, ok := s.overview(); ok {
		for i := range x.Lines {
			x.Lines[i].In = []doc.Medium{doc.Terminal, doc.Markdown, doc.Summary}
		}
		for _, l := range append([]doc.Line{{Text: s.shown()}}, s.pathsAlone()...) { // the table has the rest
			l.In = []doc.Medium{doc.Page}
			x.Lines = append(x.Lines, l)
		}
		x.Tables = []doc.Table{t}
	}
	if len(s.Contrasts) > 0 && s.Contrasts[0].Baseline() != "" { // the study asks about networks first
		x.Lines = slices.Concat(costs, x.Lines, stated)
	} else {
		x.Lines = slices.Concat(stated, costs, x.Lines)
	}
	x.Lines = append(x.Lines, s.standingLines(false)...)
	if x.Lines == nil {
		x.About = prose.Sentences(x.About, say("Nothing was compared."))
	}
	x.Parts = []doc.Section{{ID: "datapath", Notes: Datapath(s.Account), In: doc.Full, Box: true}}
	return []doc.Section{x}
}

// Datapath explains what a run on one machine measures.
func Datapath(r *account.Account) []string {
	if r.Unpaired {
		return []string{say("These results are imported: weir did not measure them, and knows of their machines, networks and order only what the files say. " +
			"Nothing proves which path the packets took.")}
	}
	if r.Target.Exists() {
		return found(r)
	}
	out := []string{say("One machine is a datapath bench: both ends share its CPUs and no NIC is involved. " +
		"These numbers are datapath cost, not network throughput.")}
	for _, x := range r.Results {
		if record.AtOnce.In(x.Observed) {
			return append(out, say("Several pairs of hosts were measured at once and shared the machine. Absolute figures describe a shared machine, "+
				"not one pair alone, and CPU time cannot be attributed to a pair. With one-at-a-time, every pair has the machine to itself."))
		}
	}
	return out
}

// found explains what a run on machines that exist measures.
func found(r *account.Account) []string {
	out := []string{say("weir found these networks and changed nothing: whatever else used the machines and the links between them is part of the numbers.")}
	if len(r.Machines) == 1 {
		out = append(out, say("All ends are on one machine and share its CPUs, and no NIC is involved: the numbers are the cost of the datapath."))
	}
	if r.Analysis.Pairs > 1 {
		out = append(out, say("Disjoint pairs of machines were measured at once, and shared the links between them."))
	}
	return out
}

// shown counts the ratios that differ from the baseline, and names the farthest.
func (s source) shown() string {
	differ, all, far, where := 0, 0, 1.0, ""
	for t, r := range s.p.Rows() {
		if r.Ratio.N == 0 {
			continue
		}
		all++
		if !r.Ratio.Bounded() || r.Same {
			continue
		}
		differ++
		if off := math.Abs(math.Log(r.Ratio.Center)); where == "" || off > far {
			far, where = off, say("%s of %s, %s×%s", s.Short(t.Probe), r.Network, prose.Fixed(r.Ratio.Center, prose.Digits(r.Ratio)), prose.RatioInterval(r.Ratio))
		}
	}
	if differ == 0 {
		return say("None of %d ratios to %s is shown to differ from 1.", all, s.p.Baseline)
	}
	text := say("%d of %d ratios to %s differ from 1 in this run, the farthest %s.", differ, all, s.p.Baseline, where)
	if differ < all {
		text = prose.Sentences(text, say("~ marks those that are not shown to differ."))
	}
	return text
}

// pathsAlone says how much of a response time's difference is the network's, where wake-ups hide it.
func (s source) pathsAlone() (out []doc.Line) {
	for _, n := range s.p.Networks {
		var parts []string
		for _, t := range s.p.Tables {
			if r, ok := t.Row(n); ok && r.Path.N > 0 {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s%s×%s", s.Short(t.Probe), doc.Mark(r.Path.Contains(1)), prose.Fixed(r.Path.Center, prose.Digits(r.Path)), prose.RatioInterval(r.Path))))
			}
		}
		if parts != nil {
			out = append(out, doc.Line{Network: n, Text: say("the network path alone, without wake-ups: %s", sentence(parts))})
		}
	}
	return out
}

// Answers are the sentences that answer a run's questions: those that the study states, and those about networks.
func Answers(r *account.Account) []doc.Line {
	s := source{Account: r, p: r.Analysis}
	return append(s.sentences(), s.answers()...)
}

// answers describes each network's cost, in table order.
func (s source) answers() []doc.Line {
	var out []doc.Line
	for _, n := range s.p.Networks {
		text := s.hopClause(n)
		if n != s.p.Baseline {
			clauses := s.clauses(n)
			if clauses != "" && !s.p.Unpaired {
				clauses = say("in this run, %s", clauses) // another run can show something else
			}
			text = prose.Sentences(clauses, text)
		}
		if text == "" && len(s.p.Networks) == 1 && len(s.p.Contrasts) == 0 {
			text = s.spans()
		}
		if text != "" {
			out = append(out, doc.Line{Network: n, Text: text})
		}
	}
	return out
}

func byProbe(tables []analysis.Table) (out [][]analysis.Table) {
	var probes doc.Groups[string, analysis.Table]
	for _, t := range tables {
		probes.Add(t.Probe, t)
	}
	for _, p := range probes.Keys {
		out = append(out, probes.Of[p])
	}
	return out
}

// spans returns the lowest and highest values of the only network, with their conditions.
func (s source) spans() string {
	center := func(t analysis.Table) float64 { return t.Rows[0].Value.Center }
	order := func(a, b analysis.Table) int { return cmp.Compare(center(a), center(b)) }
	at := func(t analysis.Table) string {
		return fmt.Sprintf("%s (%s)", unit.Format(center(t), t.Unit), prose.Levels(t.Levels))
	}
	var parts []string
	for _, tables := range byProbe(s.p.Tables) {
		first := tables[0]
		tables = slices.DeleteFunc(tables, func(t analysis.Table) bool {
			return len(t.Rows) == 0 || t.Rows[0].Value.N == 0 || t.Unit != first.Unit
		})
		if len(tables) == 0 {
			continue
		}
		if lo, hi := at(slices.MinFunc(tables, order)), at(slices.MaxFunc(tables, order)); lo != hi {
			parts = append(parts, say("%s %s to %s", s.Short(first.Probe), lo, hi))
		}
	}
	return sentence(parts)
}

func sentence(parts []string) string {
	if parts == nil {
		return ""
	}
	return say("%s.", prose.List(parts))
}

// clauses compares a network with the baseline under each probe.
func (s source) clauses(network string) string {
	var parts []string
	named, compared, bounded := false, false, false // name the baseline once
	for _, tables := range byProbe(s.p.Tables) {
		name := s.Short(tables[0].Probe)
		var rows []analysis.Row
		for _, t := range tables {
			r, _ := t.Row(network) // a row without trials has no ratio
			if r.Ratio.N > 0 {
				rows = append(rows, r)
				bounded = bounded || r.Ratio.Bounded()
			}
		}
		if len(rows) == 0 {
			continue
		}
		of := ""
		compared = true
		if !named && !(len(rows) == 1 && rows[0].Same) {
			of, named = say(" of %s", s.p.Baseline), true
		}
		parts = append(parts, name+" "+clause(rows, of))
	}
	text := sentence(parts)
	switch {
	case bounded || !compared:
	case s.p.Unpaired:
		text = prose.Sentences(text, say("There are too few results for intervals."))
	default:
		text = prose.Sentences(text, say("There are too few blocks for intervals."))
	}
	return text
}

// clause sums up one probe: one ratio, or the range over several conditions.
func clause(rows []analysis.Row, of string) string {
	if len(rows) == 1 {
		r := rows[0]
		s := prose.Ratio(r.Ratio) + of
		if r.Same {
			s = say("no difference shown ~")
		}
		return s + prose.RatioInterval(r.Ratio) + beyond(r) + stalls(r) + pathClause(r)
	}
	lo, hi, same := rows[0].Ratio.Center, rows[0].Ratio.Center, 0
	for _, r := range rows {
		lo, hi = min(lo, r.Ratio.Center), max(hi, r.Ratio.Center)
		if r.Same {
			same++
		}
	}
	if same == len(rows) {
		return say("no difference shown ~ under any of %d conditions", len(rows))
	}
	span := prose.Fixed(lo, 2) + "×"
	if to := prose.Fixed(hi, 2) + "×"; to != span {
		span = say("%s to %s", span, to)
	}
	s := say("%s%s under %d conditions", span, of, len(rows))
	if same > 0 {
		s += say(" (no difference shown ~ under %d)", same)
	}
	return s
}

// beyond returns the interval that covers other runs on the machine, if earlier runs have shown how
// much they differ.
func beyond(r analysis.Row) string {
	if r.Beyond == nil || !r.Beyond.Interval.Bounded() {
		return ""
	}
	return say(" (over other runs%s)", prose.RatioInterval(r.Beyond.Interval))
}
