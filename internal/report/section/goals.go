package section

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// goalSection shows what searches found for each of several goals on loss: tables of probes show only the first goal. The section
// in the drafts' terms shows it, too.
func goalSection(s source) []doc.Section {
	x, ok := Goals([]*account.Account{s.Account}, s.Words)
	if !ok || strings.HasPrefix(s.Name, draftStudies) {
		return nil
	}
	return []doc.Section{x}
}

// Goals is what the searches of one run, or of several together, found for each goal on loss; false if they had none.
func Goals(runs []*account.Account, w account.Words) (doc.Section, bool) {
	rows := searches(runs, w)
	if rows == nil {
		return doc.Section{}, false
	}
	x := searchSection("goals", rows, runs[0])
	x.Title, x.In = say("What searches found for each goal on loss"), doc.Full
	return x, true
}

// A searched row is what searches of a cell found.
type searched struct {
	network, test, goal       string
	throughput, lower, higher stat.Interval
	found, of                 int
}

func searches(runs []*account.Account, w account.Words) (out []searched) {
	for _, g := range analysis.Goals(account.Analyses(runs)) {
		out = append(out, searched{g.Network, prose.Comma(w.Short(g.Probe), prose.Levels(g.Levels)), g.Loss, g.Throughput, g.Lower, g.Upper, g.Found, g.Of})
	}
	return out
}

// draftSearch adds the searches with one bound on loss.
func (s source) draftSearch() doc.Section {
	rows := searches([]*account.Account{s.Account}, s.Words)
	goals := analysis.Goals([]*analysis.Run{s.p})
	for t, r := range s.p.Rows() {
		of := func(g analysis.Goal) bool { return g.Probe == t.Probe }
		if t.Metric == record.Capacity && r.Counted() > 0 && !slices.ContainsFunc(goals, of) {
			rows = append(rows, searched{r.Network, prose.Comma(s.Short(t.Probe), prose.Levels(t.Levels)), record.CapacityKind.Of(r.Observed), r.Value, stat.Interval{}, r.Estimate(record.CapacityOver.Whole()), r.Value.N, r.Value.N})
		}
	}
	if rows == nil {
		return doc.Section{}
	}
	return searchSection("bmwg search", rows, s.Account)
}

func searchSection(id string, rows []searched, r *account.Account) doc.Section {
	text := func(head string, get func(searched) string) doc.Filled {
		return doc.Layout(doc.Column{Head: head, Left: true, Kind: "name", Whole: true, Keep: 9}, rows, func(r searched) doc.Cell { return doc.Cell{Text: get(r)} })
	}
	cs := []doc.Filled{text(say("test"), func(r searched) string { return r.test }), text(say("network"), func(r searched) string { return r.network }),
		text(say("goal loss ratio"), func(r searched) string { return r.goal })}
	cs = append(cs, within("throughput", "packet/s", 9, rows, func(r searched) stat.Interval { return r.throughput })...)
	cs = append(cs, doc.Numbers("relevant lower bound", "packet/s", 4, rows, func(r searched) (float64, bool) { return doc.Center(r.lower) }),
		doc.Numbers("relevant upper bound", "packet/s", 4, rows, func(r searched) (float64, bool) { return doc.Center(r.higher) }),
		doc.Layout(doc.Column{Head: say("found"), Kind: "blocks", Keep: 8}, rows, func(r searched) doc.Cell { return doc.Cell{Text: fmt.Sprintf("%d/%d", r.found, r.of)} }))
	t := doc.Tabulate(id+" table", cs...)
	for i, x := range rows {
		t.Rows[i].Network, t.Rows[i].Baseline = x.network, x.network == r.Analysis.Baseline
	}
	notes := []string{say("The throughput of a goal is MLRsearch's conditional throughput; that of a search without goals (NDR, PDR) is the highest rate that arrived. With goal 0, or as NDR, it is the throughput of RFC 2544, section 26.1, of trials of 100 ms instead of a minute. A packet here is one datagram: an Ethernet frame with 46 bytes around its payload over IPv4, check sequence included, and 66 over IPv6.")}
	if slices.ContainsFunc(rows, func(r searched) bool { return r.found < r.of }) {
		notes = append(notes, say("A search that ran out of time has no result for a goal. The median is of the others, and can differ from what all would have found."))
	}
	if !r.Target.Exists() {
		notes = append(notes, say("No frame leaves the machine: the rates are those of its datapath, in which both ends take part. The tester of RFC 2544 is outside of what it tests."))
	}
	return doc.Section{ID: id, Tables: []doc.Table{t}, Notes: notes}
}
