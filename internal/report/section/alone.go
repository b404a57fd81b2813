package section

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/unit"
)

// alone answers for the only network of a run, with which nothing can be compared.
func (s source) alone() (out []string) {
	var parts []string
	for _, t := range s.p.Tables {
		if len(s.p.Tables) > mostTold {
			break
		}
		if r, ok := t.Row(s.p.Networks[0]); ok && r.Value.N > 0 {
			parts = append(parts, prose.Comma(say("%s %s", Value(s.Words, t.Probe, t.Metric), prose.Measured(r.Value, t.Unit)), prose.Levels(t.Levels)))
		}
	}
	if text := s.spans(); text != "" {
		out = append(out, text)
	} else if parts != nil {
		out = append(out, say("%s: %s.", s.p.Networks[0], prose.Alternatives(parts)))
	}
	if s.p.Unpaired {
		return append(out, say("There is nothing to compare this network with; import files of another one with these."))
	}
	return append(out, say("There is nothing to compare this network with; -n %s,NETWORK measures both.", s.p.Networks[0]))
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
