package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// columns lays out the table of one probe under one combination of levels.
func columns(t analysis.Table, baseline string) []column {
	rows := t.Rows
	value := numbers(metricName(t.Metric), t.Unit, 9, rows, median)
	value.Kind = "value"
	for i, r := range rows {
		value.cells[i].bounds(r.Value)
	}
	out := []column{names("network", rows, func(r analysis.Row) string { return r.Network }), value}
	out = append(out, ratios(rows, "÷ "+baseline, ratioOf)...)
	out = append(out, layout(Column{Left: true, Keep: 8}, rows, func(r analysis.Row) Cell {
		return Cell{Text: list(marks(r))}
	}))
	out = append(out, splitColumns(rows, baseline)...)
	if slices.ContainsFunc(rows, func(r analysis.Row) bool { return r.Hist != nil }) {
		for i, p := range []float64{0.5, 0.99, 0.999} {
			out = append(out, percentile("p"+[]string{"50", "99", "99.9"}[i], 6-i%2, rows, p)...)
		}
	}
	out = append(out, echoColumns(rows)...)
	out = append(out, lossColumns(rows)...)
	out = append(out, scheduleColumns(rows)...)
	if t.Unit == "bit/s" || t.Unit == "packet/s" {
		out = append(out, share("of ceiling", 6, rows, func(r analysis.Row) (float64, bool) {
			c := r.Wire.Ceiling
			return r.Value.Center / max(c, 1), c > 0 && r.Value.N > 0
		}))
	}
	out = append(out, cpuColumns(rows, baseline)...)
	out = append(out, numbers("packet", "byte", 2, rows, middle(record.PacketSize)))
	// The background load took a share of the CPUs, and delivered a rate.
	out = append(out, share("CPU taken", 6, rows, middle(record.StressTaken)),
		numbers("load", unitOf(rows, record.LoadDelivered), 6, rows, middle(record.LoadDelivered)))
	out = append(out, clientColumns(rows)...)
	return append(out, layout(Column{Head: say("ok"), Kind: "blocks", Keep: 8}, rows, func(r analysis.Row) Cell {
		return Cell{Text: fmt.Sprintf("%d/%d", r.Counted(), r.Trials()), Value: number(float64(r.Counted()))}
	}))
}

// percentile returns a percentile of response times and, of a tail, its interval. The median over
// blocks has an interval already.
func percentile(head string, keep int, rows []analysis.Row, p float64) []column {
	value := numbers(head, "s", keep, rows, func(r analysis.Row) (float64, bool) { return r.Percentile(p) })
	for i, r := range rows {
		value.cells[i].bounds(r.PercentileInterval(p))
	}
	out := []column{value}
	if interval := intervals("s", rows, func(r analysis.Row) stat.Interval { return r.PercentileInterval(p) }); p > 0.5 {
		interval.Keep = 3
		out = append(out, interval)
	}
	return out
}

// middle gets the median over blocks of a named value.
func middle(q record.Quantity) func(analysis.Row) (float64, bool) {
	return func(r analysis.Row) (float64, bool) {
		s, ok := r.Get(q)
		return s.Median, ok
	}
}

// unitOf returns the unit of a named value, "" if no row has it.
func unitOf(rows []analysis.Row, q record.Quantity) (unit string) {
	for _, r := range rows {
		if s, ok := r.Get(q); ok {
			unit = s.Unit
		}
	}
	return unit
}

// inOneUnit returns a unit chosen for the largest of several values: its factor, its name and a
// common number of decimals.
func inOneUnit(base string, vs []float64) (factor float64, label string, digits int) {
	top := 0.0
	for _, v := range vs {
		top = max(top, math.Abs(v))
	}
	factor, label = unit.Scale(top, base)
	return factor, label, unit.Decimals(4, factor, vs...)
}

func numbers[T any](head, base string, keep int, of []T, get func(T) (float64, bool)) column {
	var vs []float64
	for _, x := range of {
		if v, ok := get(x); ok {
			vs = append(vs, v)
		}
	}
	factor, label, d := inOneUnit(base, vs)
	return layout(Column{Head: word(head), Unit: label, Base: base, Keep: keep}, of, func(x T) (c Cell) {
		if v, ok := get(x); ok {
			c = Cell{Text: fixed(v*factor, d), Value: number(v)}
		}
		return c
	})
}

func center(i stat.Interval) (float64, bool) { return i.Center, i.N > 0 }

func median(r analysis.Row) (float64, bool) { return center(r.Value) }

func ratioOf(r analysis.Row) (stat.Interval, bool) { return r.Ratio, r.Same }

func (c *Cell) bounds(i stat.Interval) {
	if i.Bounded() {
		c.Low, c.High = number(i.Lo), number(i.Hi)
	}
}

func share(head string, keep int, rows []analysis.Row, get func(analysis.Row) (float64, bool)) column {
	return layout(Column{Head: word(head), Base: "1", Keep: keep}, rows, func(r analysis.Row) (c Cell) {
		if v, ok := get(r); ok {
			c = Cell{Text: percent(v), Value: number(v)}
		}
		return c
	})
}

// ratios returns a ratio, its interval, and the mark of no difference.
func ratios[T any](of []T, head string, get func(T) (ratio stat.Interval, same bool)) []column {
	d := 2
	for _, x := range of {
		i, _ := get(x)
		d = max(d, ratioDigits(i))
	}
	one := func(c Column, cell func(ratio stat.Interval, same bool) Cell) column {
		return layout(c, of, func(x T) Cell { return cell(get(x)) })
	}
	return []column{
		one(Column{Head: word(head), Base: "1", Kind: "ratio", Keep: 9}, func(i stat.Interval, _ bool) Cell { return ratioCell(i, d) }),
		one(Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 9}, func(i stat.Interval, _ bool) Cell { return intervalCell(i, 1, d) }),
		one(Column{Kind: "same", Keep: 9}, func(_ stat.Interval, same bool) Cell { return Cell{Text: mark(same)} }),
	}
}

func mark(same bool) string {
	if same {
		return "~"
	}
	return ""
}

func ratioCell(i stat.Interval, digits int) (c Cell) {
	if i.N > 0 {
		c = Cell{Text: fixed(i.Center, digits) + "×", Value: number(i.Center)}
	}
	return c
}

func intervalCell(i stat.Interval, factor float64, digits int) (c Cell) {
	if i.Bounded() {
		c.bounds(i)
		i.Lo, i.Hi = i.Lo*factor, i.Hi*factor
		c.Text = bracket(i, digits)
	}
	return c
}

func intervals[T any](base string, of []T, get func(T) stat.Interval) column {
	var vs []float64
	for _, x := range of {
		if v, ok := center(get(x)); ok {
			vs = append(vs, v)
		}
	}
	factor, _, d := inOneUnit(base, vs)
	return layout(Column{Head: say("interval"), Base: base, Kind: "interval", Keep: 5}, of, func(x T) Cell {
		return intervalCell(get(x), factor, d)
	})
}
