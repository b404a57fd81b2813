package explain

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// responseParts are the values that the kernel's timestamps split a response time into, and their names.
var responseParts = []struct {
	value record.Quantity
	name  lang.Text
}{{record.RTTPath, lang.T("path")}, {record.RTTWake, lang.T("wake-up")}, {record.RTTApp, lang.T("programs and sending")}}

// paths says how the network's part of response times differs from the baseline's: it is a difference of the path
// itself, whatever the programs at the ends wait for.
func (r Premises) paths(network string) (out []Statement) {
	for _, c := range r.cells(network) {
		i := c.row.Path
		base, ok := c.table.Row(r.Baseline)
		if !ok || network == r.Baseline || !i.Bounded() || i.Contains(1) {
			continue
		}
		var here, there []lang.Text
		for _, p := range responseParts {
			a, has := c.row.Get(p.value)
			b, had := base.Get(p.value)
			if has && had {
				here = append(here, p.name+lang.Text(" "+unit.Format(a.Median, "s")))
				there = append(there, p.name+lang.Text(" "+unit.Format(b.Median, "s")))
			}
		}
		if here == nil {
			continue
		}
		of, _ := c.row.Get(record.RTTPath)
		was, _ := base.Get(record.RTTPath)
		out = append(out, Statement{Subject: Path, Cells: []analysis.Cell{c.table.Cell(*c.row)},
			Number: &finding.Number{Name: lang.T("path of a response, %s ÷ %s", network, r.Baseline), Unit: "1", Value: i},
			Text: lang.T("a response spends %s on the path (median) instead of %s's %s, %s%s", unit.Format(of.Median, "s"), r.Baseline, unit.Format(was.Median, "s"), prose.Times(i),
				r.in(network, []analysis.Cell{c.table.Cell(*c.row)})),
			Evidence: []lang.Text{lang.T("medians of the parts: %s; on %s: %s", lang.Join(here, lang.T(", ")), r.Baseline, lang.Join(there, lang.T(", ")))}})
	}
	return out
}
