package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/unit"
)

// Summary writes what a page about several runs needs of one, as Markdown: the
// question, the answers, a line for each table, and what compares tables.
func Summary(w io.Writer, r Run) error {
	p := r.Pivot()
	b := bufio.NewWriter(w)
	r.mdHead(b, p)
	fmt.Fprintln(b)
	mdTable(b, summaryColumns(p))
	mdGap(b, p)
	r.mdAcross(b, p)
	return b.Flush()
}

// summaryColumns has a line for each table and a column for each network. Where no
// network is compared with another, its figures stand alone.
func summaryColumns(p analysed) []column {
	out := []column{{Head: "", Left: true}}
	for _, n := range p.Networks {
		out = append(out, column{Head: n})
	}
	for _, t := range p.Tables {
		out[0].Cells = append(out[0].Cells, heading(t))
		for i, n := range p.Networks {
			out[i+1].Cells = append(out[i+1].Cells, summaryCell(t, n))
		}
	}
	return out
}

func summaryCell(t analysis.Table, network string) string {
	for _, r := range t.Rows {
		if r.Network != network || r.Value.N == 0 {
			continue
		}
		parts := []string{unit.Format(r.Value.Center, t.Unit)}
		if c := glanceOf(t, network); c.Ratio != "–" {
			parts = append(parts, c.Ratio, c.Interval)
			if c.Same {
				parts = append(parts, "~")
			}
		}
		return strings.Join(parts, " ")
	}
	return "–"
}
