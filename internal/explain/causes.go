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

// A reason is the findings that make one statement: of one rule, at one place, about one thing.
type reason struct {
	Statement
	clauses []clause
}

// A clause is what a finding says of cells that have the same text.
type clause struct {
	text   lang.Text
	number *finding.Number
	cells  []analysis.Cell
}

// causes merges the findings of one rule at one place, in the order of the findings: package finding
// decides which cause outranks which. Those that the baseline has to the same degree are apart.
func (r Premises) causes(network string) (own, shared []Statement) {
	var all []*reason
	for _, f := range r.Findings {
		cells := slices.DeleteFunc(slices.Clone(f.Cells), func(c analysis.Cell) bool { return c.Network != network })
		if !causal(f) || len(cells) == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(x *reason) bool {
			return x.Rule == f.Rule && x.Place == f.Place && x.about == f.Subject && x.Shared == f.Shared
		})
		if i < 0 {
			x := &reason{Statement: Statement{Subject: Cause, Rule: f.Rule, Place: f.Place, Shared: f.Shared, Number: f.Number, Test: f.Test, Untestable: f.Untestable, Evidence: slices.Clone(f.Evidence), about: f.Subject, role: f.Role}}
			if f.Remedy != "" {
				x.Evidence = append(x.Evidence, lang.T("remedy: %s", f.Remedy))
			}
			all, i = append(all, x), len(all)
		}
		all[i].add(network, f, cells)
	}
	for _, x := range all {
		x.Text = r.say(network, x)
		if x.Shared {
			x.Text += lang.T(", as in %s", r.Baseline)
		}
		if x.Rule == "full-thread" {
			x.Text += r.whoseWork(x.Cells[0])
		}
		if x.Shared {
			shared = append(shared, x.Statement)
		} else {
			own = append(own, x.Statement)
		}
	}
	return own, shared
}

// add adds the cells of a finding that the reason lacks.
func (x *reason) add(network string, f finding.Finding, cells []analysis.Cell) {
	for _, c := range cells {
		if slices.ContainsFunc(x.Cells, func(y analysis.Cell) bool { return y.String() == c.String() }) {
			continue
		}
		i := slices.IndexFunc(x.clauses, func(y clause) bool { return y.text == f.Text })
		if i < 0 {
			i, x.clauses = len(x.clauses), append(x.clauses, clause{text: f.Text, number: f.Number})
			if i > 0 {
				x.Evidence = append(x.Evidence, lang.T("%s: %s", strings.TrimPrefix(c.String(), network+", "), f.Text))
			}
		}
		x.Cells, x.clauses[i].cells = append(x.Cells, c), append(x.clauses[i].cells, c)
	}
}

// say puts the clauses of a reason into a sentence, so that each number is of the cells that it names: beyond two
// clauses, the others with a number are the range of their numbers, and those without are said as they are.
func (r Premises) say(network string, x *reason) lang.Text {
	if len(x.clauses) == 1 {
		return x.clauses[0].text + r.in(network, x.Cells)
	}
	var rest, bare []clause // beyond the first: with a number, and without
	for _, c := range x.clauses[1:] {
		if c.number == nil || x.clauses[0].number == nil {
			bare = append(bare, c)
		} else {
			rest = append(rest, c)
		}
	}
	parts := []lang.Text{x.clauses[0].text + r.named(x.clauses[0].cells)}
	switch {
	case len(rest) == 1:
		parts = append(parts, rest[0].text+r.named(rest[0].cells))
	case len(rest) > 0:
		parts = append(parts, r.others(rest))
	}
	for _, c := range bare {
		parts = append(parts, c.text+r.named(c.cells))
	}
	return lang.Join(parts, lang.T("; "))
}

// others sums up clauses by the range of their numbers.
func (r Premises) others(rest []clause) lang.Text {
	var cells []analysis.Cell
	lo, hi := rest[0].number, rest[0].number
	for _, c := range rest {
		cells = append(cells, c.cells...)
		if c.number.Value.Center < lo.Value.Center {
			lo = c.number
		}
		if c.number.Value.Center > hi.Value.Center {
			hi = c.number
		}
	}
	return lang.T("%s %s to %s%s", lo.Name, plain(lo), plain(hi), r.named(cells))
}

