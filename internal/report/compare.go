package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// Compare sets two runs side by side. bound is the fraction by which a cell may
// be worse, for example 0.05. See analysis.Compare.
func Compare(a, b Run, bound float64) analysis.Comparison {
	return analysis.Compare(a.Pivot().Run, b.Pivot().Run, bound)
}

// CompareText writes a comparison for a terminal that is width columns wide.
func CompareText(w io.Writer, c analysis.Comparison, width int) error {
	width = max(width, 60)
	b := bufio.NewWriter(w)
	if len(c.Changes) == 0 {
		fmt.Fprintln(b, "The two runs share no cell with an ok trial.")
	} else {
		textTable(b, compareColumns(c), width)
	}
	for _, x := range c.Changes {
		for _, s := range x.Ratio.Warnings {
			wrap(b, "  ", plain(x.String()+": "+s), width)
		}
	}
	only(b, "only in A", c.OnlyA, width)
	only(b, "only in B", c.OnlyB, width)
	if len(c.Changes) > 0 {
		wrap(b, "", fmt.Sprintf("B ÷ A is unpaired; [ ] is its interval. All %d intervals hold together with %s %% confidence. "+
			"~ means no difference was shown. Worse and better: the whole interval is beyond %s %%.",
			len(c.Changes), trim(100*c.Confidence), trim(100*c.Bound)), width)
	}
	return b.Flush()
}

// CompareJSON writes a comparison for other programs, in base units.
func CompareJSON(w io.Writer, c analysis.Comparison) error { return indented(w, c) }

func compareColumns(c analysis.Comparison) []column {
	cell := column{Head: "cell", Left: true, keep: 9}
	a, b := column{Head: "A", keep: 8}, column{Head: "B", keep: 8}
	ratio, interval := column{Head: "B ÷ A", keep: 9}, column{Head: "interval", Class: "interval", keep: 9}
	mark := column{Left: true, Class: "same", keep: 9}
	var all []stat.Interval
	for _, x := range c.Changes {
		all = append(all, x.Ratio)
	}
	d := ratioDigits(all...)
	for _, x := range c.Changes {
		cell.Cells = append(cell.Cells, x.String())
		a.Cells = append(a.Cells, unit.Format(x.A.Center, x.Unit))
		b.Cells = append(b.Cells, unit.Format(x.B.Center, x.Unit))
		r, i := "", ""
		if x.Ratio.N > 0 {
			r = fixed(x.Ratio.Center, d) + "×"
		}
		if x.Ratio.Bounded() {
			i = bracket(x.Ratio, d)
		}
		ratio.Cells, interval.Cells = append(ratio.Cells, r), append(interval.Cells, i)
		mark.Cells = append(mark.Cells, verdict(x))
	}
	return filled([]column{cell, a, b, ratio, interval, mark})
}

func verdict(x analysis.Change) string {
	switch {
	case x.Worse:
		return "WORSE"
	case x.Better:
		return "better"
	case x.Same:
		return "~"
	}
	return ""
}

func only(w io.Writer, where string, cells []analysis.Cell, width int) {
	if len(cells) == 0 {
		return
	}
	var names []string
	for _, c := range cells {
		names = append(names, plain(c.String()))
	}
	wrap(w, "", where+": "+strings.Join(names, "; "), width)
}
