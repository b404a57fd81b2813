package report

import (
	"fmt"
	"math"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// A column of a table, the same on a page and in a terminal.
type column struct {
	Head, Unit string
	Left       bool // aligned
	Whole      bool // names that are shortened last
	Class      string
	keep       int // columns with a smaller number go first where room is short
	Cells      []string
}

// columns lays a table out.
func columns(t analysis.Table, baseline string) []column {
	rows := t.Rows
	names := column{Head: "network", Left: true, Class: "name", keep: 9}
	for _, r := range rows {
		names.Cells = append(names.Cells, r.Network)
	}
	out := []column{names}
	value := numbers(metricName(t.Metric), t.Unit, rows, func(r analysis.Row) (float64, bool) { return r.Value.Center, r.Value.N > 0 })
	value.Class, value.keep = "value", 9
	out = append(out, value)
	out = append(out, ratios(rows, "÷ "+baseline, func(r analysis.Row) (stat.Interval, bool) { return r.Ratio, r.Same })...)
	out = append(out, splitColumns(rows, baseline)...)
	if hasHist(rows) {
		for i, p := range []float64{0.5, 0.99, 0.999} {
			c := numbers("p"+[]string{"50", "99", "99.9"}[i], "s", rows, func(r analysis.Row) (float64, bool) { return r.Percentile(p) })
			c.keep = 6 - i%2
			out = append(out, c)
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
		c := cost(rows, name)
		c.keep = 5 - i
		out = append(out, c)
	}
	size := numbers("packet", "byte", rows, func(r analysis.Row) (float64, bool) {
		s, ok := r.Get("packet.size")
		return s.Median, ok
	})
	size.keep = 2
	out = append(out, size)
	out = append(out, companionColumns(rows)...)
	out = append(out, clientColumns(rows)...)
	blocks := column{Head: "ok", Class: "blocks", keep: 8}
	for _, r := range rows {
		blocks.Cells = append(blocks.Cells, fmt.Sprintf("%d/%d", r.OK, r.Trials()))
	}
	out = append(out, blocks)
	return filled(out)
}

// companionColumns are what ran beside the trials did: the share of the CPUs that was
// taken, and what a load delivered.
func companionColumns(rows []analysis.Row) []column {
	taken := share("CPU taken", 6, rows, func(r analysis.Row) (float64, bool) {
		s, ok := r.Get("stress.taken")
		return s.Median, ok
	})
	base := ""
	for _, r := range rows {
		if s, ok := r.Get("load.delivered"); ok {
			base = s.Unit
		}
	}
	load := numbers("load", base, rows, func(r analysis.Row) (float64, bool) {
		s, ok := r.Get("load.delivered")
		return s.Median, ok
	})
	load.keep = 6
	return []column{taken, load}
}

// numbers is a column of one unit, chosen for its largest value. The decimals
// are equal, so that the digits stand below each other.
func numbers(head, base string, rows []analysis.Row, get func(analysis.Row) (float64, bool)) column {
	var vs []float64
	top := 0.0
	for _, r := range rows {
		if v, ok := get(r); ok {
			vs = append(vs, v)
			top = max(top, math.Abs(v))
		}
	}
	factor, label := unit.Scale(top, base)
	for i := range vs {
		vs[i] *= factor
	}
	c := column{Head: head, Unit: label}
	d := decimals(vs)
	for _, r := range rows {
		cell := ""
		if v, ok := get(r); ok {
			cell = fixed(v*factor, d)
		}
		c.Cells = append(c.Cells, cell)
	}
	return c
}

// cost is the column of CPU time per unit of work, in the unit that it came with.
func cost(rows []analysis.Row, name string) column {
	base := ""
	for _, r := range rows {
		if _, u, ok := r.Per(name); ok {
			base = u
		}
	}
	return numbers("CPU", base, rows, func(r analysis.Row) (float64, bool) {
		v, _, ok := r.Per(name)
		return v, ok
	})
}

func share(head string, keep int, rows []analysis.Row, get func(analysis.Row) (float64, bool)) column {
	c := column{Head: head, keep: keep}
	for _, r := range rows {
		cell := ""
		if v, ok := get(r); ok {
			cell = percent(v)
		}
		c.Cells = append(c.Cells, cell)
	}
	return c
}

// ratios returns a ratio, its interval, and the mark of no difference.
func ratios(rows []analysis.Row, head string, get func(analysis.Row) (ratio stat.Interval, same bool)) []column {
	d := 2
	for _, r := range rows {
		i, _ := get(r)
		d = max(d, ratioDigits(i))
	}
	ratio := column{Head: head, Class: "ratio", keep: 9}
	interval := column{Head: "interval", Class: "interval", keep: 9}
	same := column{Class: "same", keep: 9}
	for _, r := range rows {
		x, i, s := "", "", ""
		v, equal := get(r)
		if v.N > 0 {
			x = fixed(v.Center, d) + "×"
		}
		if v.Bounded() {
			i = bracket(v, d)
		}
		if equal {
			s = "~"
		}
		ratio.Cells, interval.Cells, same.Cells = append(ratio.Cells, x), append(interval.Cells, i), append(same.Cells, s)
	}
	return []column{ratio, interval, same}
}

// filled drops columns without a cell.
func filled(cs []column) []column {
	var out []column
	for _, c := range cs {
		for _, s := range c.Cells {
			if s != "" {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

func hasHist(rows []analysis.Row) bool {
	for _, r := range rows {
		if r.Hist != nil {
			return true
		}
	}
	return false
}
