package report

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// Comparison is the report of a comparison of two runs.
func Comparison(c analysis.Comparison) *Document {
	x := Section{ID: "compare"}
	if len(c.Changes) == 0 {
		x.About = "The two runs share no cell with an ok trial."
	} else {
		x.Tables = []Table{table("changes", compareColumns(c)...)}
	}
	for _, change := range c.Changes {
		for _, s := range change.Ratio.Warnings {
			x.Notes = append(x.Notes, change.String()+": "+s)
		}
	}
	x.Notes = append(append(x.Notes, only("only in A", c.OnlyA)...), only("only in B", c.OnlyB)...)
	if len(c.Changes) > 0 {
		x.Notes = append(x.Notes, fmt.Sprintf("B ÷ A is unpaired; [ ] is its interval. All %d intervals hold together with %s %% confidence. "+
			"~ means no difference was shown. Worse and better: the whole interval is beyond %s %%.",
			len(c.Changes), trim(100*c.Confidence), trim(100*c.Bound)))
	}
	return &Document{Sections: []Section{x}}
}

func compareColumns(c analysis.Comparison) []column {
	value := func(i stat.Interval, base string) Cell {
		return Cell{Text: unit.Format(i.Center, base), Value: number(i.Center)}
	}
	ratio := ratios(c.Changes, "B ÷ A", func(x analysis.Change) (stat.Interval, bool) { return x.Ratio, false })
	return []column{
		layout(Column{Head: "cell", Left: true, Keep: 9}, c.Changes, func(x analysis.Change) Cell { return Cell{Text: x.String()} }),
		layout(Column{Head: "A", Keep: 8}, c.Changes, func(x analysis.Change) Cell { return value(x.A, x.Unit) }),
		layout(Column{Head: "B", Keep: 8}, c.Changes, func(x analysis.Change) Cell { return value(x.B, x.Unit) }),
		ratio[0], ratio[1],
		layout(Column{Left: true, Kind: "same", Keep: 9}, c.Changes, func(x analysis.Change) Cell { return Cell{Text: verdict(x)} }),
	}
}

func verdict(x analysis.Change) string {
	switch {
	case x.Worse:
		return "WORSE"
	case x.Better:
		return "better"
	}
	return mark(x.Same)
}

func only(where string, cells []analysis.Cell) []string {
	if len(cells) == 0 {
		return nil
	}
	var names []string
	for _, c := range cells {
		names = append(names, c.String())
	}
	return []string{where + ": " + strings.Join(names, "; ")}
}
