package section

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis/standing"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// Above manyMachines, a matrix has too many cells to read, and a table too many rows: only the machines
// at both ends of the order, of each this many, and every slow one.
const (
	manyMachines = 50
	fewMachines  = 10
)

// standingSection compares machines if the study measures all pairs of three or more.
func standingSection(s source) []doc.Section {
	if len(s.p.Standings) == 0 || !s.Target.Exists() { // hosts of the lab are one machine
		return nil
	}
	written := []doc.Medium{doc.Page, doc.Markdown} // the answer says it on a terminal
	x := doc.Section{ID: "slow", Title: say("Which machine is slow"), Label: say("Slow machines"), In: doc.Full,
		About: say("The pairs of each machine ÷ all pairs without it.")}
	for _, l := range s.standingLines(true) {
		l.In = written
		x.Lines = append(x.Lines, l)
	}
	each := 0
	for _, t := range s.p.Standings {
		each += 3 * len(t.Hosts)
		x.Parts = append(x.Parts, s.standing(t))
	}
	x.Parts = append(x.Parts, doc.Section{ID: "slow-reading", Title: say("How to read this"), Fold: true, In: written, Notes: []string{
		say("A ratio divides the values of a machine's pairs by the mean of all pairs without it, between the same zones and in the same blocks. Slow machines are left out on both sides of all other ratios."),
		say("A machine is slow if its interval excludes 1 and its pairs differ from the others by more than those differ from each other, because every pair has a path of its own, and if it is farther from the other machines than those are from each other."),
		say("All %d intervals of these tables hold together with %s %% confidence (Bonferroni).", each, prose.Trim(100*s.p.Confidence)),
	}})
	return []doc.Section{x}
}

// standingLines has a sentence for each slow machine. With all, it has one for each network and probe
// under which no machine is slow, too; otherwise one for all of these, if no machine is slow.
func (s source) standingLines(all bool) (out []doc.Line) {
	if !s.Target.Exists() {
		return nil
	}
	var slow doc.Groups[string, string] // by machine
	var calm, unclear []string          // unclear ones have a machine that is worse than the others in one direction
	for _, t := range s.p.Standings {
		found := false
		for _, h := range t.Hosts {
			if h.Slow {
				found = true
				slow.Add(s.p.MachineOf(h.Host).Name, s.slowness(t, h))
			}
		}
		if !found {
			calm = append(calm, s.calm(t))
			if name, _, _ := s.worstPart(t); name != "" {
				unclear = append(unclear, calm[len(calm)-1])
			}
		}
	}
	for _, name := range slow.Keys {
		how := slow.Of[name]
		if n := len(how); !all && n > 3 {
			how = append(slices.Clone(how[:2]), say("and under %d more combinations of network and probe", n-2))
		}
		out = append(out, doc.Line{Text: say("%s is slow: %s.", name, prose.Alternatives(how))})
	}
	switch {
	case all:
		for _, text := range calm {
			out = append(out, doc.Line{Text: text})
		}
	case out == nil && len(calm) == 1:
		out = []doc.Line{{Text: calm[0]}}
	case out == nil && unclear != nil:
		for _, text := range unclear[:min(len(unclear), 3)] {
			out = append(out, doc.Line{Text: text})
		}
	case out == nil && len(calm) > 1:
		text := say("No machine is slow under any of %d combinations of network and probe.", len(calm))
		if !slices.ContainsFunc(s.p.Standings, func(t standing.Standing) bool { _, _, bounded := bestAndWorst(t); return bounded }) {
			text = say("There are too few blocks to say whether a machine is slow.")
		}
		out = []doc.Line{{Text: text}}
	}
	return out
}

// ofSeveral names the network, the probe and the levels if the run has several.
func (s source) ofSeveral(t standing.Standing) string {
	var parts []string
	if len(s.p.Networks) > 1 {
		parts = append(parts, t.Network)
	}
	if len(byProbe(s.p.Tables)) > 1 {
		parts = append(parts, t.Probe)
	}
	if l := prose.Levels(t.Levels); l != "" {
		parts = append(parts, l)
	}
	if parts == nil {
		return ""
	}
	return say(" (%s)", prose.List(parts))
}

