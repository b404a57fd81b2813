package section

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/record"
)

// notCountedSection groups the trials that are not ok by network, status and reason, in run order.
func notCountedSection(s source) []doc.Section {
	type group struct {
		network, reason string
		status          record.Status
	}
	var rs []*record.Result
	for i := range s.Results {
		if s.Results[i].Status != record.OK {
			rs = append(rs, &s.Results[i])
		}
	}
	slices.SortStableFunc(rs, func(a, b *record.Result) int {
		return cmp.Or(a.Block-b.Block, strings.Compare(a.Trial, b.Trial))
	})
	var trials doc.Groups[group, string]
	for _, x := range rs {
		trials.Add(group{x.Config[analysis.Network], x.Reason, x.Status}, x.Trial)
	}
	order := trials.Keys
	if order == nil {
		return nil
	}
	x := doc.Section{ID: "not-counted", Title: say("Disturbed, failed and skipped trials"), Fold: true, In: []doc.Medium{doc.Page}}
	if n := len(order); len(s.Results) > manyTrials && n > mostGroups {
		order = order[:mostGroups]
		x.Notes = []string{say("The first %d of %d reasons; %s.", mostGroups, n, inCSV)}
	}
	each := len(rs)
	if each > mostNamed {
		each = max(5, mostNamed/len(order))
	}
	t := doc.Table{ID: "not-counted-table", Prose: true, Columns: []doc.Column{{Head: say("trials")}, {Head: say("status")}, {Head: say("reason")}}}
	for _, g := range order {
		names := trials.Of[g]
		first := doc.Cell{Text: names[0]}
		if n := len(names); n > 1 {
			first = doc.Cell{Text: say("%d of %s", n, g.network), More: names, Value: doc.Number(float64(n))}
			if n > each {
				first.More = append(slices.Clone(names[:each]), say("and %d more: %s", n-each, inCSV))
			}
		}
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{first, {Text: word(string(g.status)), Bad: true}, {Text: word(g.reason)}}})
	}
	x.Tables = []doc.Table{t}
	return []doc.Section{x}
}
