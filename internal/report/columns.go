package report

import (
	"fmt"
	"math"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// columns lays out the table of one probe under one combination of levels.
func columns(t analysis.Table, baseline string) []column {
	rows := t.Rows
	names := column{Column: Column{Head: "network", Left: true, Kind: "name", Keep: 9}}
	for _, r := range rows {
		names.cells = append(names.cells, Cell{Text: r.Network})
	}
	value := numbers(metricName(t.Metric), t.Unit, 9, rows, median)
	value.Kind = "value"
	for i, r := range rows {
		value.cells[i].bounds(r.Value)
	}
	out := append([]column{names, value}, ratios(rows, "÷ "+baseline, ratioOf)...)
	out = append(out, splitColumns(rows, baseline)...)
	if hasHist(rows) {
		for i, p := range []float64{0.5, 0.99, 0.999} {
			out = append(out, numbers("p"+[]string{"50", "99", "99.9"}[i], "s", 6-i%2, rows, func(r analysis.Row) (float64, bool) { return r.Percentile(p) }))
		}
	}
	out = append(out, share("loss", 7, rows, analysis.Row.Loss))
	out = append(out, scheduleColumns(rows)...)
	if t.Unit == "bit/s" || t.Unit == "packet/s" {
		out = append(out, share("of ceiling", 6, rows, func(r analysis.Row) (float64, bool) {
			c := r.Wire.Ceiling
			return r.Value.Center / max(c, 1), c > 0 && r.Value.N > 0
		}))
	}
	for i, name := range []string{"cpu.per.packet", "cpu.per.transaction", "cpu.per.bit"} {
		out = append(out, cost(5-i, rows, name))
	}
	out = append(out, numbers("packet", "byte", 2, rows, middle("packet.size")))
	out = append(out, backgroundColumns(rows)...)
	out = append(out, clientColumns(rows)...)
	blocks := column{Column: Column{Head: "ok", Kind: "blocks", Keep: 8}}
	for _, r := range rows {
		blocks.cells = append(blocks.cells, Cell{Text: fmt.Sprintf("%d/%d", r.OK, r.Trials()), Value: number(float64(r.OK))})
	}
	return append(out, blocks)
}

// backgroundColumns are the effects of what ran during the trials: the share of the
// CPUs that it took and the rate that it delivered.
func backgroundColumns(rows []analysis.Row) []column {
	return []column{share("CPU taken", 6, rows, middle("stress.taken")),
		numbers("load", unitOf(rows, "load.delivered"), 6, rows, middle("load.delivered"))}
}

// middle gets the median over blocks of a named value.
func middle(name string) func(analysis.Row) (float64, bool) {
	return func(r analysis.Row) (float64, bool) {
		s, ok := r.Get(name)
		return s.Median, ok
	}
}

// unitOf is the unit of a named value, "" where no row has it.
func unitOf(rows []analysis.Row, name string) (unit string) {
	for _, r := range rows {
		if s, ok := r.Get(name); ok {
			unit = s.Unit
		}
	}
	return unit
}

// inOneUnit returns the unit of values that a reader compares, chosen for the largest,
// as a factor and its name, and their common number of decimals, so that digits align.
func inOneUnit(base string, vs []float64) (factor float64, label string, digits int) {
	top := 0.0
	for _, v := range vs {
		top = max(top, math.Abs(v))
	}
	factor, label = unit.Scale(top, base)
	scaled := make([]float64, len(vs))
	for i, v := range vs {
		scaled[i] = v * factor
	}
	return factor, label, decimals(scaled)
}

// numbers is a column in one unit.
func numbers[T any](head, base string, keep int, of []T, get func(T) (float64, bool)) column {
	var vs []float64
	for _, x := range of {
		if v, ok := get(x); ok {
			vs = append(vs, v)
		}
	}
	factor, label, d := inOneUnit(base, vs)
	c := column{Column{Head: head, Unit: label, Base: base, Keep: keep}, make([]Cell, len(of))}
	for i, x := range of {
		if v, ok := get(x); ok {
			c.cells[i] = Cell{Text: fixed(v*factor, d), Value: number(v)}
		}
	}
	return c
}

// center gets the estimate of an interval, if there is one.
func center(i stat.Interval) (float64, bool) { return i.Center, i.N > 0 }

// median gets the value of a row.
func median(r analysis.Row) (float64, bool) { return center(r.Value) }

// ratioOf gets the ratio of a row.
func ratioOf(r analysis.Row) (stat.Interval, bool) { return r.Ratio, r.Same }

// bounds adds the interval to the numbers of a cell.
func (c *Cell) bounds(i stat.Interval) {
	if i.Bounded() {
		c.Low, c.High = number(i.Lo), number(i.Hi)
	}
}

// cost is the column of CPU time per unit of work, in the unit of the value called name.
func cost(keep int, rows []analysis.Row, name string) column {
	base := ""
	for _, r := range rows {
		if _, u, ok := r.Per(name); ok {
			base = u
		}
	}
	return numbers("CPU", base, keep, rows, func(r analysis.Row) (float64, bool) {
		v, _, ok := r.Per(name)
		return v, ok
	})
}

func share(head string, keep int, rows []analysis.Row, get func(analysis.Row) (float64, bool)) column {
	c := column{Column{Head: head, Base: "1", Keep: keep}, make([]Cell, len(rows))}
	for i, r := range rows {
		if v, ok := get(r); ok {
			c.cells[i] = Cell{Text: percent(v), Value: number(v)}
		}
	}
	return c
}

// ratios returns a ratio, its interval, and the mark of no difference.
func ratios[T any](of []T, head string, get func(T) (ratio stat.Interval, same bool)) []column {
	d := 2
	for _, x := range of {
		i, _ := get(x)
		d = max(d, ratioDigits(i))
	}
	n := len(of)
	ratio := column{Column{Head: head, Base: "1", Kind: "ratio", Keep: 9}, make([]Cell, n)}
	interval := column{Column{Head: "interval", Base: "1", Kind: "interval", Keep: 9}, make([]Cell, n)}
	same := column{Column{Kind: "same", Keep: 9}, make([]Cell, n)}
	for i, x := range of {
		v, equal := get(x)
		if v.N > 0 {
			ratio.cells[i] = Cell{Text: fixed(v.Center, d) + "×", Value: number(v.Center)}
		}
		if v.Bounded() {
			interval.cells[i].Text = bracket(v, d)
			interval.cells[i].bounds(v)
		}
		if equal {
			same.cells[i].Text = "~"
		}
	}
	return []column{ratio, interval, same}
}

// intervals is the column of the intervals of values, in the unit of the values.
func intervals(base string, of []stat.Interval) column {
	var vs []float64
	for _, i := range of {
		if v, ok := center(i); ok {
			vs = append(vs, v)
		}
	}
	factor, _, d := inOneUnit(base, vs)
	c := column{Column{Head: "interval", Base: base, Kind: "interval", Keep: 5}, make([]Cell, len(of))}
	for n, i := range of {
		if i.Bounded() {
			c.cells[n].bounds(i)
			i.Lo, i.Hi = i.Lo*factor, i.Hi*factor
			c.cells[n].Text = bracket(i, d)
		}
	}
	return c
}

func hasHist(rows []analysis.Row) bool {
	for _, r := range rows {
		if r.Hist != nil {
			return true
		}
	}
	return false
}