// slowness describes a slow machine: "0.21× [0.20, 0.23] of the others' throughput (pod), as sender and
// as receiver". Of one that is slow in one direction it gives the ratio of that one.
func (s source) slowness(t standing.Standing, h standing.HostStanding) string {
	text := func(i stat.Interval) string {
		return say("%s×%s of the others' %s%s", prose.Centered(i, prose.Digits(i)), prose.RatioInterval(i), MetricName(t.Metric), s.ofSeveral(t))
	}
	from, to := t.Worse(h.Sender), t.Worse(h.Receiver)
	as := func(name string, i stat.Interval) string {
		if i.N == 0 {
			return say("never measured as %s", name)
		}
		return say("not shown as %s (%s×%s)", name, prose.Centered(i, prose.Digits(i)), prose.RatioInterval(i))
	}
	a, b := parts(t)
	switch {
	case from && to:
		return say("%s, as %s and as %s", text(h.Ratio), a, b)
	case from:
		return say("%s, as %s, %s", text(h.Sender), a, as(b, h.Receiver))
	case to:
		return say("%s, as %s, %s", text(h.Receiver), b, as(a, h.Sender))
	}
	return text(h.Ratio)
}

// parts names what a client and a server do under a probe.
func parts(t standing.Standing) (client, server string) {
	if t.Metric.LowerIsBetter(t.Unit) {
		return say("client"), say("server")
	}
	return say("sender"), say("receiver")
}

// calm describes machines of which none is slow.
func (s source) calm(t standing.Standing) string {
	best, worst, bounded := bestAndWorst(t)
	if best == nil {
		return say("Machines cannot be compared%s: no two pairs were measured between the same zones in the same block.", s.ofSeveral(t))
	}
	span := say("%s× (%s) to %s× (%s) of the others' %s", prose.Fixed(worst.Ratio.Center, 2), s.p.MachineOf(worst.Host).Name,
		prose.Fixed(best.Ratio.Center, 2), s.p.MachineOf(best.Host).Name, MetricName(t.Metric))
	switch name, as, i := s.worstPart(t); {
	case !bounded:
		return say("There are too few blocks to say whether a machine differs from the others%s: %s.", s.ofSeveral(t), span)
	case name != "":
		return say("Machines differ%s, %s; the worst is %s as %s, %s×%s, but none stands out from single pairs, so it is not known whether a machine is slow or a path.",
			s.ofSeveral(t), span, name, as, prose.Centered(i, prose.Digits(i)), prose.RatioInterval(i))
	case slices.ContainsFunc(t.Hosts, func(h standing.HostStanding) bool { return h.Ratio.Bounded() && !h.Ratio.Contains(1) }):
		return say("Machines differ%s, %s, but none stands out from the others or from single pairs.", s.ofSeveral(t), span)
	}
	return say("No machine is shown to differ from the others%s: %s.", s.ofSeveral(t), span)
}

// worstPart returns the machine that is worst in one direction, that direction, and its ratio; no name if none is worse
// than the others.
func (s source) worstPart(t standing.Standing) (name, as string, worst stat.Interval) {
	a, b := parts(t)
	for _, h := range t.Hosts {
		for _, x := range []struct {
			as string
			i  stat.Interval
		}{{a, h.Sender}, {b, h.Receiver}} {
			if t.Worse(x.i) && math.Abs(x.i.Center-1) > math.Abs(worst.Center-1)*float64(min(1, worst.N)) {
				name, as, worst = s.p.MachineOf(h.Host).Name, x.as, x.i
			}
		}
	}
	return name, as, worst
}

// bestAndWorst returns the best and the worst machine, nil if none has a ratio, and whether any has an interval.
func bestAndWorst(t standing.Standing) (best, worst *standing.HostStanding, bounded bool) {
	for i := range t.Hosts {
		h := &t.Hosts[i]
		if h.Ratio.N == 0 {
			continue
		}
		bounded = bounded || h.Ratio.Bounded()
		better := func(than *standing.HostStanding) bool {
			return than == nil || (h.Ratio.Center > than.Ratio.Center) != t.Metric.LowerIsBetter(t.Unit)
		}
		if better(best) {
			best = h
		}
		if worst == nil || !better(worst) {
			worst = h
		}
	}
	return best, worst, bounded
}