// plain formats the estimate of a number: a share in percent.
func plain(n *finding.Number) string {
	if n.Unit == "1" {
		return prose.Fixed(100*n.Value.Center, 1) + " %"
	}
	return prose.Measured(bare(n.Value), n.Unit)
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

// ordinary returns the statement about a network without any cause of its own and without a difference from the
// baseline; false if there is more to say. Where an interval is wide, the run shows nothing: neither a difference nor
// that there is none.
func (r Premises) ordinary(network string, own, shared []Statement) (Statement, bool) {
	own = slices.DeleteFunc(slices.Clone(own), func(s Statement) bool { return s.Rule == "tool-limited" })
	if len(own) > 0 || r.Baseline == "" {
		return Statement{}, false
	}
	if network == r.Baseline {
		bounded := slices.ContainsFunc(r.cells(network), func(c cell) bool { return c.row.Value.Bounded() })
		if !bounded || r.sharing(network) != nil || len(r.failures(network)) > 0 {
			return Statement{}, false
		}
		return Statement{Subject: Ordinary, Text: lang.T("the baseline; this run sees nothing that limits or spoils its numbers")}, true
	}
	var same, noisy, evidence []lang.Text
	hidden := 0.0
	for _, c := range r.cells(network) {
		switch {
		case !c.row.Ratio.Bounded():
			continue
		case !c.row.Same || c.row.Own.Ratio.Bounded() && !c.row.Own.Ratio.Contains(1):
			return Statement{}, false
		case c.row.Detectable > narrow:
			noisy = append(noisy, r.name(c))
			evidence = append(evidence, lang.T("%s: %s of %s", r.name(c), prose.Times(c.row.Ratio), r.Baseline))
		default:
			hidden = max(hidden, c.row.Detectable)
			same = append(same, r.name(c)+lang.Text(" "+prose.Times(c.row.Ratio)))
		}
		if c.row.Own.Ratio.Bounded() {
			evidence = append(evidence, lang.T("%s: %s %s of %s", r.name(c), quantity(c.row.Own.Name), prose.Times(c.row.Own.Ratio), r.Baseline))
		}
	}
	var text lang.Text
	switch {
	case same == nil && noisy == nil:
		return Statement{}, false
	case same == nil:
		text = lang.T("the run is too noisy to say whether it differs from %s: %s", r.Baseline, few(noisy))
	default:
		text = lang.T("no difference from %s shown: %s", r.Baseline, few(same))
		if hidden > notable {
			text += lang.T("; one of up to %.0f %% could hide", 100*hidden)
		}
		if noisy != nil {
			text += lang.T("; too noisy to say: %s", few(noisy))
		} else if of := limits(shared); of != "" {
			text += lang.T("; the same limit: %s", of)
		}
	}
	return Statement{Subject: Ordinary, Text: text, Evidence: evidence}, true
}

// narrow is the largest relative difference that can hide where the run says that none was shown.
const narrow = 0.25

// limits names the full threads that limit a network and the baseline alike, "" if there are none.
func limits(shared []Statement) lang.Text {
	var names []lang.Text
	for _, s := range shared {
		if s.Rule == "full-thread" && s.about != "" {
			names = append(names, s.about)
		}
	}
	return lang.Join(names, lang.T("; "))
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

// CPU time does not explain a rate below enoughCost of the one that it predicts, nor a response time above that: one thread's time can
// have grown more than the ratio of the sum says.
const enoughCost = 0.5

// slower reports whether a rate is lower than its CPU time explains, or a response time longer.
func slower(c cell) bool {
	cost, ratio := c.row.Own.Ratio, c.row.Ratio
	switch {
	case !ratio.Bounded() || !cost.Bounded() || cost.Lo <= 0:
		return false
	case strings.HasSuffix(c.table.Unit, "/s"):
		return ratio.Hi < enoughCost/max(1, cost.Hi)
	}
	return c.table.Unit == "s" && ratio.Lo > max(1, cost.Hi)/enoughCost
}

// unexplained is the statement about the cells of a network that differ from the baseline and that no other statement
// explains; none if there are none.
func (r Premises) unexplained(network string, said []Statement) []Statement {
	var ratios []lang.Text
	var cells []analysis.Cell
	for _, c := range r.cells(network) {
		known := slices.ContainsFunc(said, func(s Statement) bool {
			return s.Rule != "loss-not-located" && about(s.Cells, c) && !(s.Subject == Cost && slower(c))
		})
		if c.row.Ratio.Bounded() && !c.row.Same && !known {
			ratios = append(ratios, r.name(c)+lang.Text(" "+prose.Times(c.row.Ratio)))
			cells = append(cells, c.table.Cell(*c.row))
		}
	}
	if ratios == nil {
		return nil
	}
	return []Statement{{Subject: Ordinary, Cells: cells, Text: lang.T("the run does not show why it differs from %s: %s", r.Baseline, few(ratios))}}
}

// name names a cell: its probe, and its levels if the probe has more than one table.
func (r Premises) name(c cell) lang.Text {
	name := lang.Text(r.Short(c.table.Probe))
	if l := prose.Levels(c.table.Levels); l != "" {
		name += lang.T(" (%s)", l)
	}
	return name
}
