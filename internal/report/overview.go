package report

import (
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// overview returns a table of all ratios of a run, networks by probes. It reports false
// if a probe has several tables or there is nothing to compare.
func (s source) overview() (Table, bool) {
	if s.p.Comparisons == 0 {
		return Table{}, false
	}
	out := Table{ID: "overview", Heat: true, In: []Medium{forPage}, Columns: []Column{{}}}
	seen := map[string]bool{}
	for _, t := range s.p.Tables {
		if seen[t.Probe] {
			return Table{}, false
		}
		seen[t.Probe] = true
		out.Columns = append(out.Columns, Column{Head: s.title(t.Probe), Base: "1"})
	}
	for _, n := range s.p.Networks {
		if n == s.p.Baseline {
			continue
		}
		row := Row{Network: n, Cells: texts(n)}
		for _, t := range s.p.Tables {
			row.Cells = append(row.Cells, overviewCell(t, n))
		}
		out.Rows = append(out.Rows, row)
	}
	return out, len(out.Rows) > 0
}

// levelOverview sums up the tables of one probe, levels by networks. The baseline has no
// ratio and shows its value.
func (s source) levelOverview(tables []analysis.Table) Table {
	out := Table{ID: "probe " + tables[0].Probe + " overview", Heat: true, In: []Medium{forPage}, Columns: []Column{{}}}
	for _, n := range s.p.Networks {
		out.Columns = append(out.Columns, Column{Head: n, Network: n})
	}
	for _, t := range tables {
		row := Row{Cells: texts(levelText(t.Levels))}
		for _, n := range s.p.Networks {
			c := overviewCell(t, n)
			if r, ok := t.Row(n); ok && r.Baseline && r.Value.N > 0 {
				c = Cell{Text: unit.Format(r.Value.Center, t.Unit), Value: number(r.Value.Center)}
			}
			row.Cells = append(row.Cells, c)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func overviewCell(t analysis.Table, network string) Cell {
	r, _ := t.Row(network) // a row without trials has no ratio
	switch {
	case r.Refused != "":
		return Cell{Text: "no verdict", Small: "disturbed"}
	case r.Ratio.N == 0:
		return Cell{Text: "–"}
	}
	d := ratioDigits(r.Ratio)
	c := ratioCell(r.Ratio, d)
	c.Small = "no interval"
	if r.Ratio.Bounded() {
		c.Small, c.Shade = bracket(r.Ratio, d), shade(r.Ratio, t.Unit)
		c.bounds(r.Ratio)
	}
	if r.Same {
		c.Text = "~ " + c.Text
	}
	return c
}

// shade returns how far a ratio is from 1, in -1..1; positive is the good side.
func shade(i stat.Interval, u string) float64 {
	if i.Contains(1) || i.Center <= 0 {
		return 0
	}
	strength := min(1, math.Abs(math.Log2(i.Center)))
	if (i.Center < 1) != record.LowerIsBetter(u) {
		return -strength
	}
	return strength
}

// summarySection has a row for each table and a column for each network. Where networks
// are not compared, their values stand alone.
func summarySection(s source) []Section {
	if len(s.p.Tables) == 0 {
		return nil
	}
	t := Table{ID: "summary", In: []Medium{forSummary}, Columns: []Column{{Left: true}}}
	for _, n := range s.p.Networks {
		t.Columns = append(t.Columns, Column{Head: n, Network: n})
	}
	for _, x := range s.p.Tables {
		row := Row{Cells: texts(s.heading(x))}
		for _, n := range s.p.Networks {
			c := Cell{Text: "–"}
			if r, ok := x.Row(n); ok && r.Value.N > 0 {
				parts := []string{unit.Format(r.Value.Center, x.Unit)}
				if o := overviewCell(x, n); o.Text != "–" {
					parts = append(parts, strings.TrimPrefix(o.Text, "~ "), o.Small)
					if r.Same {
						parts = append(parts, "~")
					}
				}
				c = Cell{Text: strings.Join(parts, " "), Value: number(r.Value.Center)}
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return []Section{{ID: "summary-table", In: []Medium{forSummary}, Tables: []Table{t}}}
}
