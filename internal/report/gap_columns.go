package report

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// gapSteps has a row for each send mode.
func gapSteps(g analysis.Gap) []column {
	name := column{Column: Column{Head: "send mode", Left: true, Whole: true, Kind: "name", Keep: 9}}
	what := column{Column: Column{Head: "what the step changes", Left: true, Keep: 1}}
	var rows []analysis.Row // of what is printed as in other tables
	for i, w := range g.Modes {
		name.cells = append(name.cells, Cell{Text: sendModes[w.Kind].name})
		rows = append(rows, analysis.Row{Value: w.Rate, Ratio: w.Step})
		what.cells = append(what.cells, Cell{})
		if i > 0 {
			what.cells[i].Text = changes(g, i)
		}
	}
	rate := numbers("throughput", "bit/s", 8, rows, func(r analysis.Row) (float64, bool) { return r.Value.Center, r.Value.N > 0 })
	rate.Kind = "value"
	cs := append([]column{name, rate}, ratios(rows, "step", func(r analysis.Row) (stat.Interval, bool) { return r.Ratio, r.Ratio.Contains(1) })...)
	return append(cs, perMode("time", "s/packet", 7, g.Modes, func(w analysis.SendMode) float64 { return w.Time }),
		perMode("together", "packet", 7, g.Modes, func(w analysis.SendMode) float64 { return w.Together }), what)
}

// gapExtra has a row for each send mode with a known extra cost.
func gapExtra(g analysis.Gap) []column {
	known := slices.DeleteFunc(slices.Clone(g.Extra), func(e analysis.Extra) bool { return e.Time.N == 0 })
	if len(known) == 0 {
		return nil
	}
	name := column{Column: Column{Head: "send mode", Left: true, Whole: true, Kind: "name", Keep: 9}}
	var rows []analysis.Row
	for _, e := range known {
		name.cells = append(name.cells, Cell{Text: sendModes[e.Kind].name})
		rows = append(rows, analysis.Row{Value: e.Time})
	}
	return []column{name,
		perMode("more time", "s/packet", 9, known, func(e analysis.Extra) float64 { return e.Time.Center }), valueSpans("s/packet", rows),
		perMode("together", "packet", 8, known, func(e analysis.Extra) float64 { return e.Together }),
		perMode("per pass", "s", 8, known, func(e analysis.Extra) float64 {
			if !adds(e) {
				return 0
			}
			return e.PerPass()
		}),
		perMode("more CPU", "s/packet", 5, known, func(e analysis.Extra) float64 { return e.CPU })}
}

// perMode is a column of numbers; 0 is not known.
func perMode[T any](head, base string, keep int, of []T, get func(T) float64) column {
	var rows []analysis.Row
	for _, x := range of {
		rows = append(rows, analysis.Row{Value: stat.Interval{Center: get(x)}})
	}
	return numbers(head, base, keep, rows, func(r analysis.Row) (float64, bool) { return r.Value.Center, r.Value.Center != 0 })
}
