package report

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// gapSteps has a line for each way.
func gapSteps(g analysis.Gap) []column {
	name := column{Head: "way", Left: true, Whole: true, Class: "name", keep: 9}
	what := column{Head: "what the step changes", Left: true, keep: 1}
	var rows []analysis.Row // of what is printed as in other tables
	for i, w := range g.Modes {
		name.Cells = append(name.Cells, wayWords[w.Kind].name)
		rows = append(rows, analysis.Row{Value: w.Rate, Ratio: w.Step})
		if i == 0 {
			what.Cells = append(what.Cells, "")
		} else {
			what.Cells = append(what.Cells, changes(g, i))
		}
	}
	rate := numbers("throughput", "bit/s", rows, func(r analysis.Row) (float64, bool) { return r.Value.Center, r.Value.N > 0 })
	rate.Class, rate.keep = "value", 8
	cs := append([]column{name, rate}, ratios(rows, "step", func(r analysis.Row) (stat.Interval, bool) { return r.Ratio, r.Ratio.Contains(1) })...)
	cs = append(cs, perWay("time", "s/packet", 7, g.Modes, func(w analysis.SendMode) float64 { return w.Time }),
		perWay("together", "packet", 7, g.Modes, func(w analysis.SendMode) float64 { return w.Together }), what)
	return filled(cs)
}

// gapExtra has a line for each way of which it is known what the network adds.
func gapExtra(g analysis.Gap) []column {
	known := slices.DeleteFunc(slices.Clone(g.Extra), func(e analysis.Extra) bool { return e.Time.N == 0 })
	if len(known) == 0 {
		return nil
	}
	name := column{Head: "way", Left: true, Whole: true, Class: "name", keep: 9}
	var rows []analysis.Row
	for _, e := range known {
		name.Cells = append(name.Cells, wayWords[e.Kind].name)
		rows = append(rows, analysis.Row{Value: e.Time})
	}
	return filled([]column{name,
		perWay("more time", "s/packet", 9, known, func(e analysis.Extra) float64 { return e.Time.Center }), valueSpans("s/packet", rows),
		perWay("together", "packet", 8, known, func(e analysis.Extra) float64 { return e.Together }),
		perWay("per pass", "s", 8, known, func(e analysis.Extra) float64 {
			if !adds(e) {
				return 0
			}
			return e.PerPass()
		}),
		perWay("more CPU", "s/packet", 5, known, func(e analysis.Extra) float64 { return e.CPU })})
}

// perWay is a column of numbers; 0 is not known.
func perWay[T any](head, base string, keep int, of []T, get func(T) float64) column {
	var rows []analysis.Row
	for _, x := range of {
		rows = append(rows, analysis.Row{Value: stat.Interval{Center: get(x)}})
	}
	c := numbers(head, base, rows, func(r analysis.Row) (float64, bool) { return r.Value.Center, r.Value.Center != 0 })
	c.keep = keep
	return c
}