// standing is the table of one network under one probe, the worst machine first.
func (s source) standing(t standing.Standing) doc.Section {
	id := strings.Join([]string{"slow", t.Probe, prose.Levels(t.Levels), t.Network}, " ")
	hosts := byRatio(t)
	shown := hosts
	if len(hosts) > manyMachines {
		shown = nil
		for i, h := range hosts {
			if h.Slow || i < fewMachines || i >= len(hosts)-fewMachines {
				shown = append(shown, h)
			}
		}
	}
	name := func(h standing.HostStanding) string { return s.p.MachineOf(h.Host).Name }
	columns := []doc.Filled{doc.Names("machine", shown, name)}
	columns[0].Whole = true
	columns = append(columns, doc.Layout(doc.Column{Head: say("zone"), Left: true, Keep: 5}, shown, func(h standing.HostStanding) doc.Cell { return doc.Cell{Text: s.p.MachineOf(h.Host).Zone} }))
	a, b := parts(t)
	for _, x := range []struct {
		head string
		of   func(standing.HostStanding) stat.Interval
	}{
		{say("÷ others"), func(h standing.HostStanding) stat.Interval { return h.Ratio }},
		{say("as %s", a), func(h standing.HostStanding) stat.Interval { return h.Sender }},
		{say("as %s", b), func(h standing.HostStanding) stat.Interval { return h.Receiver }},
	} {
		columns = append(columns, doc.Ratios(shown, x.head, func(h standing.HostStanding) (stat.Interval, bool) {
			i := x.of(h)
			return i, i.Contains(1)
		})...)
	}
	columns = append(columns,
		doc.Layout(doc.Column{Left: true, Keep: 9}, shown, func(h standing.HostStanding) doc.Cell {
			return doc.Cell{Text: map[bool]string{true: say("slow")}[h.Slow]}
		}),
		doc.Layout(doc.Column{Head: say("ok"), Kind: "blocks", Keep: 8}, shown, func(h standing.HostStanding) doc.Cell {
			return doc.Cell{Text: fmt.Sprintf("%d/%d", h.OK, h.Trials), Value: doc.Number(float64(h.OK))}
		}))
	title := prose.Capital(MetricName(t.Metric)) + s.ofSeveral(t)
	x := doc.Section{ID: id, Title: title, Label: title, Tables: []doc.Table{doc.Tabulate(id+" table", columns...)}}
	if left := len(hosts) - len(shown); left > 0 {
		x.Notes = append(x.Notes, say("%d machines between these are left out.", left))
		x.Figures = []doc.Figure{s.rank(t, hosts, id)}
	}
	return x
}

// byRatio returns the machines with a ratio, the worst first, and then the others.
func byRatio(t standing.Standing) []standing.HostStanding {
	hosts := slices.Clone(t.Hosts)
	slices.SortStableFunc(hosts, func(a, b standing.HostStanding) int {
		order := cmp.Compare(a.Ratio.Center, b.Ratio.Center)
		if t.Metric.LowerIsBetter(t.Unit) {
			order = -order
		}
		return cmp.Or(cmp.Compare(min(b.Ratio.N, 1), min(a.Ratio.N, 1)), order)
	})
	return hosts
}

// rank draws the ratios of many machines in their order.
func (s source) rank(t standing.Standing, hosts []standing.HostStanding, id string) doc.Figure {
	all := chart.Curve{Name: say("all"), Plain: true, Color: s.color(t.Network)}
	slow := 0
	for i, h := range hosts {
		if h.Ratio.N == 0 {
			continue
		}
		if h.Slow {
			slow++
		}
		all.Points = append(all.Points, curvePoint(float64(i), h.Ratio, 1))
	}
	caption := say("Ratio to the others, by machine in this order")
	return doc.Figure{ID: id + " rank", Caption: caption, Chart: chart.Sweep{Curves: []chart.Curve{all}, Reference: 1,
		X: say("machines, from the worst"), Y: say("%s ÷ others", MetricName(t.Metric)),
		Alt: say("%s: %d machines, %d of them slow.", caption, len(all.Points), slow)}}
}
