package doc

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// InOneUnit returns a unit chosen for the largest of several values: its factor, its name and a
// common number of decimals.
func InOneUnit(base string, vs []float64) (factor float64, label string, digits int) {
	top := 0.0
	for _, v := range vs {
		top = max(top, math.Abs(v))
	}
	factor, label = unit.Scale(top, base)
	return factor, label, unit.Decimals(4, factor, vs...)
}

// Numbers is a column of values in one unit, which is chosen for the largest of them.
func Numbers[T any](head, base string, keep int, of []T, get func(T) (float64, bool)) Filled {
	var vs []float64
	for _, x := range of {
		if v, ok := get(x); ok {
			vs = append(vs, v)
		}
	}
	factor, label, d := InOneUnit(base, vs)
	return Layout(Column{Head: word(head), Unit: label, Base: base, Keep: keep}, of, func(x T) (c Cell) {
		if v, ok := get(x); ok {
			c = Cell{Text: prose.Fixed(v*factor, d), Value: Number(v)}
		}
		return c
	})
}

// Center returns the estimate of an interval, false if there is none.
func Center(i stat.Interval) (float64, bool) { return i.Center, i.N > 0 }

// Bounds sets the ends of a cell's interval.
func (c *Cell) Bounds(i stat.Interval) {
	if i.Bounded() {
		c.Low, c.High = Number(i.Lo), Number(i.Hi)
	}
}

// Share is a column of parts of a whole.
func Share[T any](head string, keep int, of []T, get func(T) (float64, bool)) Filled {
	return Layout(Column{Head: word(head), Base: "1", Keep: keep}, of, func(x T) (c Cell) {
		if v, ok := get(x); ok {
			c = Cell{Text: prose.Percent(v), Value: Number(v)}
		}
		return c
	})
}

// Ratios returns a ratio, its interval, and the mark of no difference. Every ratio has the digits that its own interval
// supports, not those of its neighbors. Where no ratio has an interval, the column of intervals stays empty and is left out: the
// table's notes say why.
func Ratios[T any](of []T, head string, get func(T) (ratio stat.Interval, same bool)) []Filled {
	some := slices.ContainsFunc(of, func(x T) bool { i, _ := get(x); return i.Bounded() })
	one := func(c Column, cell func(ratio stat.Interval, same bool) Cell) Filled {
		return Layout(c, of, func(x T) Cell { return cell(get(x)) })
	}
	return []Filled{
		one(Column{Head: word(head), Base: "1", Kind: "ratio", Keep: 9}, func(i stat.Interval, _ bool) Cell { return RatioCell(i) }),
		one(Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 9}, func(i stat.Interval, _ bool) Cell {
			if !some {
				return Cell{}
			}
			return RatioIntervalCell(i)
		}),
		one(Column{Kind: "same", Keep: 9}, func(_ stat.Interval, same bool) Cell { return Cell{Text: Mark(same)} }),
	}
}

// Mark is the mark of no difference.
func Mark(same bool) string {
	if same {
		return "~"
	}
	return ""
}

// RatioCell is a ratio: "2.22×".
func RatioCell(i stat.Interval) (c Cell) {
	if i.N > 0 {
		c = Cell{Text: prose.Ratio(i), Value: Number(i.Center)}
	}
	return c
}

// RatioIntervalCell is the interval of a ratio, "none" where a ratio has none.
func RatioIntervalCell(i stat.Interval) (c Cell) {
	switch {
	case i.Bounded():
		c.Bounds(i)
		c.Text = prose.RatioBrackets(i)
	case i.N > 0:
		c.Text = say("none")
	}
	return c
}

// IntervalCell is an interval, in a unit by factor.
func IntervalCell(i stat.Interval, factor float64, digits int) (c Cell) {
	if i.Bounded() {
		c.Bounds(i)
		i.Lo, i.Hi = i.Lo*factor, i.Hi*factor
		c.Text = prose.Bracket(i, digits)
	}
	return c
}

// Intervals is a column of the intervals of Numbers.
func Intervals[T any](base string, of []T, get func(T) stat.Interval) Filled {
	var vs []float64
	for _, x := range of {
		if v, ok := Center(get(x)); ok {
			vs = append(vs, v)
		}
	}
	factor, _, d := InOneUnit(base, vs)
	return Layout(Column{Head: say("interval"), Base: base, Kind: "interval", Keep: 5}, of, func(x T) Cell {
		return IntervalCell(get(x), factor, d)
	})
}
