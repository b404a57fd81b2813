package report

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/unit"
)

// answerSection answers the question of the run: a sentence for each network, and all
// ratios in one table where there are few conditions.
func answerSection(s source) []Section {
	x := Section{ID: "answer", Title: "Answer", Lines: s.answers(false), Box: true}
	if t, ok := s.overview(); ok {
		for i := range x.Lines {
			x.Lines[i].In = []Medium{forTerminal, forMarkdown, forSummary}
		}
		for _, l := range s.answers(true) { // the intervals are in the table
			l.In = []Medium{forPage}
			x.Lines = append(x.Lines, l)
		}
		x.Tables = []Table{t}
	}
	if x.Lines == nil {
		x.About = "Nothing was compared."
	}
	x.Parts = []Section{{ID: "datapath", Notes: s.datapath(), In: full, Box: true}}
	return []Section{x}
}

// datapath says what a run on one machine measures.
func (r Run) datapath() []string {
	out := []string{"One machine is a datapath bench: both ends share its CPUs and there is no NIC. " +
		"These numbers are datapath cost, not network throughput."}
	for _, x := range r.Results {
		if x.Observed["cost"] != "" {
			return append(out, "Several pairs of hosts were measured at once and shared the machine. Absolute figures are those of a shared machine, "+
				"not of one pair alone, and CPU time cannot be attributed to a pair. With one-at-a-time, every pair has the machine to itself.")
		}
	}
	return out
}

// answers has a sentence on the cost of each network, in the order of the tables.
// brief leaves the intervals to a table next to them.
func (s source) answers(brief bool) []Line {
	p := s.p
	var out []Line
	for _, n := range p.Networks {
		text := s.hopClause(n)
		if n != p.Baseline {
			text = strings.TrimSpace(s.clauses(n, brief) + " " + text)
		}
		if text == "" && len(p.Networks) == 1 {
			text = s.spans()
		}
		if text != "" {
			out = append(out, Line{Network: n, Text: text})
		}
	}
	return out
}

// spans names the conditions under which the only network gets least and most.
func (s source) spans() string {
	p := s.p
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
			parts = append(parts, s.short(first.Probe)+" "+strings.Join(ends, " to "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}

func (s source) clauses(network string, brief bool) string {
	p := s.p
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
			parts = append(parts, s.short(probe)+" no verdict (disturbed)")
		}
		if len(rows) == 0 {
			continue
		}
		of := ""
		compared = true
		if !named && !(len(rows) == 1 && rows[0].Same) {
			of, named = " of "+p.Baseline, true
		}
		part := s.short(probe) + " " + clause(rows, of, brief)
		if refused > 0 {
			part += fmt.Sprintf(" (no verdict under %d more: disturbed)", refused)
		}
		parts = append(parts, part)
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
