package section

import (
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// overview returns all ratios of a run, networks by probes. It returns false if a probe has several
// tables or nothing is compared.
func (s source) overview() (doc.Table, bool) {
	if s.p.Comparisons == 0 || s.p.Baseline == "" {
		return doc.Table{}, false
	}
	out := doc.Table{ID: "overview", Heat: true, In: []doc.Medium{doc.Page}, Columns: []doc.Column{{}}}
	seen := map[string]bool{}
	for _, t := range s.p.Tables {
		if seen[t.Probe] {
			return doc.Table{}, false
		}
		seen[t.Probe] = true
		out.Columns = append(out.Columns, doc.Column{Head: s.Title(t.Probe), Base: "1", Probe: t.Probe})
	}
	for _, n := range s.p.Networks {
		if n == s.p.Baseline {
			continue
		}
		row := doc.Row{Network: n, Cells: doc.Texts(n)}
		for _, t := range s.p.Tables {
			r, _ := t.Row(n) // a row without trials has no ratio
			row.Cells = append(row.Cells, s.overviewCell(t, r))
		}
		out.Rows = append(out.Rows, row)
	}
	return out, len(out.Rows) > 0
}

// levelOverview sums up one probe, levels by networks. The baseline shows its value.
func (s source) levelOverview(tables []analysis.Table) doc.Table {
	out := s.byNetwork(tables, func(t analysis.Table) string { return prose.Levels(t.Levels) }, func(t analysis.Table, r analysis.Row) doc.Cell {
		if r.Baseline && r.Value.N > 0 {
			return doc.Cell{Text: unit.Format(r.Value.Center, t.Unit), Value: doc.Number(r.Value.Center)}
		}
		return s.overviewCell(t, r)
	})
	out.ID, out.Heat, out.In = "probe "+tables[0].Probe+" overview", true, []doc.Medium{doc.Page}
	return out
}

// summarySection shows the values of all tables, and their ratios if networks are compared.
func summarySection(s source) []doc.Section {
	if len(s.p.Tables) == 0 {
		return nil
	}
	t := s.byNetwork(s.p.Tables, s.heading, func(t analysis.Table, r analysis.Row) doc.Cell {
		if r.Value.N == 0 {
			return doc.Cell{Text: "–"}
		}
		parts := []string{unit.Format(r.Value.Center, t.Unit)}
		if o := s.overviewCell(t, r); o.Text != "–" {
			parts = append(parts, strings.TrimPrefix(o.Text, "~ "), o.Small)
			if r.Same {
				parts = append(parts, "~")
			}
		}
		return doc.Cell{Text: strings.Join(parts, " "), Value: doc.Number(r.Value.Center)}
	})
	t.ID, t.In, t.Columns[0].Left = "summary", []doc.Medium{doc.Summary}, true
	return []doc.Section{{ID: "summary-table", In: []doc.Medium{doc.Summary}, Tables: []doc.Table{t}}}
}

// byNetwork has a row for each table and a column for each network.
func (s source) byNetwork(tables []analysis.Table, head func(analysis.Table) string, cell func(analysis.Table, analysis.Row) doc.Cell) doc.Table {
	out := doc.Table{Columns: []doc.Column{{}}}
	for _, n := range s.p.Networks {
		out.Columns = append(out.Columns, doc.Column{Head: n, Network: n})
	}
	for _, t := range tables {
		row := doc.Row{Cells: doc.Texts(head(t))}
		for _, n := range s.p.Networks {
			r, _ := t.Row(n) // a row without trials has no numbers
			row.Cells = append(row.Cells, cell(t, r))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// overviewCell has the mark of a disturbed row unless all rows have it.
func (s source) overviewCell(t analysis.Table, r analysis.Row) doc.Cell {
	if r.Ratio.N == 0 {
		return doc.Cell{Text: "–"}
	}
	c := doc.RatioCell(r.Ratio)
	c.Small = say("no interval")
	if r.Ratio.Bounded() {
		c.Small, c.Shade = prose.RatioBrackets(r.Ratio), shade(r.Ratio, t.Metric.LowerIsBetter(t.Unit))
		c.Bounds(r.Ratio)
	}
	if r.Same {
		c.Text = "~ " + c.Text
	}
	if s.allBusy() {
		r.Busy = nil
	}
	c.Small = prose.List(append([]string{c.Small}, marks(r)...))
	return c
}

// allBusy reports whether disturbed trials count in every ratio.
func (s source) allBusy() bool {
	for _, r := range s.p.Rows() {
		if r.Ratio.N > 0 && r.Busy == nil {
			return false
		}
	}
	return true
}

// shade returns the distance of a ratio from 1, in -1..1; positive is good.
func shade(i stat.Interval, lower bool) float64 {
	if i.Contains(1) || i.Center <= 0 {
		return 0
	}
	strength := min(1, math.Abs(math.Log2(i.Center)))
	if (i.Center < 1) != lower {
		return -strength
	}
	return strength
}
