package section

import (
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// busy returns what leads the answer of a run on a busy machine: the CPU time of the engine's threads,
// which other programs hardly affect. It is empty if disturbed trials do not count.
func (s source) busy() (about string, costs []doc.Line) {
	if s.p.Busy == nil {
		return "", nil
	}
	about = say("The machine was busy (%s): ratios of throughput and response time are wide.", finding.Took(*s.p.Busy))
	for _, n := range s.p.Networks {
		if text := s.ownCosts(n); text != "" {
			costs = append(costs, doc.Line{Network: n, Text: say("CPU time %s", text)})
		}
	}
	if costs != nil {
		about = prose.Sentences(about, say("CPU time, by the clocks of the engine's own threads, hardly depends on other programs."))
	}
	return about, costs
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
				r.Ratio, r.Same, r.Path, r.Beyond = ratio, ratio.Contains(1), stat.Interval{}, nil
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
