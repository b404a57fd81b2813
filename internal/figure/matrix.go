package figure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

func (r Result) matrix(g []Point, look Look) chart.Heat {
	factor, axis := r.scale(g, look)
	c := chart.Heat{Top: r.top(look), Axis: axis, Alt: word(r.Caption), From: say("from"), To: say("to")}
	var from, to []string
	for _, p := range g {
		a, b, _ := strings.Cut(p.Levels[ends], "-")
		if !slices.Contains(from, a) {
			from = append(from, a)
		}
		if !slices.Contains(to, b) {
			to = append(to, b)
		}
	}
	order := func(names []string) { // as in the study
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(r.endPlace(a), r.endPlace(b)) })
	}
	order(from)
	order(to)
	c.Rows, c.Columns = from, to
	for _, a := range from {
		var row []chart.Square
		for _, b := range to {
			i := slices.IndexFunc(g, func(p Point) bool { return p.Levels[ends] == a+"-"+b })
			row = append(row, chart.Square{})
			if i < 0 {
				continue
			}
			v, marks, ok := g[i].shown(look)
			if !ok {
				continue
			}
			lines := []string{unit.Format(g[i].Value.Center, g[i].Unit)}
			switch {
			case !look.Absolute && v.Bounded:
				lines = []string{ratioText(v.Value, 2), prose.Bracket(stat.Interval{Lo: v.Lo, Hi: v.Hi}, 2), lines[0]}
			case !look.Absolute:
				lines = []string{ratioText(v.Value, 2), lines[0]}
			}
			for _, m := range marks {
				lines = append(lines, "◇ "+fixed(m, 2))
			}
			row[len(row)-1] = chart.Square{Value: v.Value * factor, Label: strings.Join(lines, "\n")}
		}
		c.Cells = append(c.Cells, row)
	}
	return c
}

// endPlace is where a name first stands among the ends of the study.
func (r Result) endPlace(name string) int {
	return slices.IndexFunc(r.levels(ends), func(l string) bool { a, b, _ := strings.Cut(l, "-"); return a == name || b == name })
}

// top returns the largest ratio, so that equal ratios have equal colors in all panels; 0 for values,
// whose unit can differ by panel.
func (r Result) top(look Look) (top float64) {
	if look.Absolute {
		return 0
	}
	for _, p := range r.Points {
		if row, _, ok := p.shown(look); ok {
			top = max(top, row.Value)
		}
	}
	return top
}
