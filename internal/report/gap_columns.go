package report

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// modeNames is a first column whose names are shortened last.
func modeNames[T any](of []T, kind func(T) string) column {
	c := names("send mode", of, func(x T) string { return sendModes[kind(x)].name })
	c.Whole = true
	return c
}

// gapSteps has a row for each send mode.
func gapSteps(g analysis.Gap) []column {
	rate := numbers("throughput", "bit/s", 8, g.Modes, func(m analysis.SendMode) (float64, bool) { return center(m.Rate) })
	rate.Kind = "value"
	what := column{Column{Head: "what the step changes", Left: true, Keep: 1}, make([]Cell, len(g.Modes))}
	for i := range g.Modes[1:] {
		what.cells[i+1].Text = changes(g, i+1)
	}
	cs := []column{modeNames(g.Modes, func(m analysis.SendMode) string { return m.Kind }), rate}
	cs = append(cs, ratios(g.Modes, "step", func(m analysis.SendMode) (stat.Interval, bool) { return m.Step, m.Step.Contains(1) })...)
	return append(cs, numbers("time", "s/packet", 7, g.Modes, func(m analysis.SendMode) (float64, bool) { return known(m.Time) }),
		numbers("together", "packet", 7, g.Modes, func(m analysis.SendMode) (float64, bool) { return known(m.Together) }), what)
}

// gapExtra has a row for each send mode with a known extra cost.
func gapExtra(g analysis.Gap) []column {
	extra := slices.DeleteFunc(slices.Clone(g.Extra), func(e analysis.Extra) bool { return e.Time.N == 0 })
	if len(extra) == 0 {
		return nil
	}
	return []column{
		modeNames(extra, func(e analysis.Extra) string { return e.Kind }),
		numbers("more time", "s/packet", 9, extra, func(e analysis.Extra) (float64, bool) { return known(e.Time.Center) }),
		intervals("s/packet", extra, func(e analysis.Extra) stat.Interval { return e.Time }),
		numbers("together", "packet", 8, extra, func(e analysis.Extra) (float64, bool) { return known(e.Together) }),
		numbers("per pass", "s", 8, extra, func(e analysis.Extra) (float64, bool) { return e.PerPass(), adds(e) && e.PerPass() != 0 }),
		numbers("more CPU", "s/packet", 5, extra, func(e analysis.Extra) (float64, bool) { return known(e.CPU) }),
	}
}

// known reports whether a number is known, which 0 is not.
func known(v float64) (float64, bool) { return v, v != 0 }
