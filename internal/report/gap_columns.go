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
	for i, m := range g.Modes {
		name.cells = append(name.cells, Cell{Text: sendModes[m.Kind].name})
		what.cells = append(what.cells, Cell{})
		if i > 0 {
			what.cells[i].Text = changes(g, i)
		}
	}
	rate := numbers("throughput", "bit/s", 8, g.Modes, func(m analysis.SendMode) (float64, bool) { return center(m.Rate) })
	rate.Kind = "value"
	cs := append([]column{name, rate}, ratios(g.Modes, "step", func(m analysis.SendMode) (stat.Interval, bool) { return m.Step, m.Step.Contains(1) })...)
	return append(cs, numbers("time", "s/packet", 7, g.Modes, func(m analysis.SendMode) (float64, bool) { return known(m.Time) }),
		numbers("together", "packet", 7, g.Modes, func(m analysis.SendMode) (float64, bool) { return known(m.Together) }), what)
}

// gapExtra has a row for each send mode with a known extra cost.
func gapExtra(g analysis.Gap) []column {
	extra := slices.DeleteFunc(slices.Clone(g.Extra), func(e analysis.Extra) bool { return e.Time.N == 0 })
	if len(extra) == 0 {
		return nil
	}
	name := column{Column: Column{Head: "send mode", Left: true, Whole: true, Kind: "name", Keep: 9}}
	var times []stat.Interval
	for _, e := range extra {
		name.cells = append(name.cells, Cell{Text: sendModes[e.Kind].name})
		times = append(times, e.Time)
	}
	return []column{name,
		numbers("more time", "s/packet", 9, extra, func(e analysis.Extra) (float64, bool) { return known(e.Time.Center) }), intervals("s/packet", times),
		numbers("together", "packet", 8, extra, func(e analysis.Extra) (float64, bool) { return known(e.Together) }),
		numbers("per pass", "s", 8, extra, func(e analysis.Extra) (float64, bool) { return e.PerPass(), adds(e) && e.PerPass() != 0 }),
		numbers("more CPU", "s/packet", 5, extra, func(e analysis.Extra) (float64, bool) { return known(e.CPU) })}
}

// known reports whether a number is known, which 0 is not.
func known(v float64) (float64, bool) { return v, v != 0 }
