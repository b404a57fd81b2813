package section

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// busySection has what a run on a busy machine still shows well: the CPU time of the engine's threads, which other programs
// hardly affect. There is none if disturbed trials do not count.
func busySection(s source) []doc.Section {
	if s.p.Busy == nil {
		return nil
	}
	x := doc.Section{ID: "busy", Title: say("The machine was busy"),
		About: say("The machine was busy (%s): ratios of throughput and response time are wide.", finding.Took(*s.p.Busy))}
	for _, n := range s.p.Networks {
		if text := s.ownCosts(n); text != "" {
			x.Lines = append(x.Lines, doc.Line{Network: n, Text: say("CPU time %s", text)})
		}
	}
	if x.Lines != nil {
		x.About = prose.Sentences(x.About, say("CPU time, by the clocks of the engine's own threads, hardly depends on other programs."))
	}
	return []doc.Section{x}
}

// ownCosts compares a network's CPU time with the baseline's under each probe; "" if the trials did
// not read the threads' clocks.
func (s source) ownCosts(network string) string {
	var parts []string
	of := say(" of %s", s.p.Baseline)
	for _, tables := range byProbe(s.p.Tables) {
		var rows []analysis.Row
		for _, t := range tables {
			r, _ := t.Row(network)
			if ratio, ok := r.OwnCost(); ok {
				r.Ratio, r.Same, r.Path, r.OtherRuns = ratio, ratio.Contains(1), stat.Interval{}, nil
				rows = append(rows, r)
			}
		}
		if rows == nil {
			continue
		}
		parts = append(parts, say("per %s (%s) %s", word(strings.TrimPrefix(rows[0].Own.Unit, "s/")), s.Short(tables[0].Probe), clause(rows, of)))
		of = ""
	}
	return sentence(parts)
}

// clause sums up one probe: one ratio, or the range over several conditions.
func clause(rows []analysis.Row, of string) string {
	if len(rows) == 1 {
		r := rows[0]
		switch s := prose.Ratio(r.Ratio) + of; {
		case r.Same:
			return say("no difference shown ~") + prose.RatioInterval(r.Ratio)
		case !r.Ratio.Bounded():
			return say("%s (no interval)", s)
		default:
			return s + prose.RatioInterval(r.Ratio)
		}
	}
	byRatio := func(a, b analysis.Row) int { return cmp.Compare(a.Ratio.Center, b.Ratio.Center) }
	lo, hi, same := slices.MinFunc(rows, byRatio).Ratio, slices.MaxFunc(rows, byRatio).Ratio, 0
	for _, r := range rows {
		if r.Same {
			same++
		}
	}
	if same == len(rows) {
		return say("no difference shown ~ under any of %d conditions", len(rows))
	}
	span := prose.Ratio(lo)
	if to := prose.Ratio(hi); to != span {
		span = say("%s to %s", span, to)
	}
	s := say("%s%s under %d conditions", span, of, len(rows))
	if same > 0 {
		s += say(" (no difference shown ~ under %d)", same)
	}
	return s
}
