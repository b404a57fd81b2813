package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/unit"
)

// An answer is one sentence about one network.
type answer struct{ Network, Text string }

// answers says of every network what it cost, in the order of the tables.
// brief leaves the intervals to a table beside it.
func answers(p analysed, brief bool) []answer {
	var out []answer
	for _, n := range p.Networks {
		s := chainClause(p, n)
		if n != p.Baseline {
			s = strings.TrimSpace(clauses(p, n, brief) + " " + s)
		}
		if s == "" && len(p.Networks) == 1 {
			s = spans(p)
		}
		if s != "" {
			out = append(out, answer{n, s})
		}
	}
	return out
}

// spans says of the only network under which conditions it gets least and most.
func spans(p analysed) string {
	var parts []string
	for i := 0; i < len(p.Tables); {
		first, ends := p.Tables[i], []string{"", ""}
		var lo, hi float64
		for ; i < len(p.Tables) && p.Tables[i].Probe == first.Probe; i++ {
			t := p.Tables[i]
			if len(t.Rows) == 0 || t.Rows[0].Value.N == 0 || t.Unit != first.Unit {
				continue
			}
			v, at := t.Rows[0].Value.Center, fmt.Sprintf("%s (%s)", unit.Format(t.Rows[0].Value.Center, t.Unit), levelText(t.Levels))
			if ends[0] == "" || v < lo {
				lo, ends[0] = v, at
			}
			if ends[1] == "" || v > hi {
				hi, ends[1] = v, at
			}
		}
		if ends[0] != ends[1] {
			parts = append(parts, probeShort(first.Probe)+" "+strings.Join(ends, " to "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}

func clauses(p analysed, network string, brief bool) string {
	var parts []string
	named, compared, bounded := false, false, false // the baseline is named once
	for i := 0; i < len(p.Tables); {
		probe := p.Tables[i].Probe
		var rows []analysis.Row
		refused := 0
		for ; i < len(p.Tables) && p.Tables[i].Probe == probe; i++ {
			for _, r := range p.Tables[i].Rows {
				if r.Network == network && r.Refused != "" {
					refused++
				}
				if r.Network == network && r.Ratio.N > 0 {
					rows = append(rows, r)
					bounded = bounded || r.Ratio.Bounded()
				}
			}
		}
		if refused > 0 && len(rows) == 0 {
			parts = append(parts, probeShort(probe)+" no verdict (disturbed)")
		}
		if len(rows) == 0 {
			continue
		}
		of := ""
		compared = true
		if !named && !(len(rows) == 1 && rows[0].Same) {
			of, named = " of "+p.Baseline, true
		}
		s := probeShort(probe) + " " + clause(rows, of, brief)
		if refused > 0 {
			s += fmt.Sprintf(" (no verdict under %d more: disturbed)", refused)
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return ""
	}
	if compared && !bounded {
		return strings.Join(parts, ", ") + ". There are too few blocks for intervals."
	}
	return strings.Join(parts, ", ") + "."
}

// clause sums up one probe: one ratio, or the range over several conditions.
func clause(rows []analysis.Row, of string, brief bool) string {
	if len(rows) == 1 {
		r := rows[0].Ratio
		d := ratioDigits(r)
		s, interval := fixed(r.Center, d)+"×"+of, ""
		if rows[0].Same {
			s = "no difference shown ~"
		}
		if r.Bounded() && !brief {
			interval = " " + bracket(r, d)
		}
		return s + interval + pathClause(rows[0], brief)
	}
	lo, hi, same := rows[0].Ratio.Center, rows[0].Ratio.Center, 0
	for _, r := range rows {
		lo, hi = min(lo, r.Ratio.Center), max(hi, r.Ratio.Center)
		if r.Same {
			same++
		}
	}
	if same == len(rows) {
		return fmt.Sprintf("no difference shown ~ under any of %d conditions", len(rows))
	}
	span := fixed(lo, 2) + "×"
	if to := fixed(hi, 2) + "×"; to != span {
		span += " to " + to
	}
	s := fmt.Sprintf("%s%s under %d conditions", span, of, len(rows))
	if same > 0 {
		s += fmt.Sprintf(" (no difference shown ~ under %d)", same)
	}
	return s
}

// notes is what a reader must know of the rows of a table. What holds for
// several networks is said once.
func notes(p analysed, t analysis.Table) []string {
	var s said
	for _, r := range t.Rows {
		s.add(r.Network, p.rowNotes(t, r)...)
	}
	return s.lines(func(names []string) string { return who(t.Rows, names) })
}

// said gathers what holds for several things, to say it once.
type said struct {
	order []string
	about map[string][]string
}

// add says all of what of a thing.
func (s *said) add(of string, what ...string) {
	for _, w := range what {
		if s.about == nil {
			s.about = map[string][]string{}
		}
		if s.about[w] == nil {
			s.order = append(s.order, w)
		}
		s.about[w] = append(s.about[w], of)
	}
}

// lines has one for each thing that was said, which begins with what names makes of
// those it holds for.
func (s *said) lines(names func([]string) string) (out []string) {
	for _, w := range s.order {
		out = append(out, names(s.about[w])+": "+w)
	}
	return out
}

// each names all.
func each(names []string) string { return strings.Join(names, ", ") }

// who names networks of rows. Nobody reads a list of nearly all of many.
func who(rows []analysis.Row, names []string) string {
	var others []string
	for _, r := range rows {
		if !slices.Contains(names, r.Network) {
			others = append(others, r.Network)
		}
	}
	switch {
	case len(names) <= 3 || len(others) > 1 || len(names)+len(others) != len(rows):
		return strings.Join(names, ", ")
	case len(others) == 1:
		return "all but " + others[0]
	}
	return "all"
}

func (p analysed) rowNotes(t analysis.Table, r analysis.Row) []string {
	var out []string
	for _, f := range p.about[t.Cell(r).String()] {
		out = append(out, f.String())
	}
	if r.Same && r.Detectable > 0 {
		out = append(out, fmt.Sprintf("~ a difference of %s or more would have shown", coarse(r.Detectable)))
	}
	return append(out, r.Ratio.Warnings...)
}
