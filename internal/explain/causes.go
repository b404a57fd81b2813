package explain

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
)

// causal reports whether a finding says what limits or spoils numbers. The others describe the run: its
// blocks, its outliers, its residue.
func causal(f finding.Finding) bool {
	return len(f.Cells) > 0 && (f.Number != nil || f.Test != nil || f.Place != "" ||
		slices.Contains([]string{"link-limited", "one-cpu", "full-thread"}, f.Rule))
}

// causes merges the findings of one rule at one place, in the order of the findings: package finding
// decides which cause outranks which.
func (r Premises) causes(network string) (out []Statement) {
	for _, f := range r.Findings {
		if !causal(f) {
			continue
		}
		cells := slices.DeleteFunc(slices.Clone(f.Cells), func(c analysis.Cell) bool { return c.Network != network })
		if len(cells) == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(s Statement) bool { return s.Rule == f.Rule && s.Place == f.Place })
		if i < 0 {
			s := Statement{Subject: Cause, Rule: f.Rule, Place: f.Place, Cells: cells, Text: f.Text, Number: f.Number, Test: f.Test, Untestable: f.Untestable, Evidence: slices.Clone(f.Evidence)}
			if f.Remedy != "" {
				s.Evidence = append(s.Evidence, lang.T("remedy: %s", f.Remedy))
			}
			out = append(out, s)
			continue
		}
		for _, c := range cells {
			if s := &out[i]; !slices.ContainsFunc(s.Cells, func(x analysis.Cell) bool { return x.String() == c.String() }) {
				s.Cells = append(s.Cells, c)
				if f.Text != s.Text {
					s.Evidence = append(s.Evidence, lang.T("%s: %s", strings.TrimPrefix(c.String(), network+", "), f.Text))
				}
			}
		}
	}
	for i := range out {
		s := &out[i]
		s.Text += r.in(network, s.Cells)
		if s.Rule == "full-thread" {
			s.Text += r.whoseWork(s.Cells[0])
		}
	}
	return out
}

// mostSoftirqs is the share of a host's receive softirqs from which one CPU does all of them.
const mostSoftirqs = 0.9

// whoseWork says what else the full CPU does, if the counters show it: where both ends are on one machine, a
// packet goes on to its receiver in softirqs on the CPU that sent it. It returns "" otherwise.
func (r Premises) whoseWork(at analysis.Cell) lang.Text {
	var shares, idle []float64
	for _, c := range r.cells(at.Network) {
		if c.table.Cell(*c.row).String() != at.String() {
			continue
		}
		for _, o := range c.row.Evidence() {
			e := o.Evidence
			if e.Sender.Host != e.Receiver.Host || e.Seconds <= 0 {
				return ""
			}
			counters, busiest, most, all := e.Hosts[e.Sender.Host], "", 0.0, 0.0
			for name, n := range counters {
				cpu, ok := strings.CutSuffix(strings.TrimPrefix(name, "softirq."), ".net_rx")
				if !ok {
					continue
				}
				if all += n; n > most || n == most && cpu < busiest {
					busiest, most = cpu, n
				}
			}
			if all > 0 {
				shares, idle = append(shares, most/all), append(idle, counters[busiest+".idle"]/e.Seconds)
			}
		}
	}
	share, rest := stat.Median(shares, oneByOne), stat.Median(idle, oneByOne)
	if !share.Bounded() || share.Lo < mostSoftirqs || rest.Center > 1-mostSoftirqs {
		return ""
	}
	return lang.T(". The sender's CPU also runs the receiver's stack: %.0f %% [%.0f, %.0f] of all receive softirqs ran on one CPU, which was %.1f %% idle",
		100*share.Center, 100*share.Lo, 100*share.Hi, 100*rest.Center)
}

// Says reports whether an explanation states a finding about a cell, so that no other section needs to.
func (x Explanation) Says(f finding.Finding, c analysis.Cell) bool {
	i := slices.IndexFunc(x.Networks, func(n Network) bool { return n.Name == c.Network })
	return i >= 0 && slices.ContainsFunc(x.Networks[i].Statements, func(s Statement) bool {
		return s.Rule != "" && s.Rule == f.Rule && s.Place == f.Place && slices.ContainsFunc(s.Cells, func(x analysis.Cell) bool { return x.String() == c.String() })
	})
}

