package section

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// columns lays out the table of one probe under one combination of levels.
func columns(t analysis.Table, baseline string) []doc.Filled {
	rows := t.Rows
	value := doc.Numbers(MetricName(t.Metric), t.Unit, 9, rows, median)
	value.Kind = "value"
	for i, r := range rows {
		value.Cells[i].Bounds(r.Value)
	}
	out := []doc.Filled{doc.Names("network", rows, func(r analysis.Row) string { return r.Network }), value}
	out = append(out, doc.Ratios(rows, "÷ "+baseline, ratioOf)...)
	out = append(out, doc.Layout(doc.Column{Left: true, Keep: 8}, rows, func(r analysis.Row) doc.Cell {
		return doc.Cell{Text: prose.List(marks(r))}
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
		out = append(out, doc.Share("of ceiling", 6, rows, func(r analysis.Row) (float64, bool) {
			c := r.Wire.Ceiling
			return r.Value.Center / max(c, 1), c > 0 && r.Value.N > 0
		}))
	}
	out = append(out, cpuColumns(rows, baseline)...)
	out = append(out, doc.Numbers("mean answer", "byte", 4, rows, middle(record.SizeMean)))
	out = append(out, doc.Numbers("packet", "byte", 2, rows, middle(record.PacketSize)))
	// The background load took a share of the CPUs, and delivered a rate.
	out = append(out, doc.Share("CPU taken", 6, rows, middle(record.StressTaken)),
		doc.Numbers("load", unitOf(rows, record.LoadDelivered), 6, rows, middle(record.LoadDelivered)))
	out = append(out, clientColumns(rows)...)
	return append(out, doc.Layout(doc.Column{Head: say("ok"), Kind: "blocks", Keep: 8}, rows, func(r analysis.Row) doc.Cell {
		return doc.Cell{Text: fmt.Sprintf("%d/%d", r.Counted(), r.Trials()), Value: doc.Number(float64(r.Counted()))}
	}))
}

// percentile returns a percentile of response times and, of a tail, its interval. The median over
// blocks has an interval already.
func percentile(head string, keep int, rows []analysis.Row, p float64) []doc.Filled {
	value := doc.Numbers(head, "s", keep, rows, func(r analysis.Row) (float64, bool) { return r.Percentile(p) })
	for i, r := range rows {
		value.Cells[i].Bounds(r.PercentileInterval(p))
	}
	out := []doc.Filled{value}
	if interval := doc.Intervals("s", rows, func(r analysis.Row) stat.Interval { return r.PercentileInterval(p) }); p > 0.5 {
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

func median(r analysis.Row) (float64, bool) { return doc.Center(r.Value) }

func ratioOf(r analysis.Row) (stat.Interval, bool) { return r.Ratio, r.Same }
