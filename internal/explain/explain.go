// Package explain says why a network costs what it costs: for each network at most six statements, the
// answer first, each with its number and its interval, and with what would refute it where a run can. It
// makes them from the findings, the costs and the bounds of an analyzed run, and plans and judges the runs
// that can refute them.
//
// It must not judge causes (package finding does), touch a file, or run anything.
package explain

import (
	"reflect"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

// most is how many statements a network gets. Further ones are in Network.More.
const most = 6

// Premises are what explanations are made from.
type Premises struct {
	*analysis.Run
	Findings []finding.Finding         // of the run
	Short    func(probe string) string // names a probe in a sentence
	Verdicts []Verdict                 // of refuting runs, if there were any
	Models   []costmodel.Model
	Bounds   []costmodel.Bound
	Hooks    []costmodel.Hook
}

// An Explanation is what a run says about the causes of its numbers.
type Explanation struct {
	Baseline string    `json:"baseline,omitempty"`
	Networks []Network `json:"networks"` // in the order of the run
	// Missing names the evidence that the run lacks, each with the command that would measure it.
	Missing []lang.Text `json:"missing,omitempty"`
}

// A Network is what the run says about one network, the most important statement first.
type Network struct {
	Name       string      `json:"network"`
	Statements []Statement `json:"statements"`
	More       []Statement `json:"more,omitempty"`
	// Books are the accounts of its cells, each with what it leaves unexplained.
	Books []Book `json:"books,omitempty"`
}

// A Subject is what a statement is about.
type Subject string

const (
	Cause    Subject = "cause"    // what limits or spoils the numbers: a finding
	Cost     Subject = "cost"     // CPU time per packet, against the baseline
	Sharing  Subject = "sharing"  // why TCP and UDP differ: the bytes that share a pass through the stack
	Parts    Subject = "parts"    // what of a network's cost is encapsulation, bridges, netfilter
	Bound    Subject = "bound"    // what removing a part could gain at most
	Path     Subject = "path"     // how the parts of response times differ from the baseline's
	Failure  Subject = "failure"  // trials without a value
	Ordinary Subject = "ordinary" // nothing to explain
	// Hypothesis is a statement of the user, which only a refuting run says anything about.
	Hypothesis Subject = "hypothesis"
)

// A Statement is one conclusion.
type Statement struct {
	Subject Subject         `json:"subject"`
	Rule    string          `json:"rule,omitempty"` // of the finding
	Place   string          `json:"place,omitempty"`
	Cells   []analysis.Cell `json:"cells,omitempty"`
	Text    lang.Text       `json:"text"`
	Number  *finding.Number `json:"number,omitempty"`
	Test    *finding.Test   `json:"test,omitempty"` // of the first cell
	// Untestable says why no run can refute a cause without a Test.
	Untestable lang.Text `json:"untestable,omitempty"`
	Verdict    *Verdict  `json:"verdict,omitempty"`
	// Evidence is what the statement rests on, for readers who ask.
	Evidence []lang.Text `json:"evidence,omitempty"`
	// Shared means that the baseline has the same cause to the same degree.
	Shared bool `json:"-"`

	about lang.Text   // what the text is about, of findings that say so
	role  lang.Text   // the same, wherever it is
	each  []lang.Text // the text about each of Cells alone; nil: there is only Text
}

// About returns what s says of a cell alone; false if it says nothing of it.
func (s Statement) About(c analysis.Cell) (lang.Text, bool) {
	i := slices.IndexFunc(s.Cells, func(x analysis.Cell) bool { return x.String() == c.String() })
	switch {
	case i < 0:
		return "", false
	case s.each == nil:
		return s.Text, true
	}
	return s.each[i], true
}

// Limit returns what is at its limit in a network and the baseline alike, by a statement; "" if nothing.
func (s Statement) Limit() lang.Text {
	if s.Shared && s.Rule == "full-thread" {
		return s.role
	}
	return ""
}

func (s Statement) String() string { return s.Say().String() }

// Say returns the statement, what would refute it, and the verdict if a run tried to.
func (s Statement) Say() lang.Text {
	parts := []lang.Text{prose.Sentence(s.Text)}
	switch {
	case s.Test != nil:
		parts = append(parts, prose.Sentence(s.Test.Text))
	case s.Untestable != "":
		parts = append(parts, prose.Sentence(lang.T("No run of weir can refute it: %s", s.Untestable)))
	}
	if s.Verdict != nil {
		parts = append(parts, s.Verdict.Say())
	}
	return prose.Sentences(parts...)
}

// Known reports whether a run has what explanations need. Runs of older versions and imported results do
// not.
func (r Premises) Known() bool {
	for _, row := range r.Rows() {
		if len(row.Evidence()) > 0 {
			return true
		}
	}
	return false
}

// New explains every network of a run.
func New(r Premises) Explanation {
	x := Explanation{Baseline: r.Baseline, Networks: []Network{}, Missing: r.missing()}
	if !r.Known() && r.anyValue() {
		return x
	}
	for _, name := range r.Networks {
		all := r.network(name)
		if all == nil {
			continue
		}
		x.Networks = append(x.Networks, Network{name, all[:min(len(all), most)], all[min(len(all), most):], r.books(name)})
	}
	return x
}

// Of leaves the statements about one network; "" leaves all.
func (x Explanation) Of(network string) Explanation {
	x.Networks = slices.DeleteFunc(slices.Clone(x.Networks), func(n Network) bool { return network != "" && n.Name != network })
	return x
}

// network returns the statements about one network in the order of their importance: what has no value at all, what
// differs from the baseline and why, and at last what both have.
func (r Premises) network(name string) []Statement {
	fails := r.failures(name)
	own, shared := r.causes(name)
	paths := r.paths(name)
	if s, ok := r.ordinary(name, own, shared); ok && paths == nil {
		return slices.Concat(fails, []Statement{s}, r.hypotheses(name))
	}
	all := slices.Concat(own, paths, r.costs(name), r.sharing(name), r.parts(name), r.bounds(name))
	all = slices.Concat(fails, all, r.unexplained(name, all), shared, r.hypotheses(name))
	for i, s := range all {
		if s.Subject != Hypothesis {
			all[i].Verdict = r.verdict(s)
		}
	}
	return all
}

// hypotheses returns the statements of the user that runs have tested.
func (r Premises) hypotheses(network string) (out []Statement) {
	for i, v := range r.Verdicts {
		if v.Subject == Hypothesis && v.Cell.Network == network {
			out = append(out, Statement{Subject: Hypothesis, Cells: []analysis.Cell{v.Cell}, Text: lang.T("hypothesis: %s", v.Text), Test: &v.Test, Verdict: &r.Verdicts[i]})
		}
	}
	return out
}

// verdict returns the last verdict on a statement, nil if it was not tested. It is judged again: a rule of this version
// can predict more or less than that of the version that tested it.
func (r Premises) verdict(s Statement) (last *Verdict) {
	if s.Test == nil || len(s.Cells) == 0 {
		return nil
	}
	for _, v := range r.Verdicts {
		if v.of(s) && sameChange(v.Test, *s.Test) {
			v.Test = *s.Test
			v.judge(v.Outcome != NotReproduced)
			last = &v
		}
	}
	return last
}

// sameChange reports whether two tests measure the same: then a ratio of one judges the other, too.
func sameChange(a, b finding.Test) bool {
	a.Text, a.Factor, a.Whole, b.Text, b.Factor, b.Whole = "", 0, false, "", 0, false
	return reflect.DeepEqual(a, b)
}

// Tests returns the statements that a run can refute. The user's own are not among them: they come from a
// file that --test must be given.
func (x Explanation) Tests() (all []Statement) {
	for _, n := range x.Networks {
		for _, s := range slices.Concat(n.Statements, n.More) {
			if s.Test != nil && len(s.Cells) > 0 && s.Subject != Hypothesis {
				all = append(all, s)
			}
		}
	}
	return all
}

// A cell is a row with the table that it is in.
type cell struct {
	table *analysis.Table
	row   *analysis.Row
}

// cells returns the cells of a network that have counted trials, in the order of the tables.
func (r Premises) cells(network string) (out []cell) {
	for t, row := range r.Rows() {
		if row.Network == network && row.Counted() > 0 {
			out = append(out, cell{t, row})
		}
	}
	return out
}

// in names cells of a network in parentheses, "" if they are all that it has.
func (r Premises) in(network string, cells []analysis.Cell) lang.Text {
	if len(cells) >= len(r.cells(network)) {
		return ""
	}
	return r.named(cells)
}

// named names cells of one network in parentheses.
func (r Premises) named(cells []analysis.Cell) lang.Text {
	tables := map[string]int{} // of a probe
	for _, c := range r.cells(cells[0].Network) {
		tables[c.table.Probe]++
	}
	var probes []string
	named := map[string]int{}
	for _, c := range cells {
		if named[c.Probe]++; named[c.Probe] == 1 {
			probes = append(probes, c.Probe)
		}
	}
	var parts []lang.Text
	for _, probe := range probes {
		part := lang.Text(r.Short(probe))
		switch n := named[probe]; {
		case n == tables[probe]:
		case n == 1:
			j := slices.IndexFunc(cells, func(c analysis.Cell) bool { return c.Probe == probe })
			part += under(cells[j])
		default:
			part = lang.T("%s under %d of %d conditions", part, n, tables[probe])
		}
		parts = append(parts, part)
	}
	return lang.T(" (%s)", lang.Join(parts, lang.T("; ")))
}