// States reports whether an explanation has a statement on a subject about a cell.
func (x Explanation) States(about Subject, c analysis.Cell) bool {
	return slices.ContainsFunc(x.Networks, func(n Network) bool {
		return slices.ContainsFunc(n.Statements, func(s Statement) bool {
			return s.Subject == about && slices.ContainsFunc(s.Cells, func(x analysis.Cell) bool { return x.String() == c.String() })
		})
	})
}

// ordinary returns the only statement about a network without any cause of its own and without a
// difference to the baseline; false if there is more to say.
func (r Premises) ordinary(network string, causes []Statement) (Statement, bool) {
	if network == r.Baseline {
		if len(causes) > 0 || len(r.cells(network)) == 0 {
			return Statement{}, false
		}
		bounded := slices.ContainsFunc(r.cells(network), func(c cell) bool { return c.row.Value.Bounded() })
		if !bounded || r.sharing(network) != nil {
			return Statement{}, false
		}
		return Statement{Subject: Ordinary, Text: lang.T("the baseline; this run sees nothing that limits or spoils its numbers")}, true
	}
	base := r.causes(r.Baseline)
	own := slices.DeleteFunc(slices.Clone(causes), func(s Statement) bool {
		return s.Rule == "tool-limited" || slices.ContainsFunc(base, func(b Statement) bool { return b.Rule == s.Rule })
	})
	if len(own) > 0 || r.Baseline == "" {
		return Statement{}, false
	}
	var same, evidence []lang.Text
	hidden := 0.0
	for _, c := range r.cells(network) {
		if !c.row.Ratio.Bounded() || !c.row.Same || c.row.Own.Ratio.Bounded() && !c.row.Own.Ratio.Contains(1) {
			return Statement{}, false
		}
		hidden = max(hidden, c.row.Detectable)
		same = append(same, r.name(c)+lang.Text(" "+prose.Times(c.row.Ratio)))
		if c.row.Own.Ratio.Bounded() {
			evidence = append(evidence, lang.T("%s: %s %s of %s", r.name(c), quantity(c.row.Own.Name), prose.Times(c.row.Own.Ratio), r.Baseline))
		}
	}
	if same == nil {
		return Statement{}, false
	}
	text := lang.T("no difference from %s shown: %s", r.Baseline, few(same))
	switch {
	case hidden > 1:
		text += lang.T("; the run is too noisy to show less than a factor of %.0f", 1+hidden)
	case hidden > notable:
		text += lang.T("; one below %.0f %% would not have shown", 100*hidden)
	}
	if len(causes) > 0 {
		text += lang.T("; the same limit")
	}
	return Statement{Subject: Ordinary, Text: text, Evidence: evidence}, true
}

// notable is the relative difference that a run should be able to show.
const notable = 0.1

// few joins parts, and counts those beyond the first three.
func few(parts []lang.Text) lang.Text {
	const many = 4
	if n := len(parts); n > many {
		parts = append(parts[:many-1:many-1], lang.T("and %d more", n-many+1))
	}
	return lang.Join(parts, lang.T(", "))
}

// unexplained is the only statement about a network that differs from the baseline if nothing says why; none
// for others.
func (r Premises) unexplained(network string) []Statement {
	var ratios []lang.Text
	for _, c := range r.cells(network) {
		if c.row.Ratio.Bounded() && !c.row.Same {
			ratios = append(ratios, r.name(c)+lang.Text(" "+prose.Times(c.row.Ratio)))
		}
	}
	if ratios == nil {
		return nil
	}
	return []Statement{{Subject: Ordinary, Text: lang.T("the run does not show why it differs from %s: %s", r.Baseline, few(ratios))}}
}

// name names a cell: its probe, and its levels if the probe has more than one table.
func (r Premises) name(c cell) lang.Text {
	name := lang.Text(r.Short(c.table.Probe))
	if l := prose.Levels(c.table.Levels); l != "" {
		name += lang.T(" (%s)", l)
	}
	return name
}
