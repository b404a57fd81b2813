package section

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// cpuNames are the machine's costs, in the order of their columns.
var cpuNames = []record.Quantity{record.CPUPerPacket, record.CPUPerTransaction, record.CPUPerBit}

// unresolved stands for a cost that the counters cannot distinguish from 0.
var unresolved = say("unresolved")

var unresolvedNote = say("CPU %s: this cost is within the error of /proc/stat, or below what the idle machine uses", unresolved)

// cpuColumns returns the CPU time per unit of work of the machines and of the engine's own threads,
// each with its interval, and the ratio of the latter to the baseline.
func cpuColumns(rows []analysis.Row, baseline string) (out []doc.Filled) {
	for i, name := range cpuNames {
		out = append(out, costAndInterval("CPU", 5-i, rows, func(r analysis.Row) (stat.Interval, string, bool) {
			c, ok := r.CostPer(name)
			if c.Unresolved {
				c.Interval = stat.Interval{}
			}
			return c.Interval, c.Unit, ok
		})...)
	}
	out = append(out, costAndInterval("own CPU", 5, rows, func(r analysis.Row) (stat.Interval, string, bool) {
		return r.Own.Value, r.Own.Unit, r.Own.Value.N > 0
	})...)
	ratio := doc.Ratios(rows, "÷ "+baseline, func(r analysis.Row) (stat.Interval, bool) { return r.Own.Ratio, r.Own.Ratio.Contains(1) })
	for i, keep := range []int{5, 2, 5} { // ratio, interval, mark
		ratio[i].Keep = keep
	}
	return append(out, ratio...)
}

// costAndInterval returns a cost and its interval, with the digits that the narrowest interval supports.
func costAndInterval(head string, keep int, rows []analysis.Row, get func(analysis.Row) (i stat.Interval, unit string, ok bool)) []doc.Filled {
	base, vs, narrowest := "", []float64(nil), math.Inf(1)
	for _, r := range rows {
		i, u, ok := get(r)
		if !ok {
			continue
		}
		if base = u; i.N > 0 {
			vs = append(vs, i.Center)
		}
		if half := (i.Hi - i.Lo) / 2; i.Bounded() && half > 0 {
			narrowest = min(narrowest, half)
		}
	}
	factor, label, digits := doc.InOneUnit(base, vs)
	digits = min(digits, prose.Supported(narrowest*factor))
	value := doc.Layout(doc.Column{Head: word(head), Unit: label, Base: base, Keep: keep}, rows, func(r analysis.Row) (c doc.Cell) {
		switch i, _, ok := get(r); {
		case ok && i.N == 0:
			c.Text = unresolved
		case ok:
			c = doc.Cell{Text: prose.Fixed(i.Center*factor, digits), Value: doc.Number(i.Center)}
			c.Bounds(i)
		}
		return c
	})
	if vs == nil {
		return nil // the notes say that nothing is resolved
	}
	return []doc.Filled{value, doc.Layout(doc.Column{Head: say("interval"), Base: base, Kind: "interval", Keep: 1}, rows, func(r analysis.Row) doc.Cell {
		i, _, _ := get(r)
		return doc.IntervalCell(i, factor, digits)
	})}
}

// cpuNotes say which rows have a cost that is not printed.
func cpuNotes(r analysis.Row) []string {
	if slices.ContainsFunc(cpuNames, func(q record.Quantity) bool { c, _ := r.CostPer(q); return c.Unresolved }) {
		return []string{unresolvedNote}
	}
	return nil
}

var (
	byIdleMethod  = say("CPU is the time of all CPUs that was neither idle nor stolen, minus the same on the idle machine before the run, divided by the work, over all blocks. The kernel measures idle and stolen time by the clock.")
	byModesMethod = say("CPU is the sum of the busy modes of /proc/stat, minus the same on the idle machine before the run, divided by the work, over all blocks. The trials did not store idle time. Where the kernel samples modes at ticks, the sum misses work in short pieces: 3 to 6 % of all time in streams, 11 to 15 % in request-response workloads (docs/adr/0010).")
	cpuInterval   = say("Its interval is that of the jackknife over groups of neighboring blocks, with 95 % confidence.")
	ownMethod     = say("Own CPU is the time of the engine's sending and receiving threads by their own clocks, including the softirqs that ran on top of them but not ksoftirqd and other threads. Other programs do not add to it, so disturbed trials count. Its ratio is paired by block; these intervals hold together like the others.")
)

// cpuMethod explains how the run's CPU times were measured. A run that an older version began has both
// kinds.
func cpuMethod(p *analysis.Run) (notes []string) {
	var byIdle, byModes, own bool
	for _, r := range p.Rows() {
		if c, ok := r.Cost(); ok {
			byIdle, byModes = byIdle || c.ByIdle, byModes || !c.ByIdle
		}
		own = own || r.Own.Value.N > 0
	}
	if byIdle {
		notes = append(notes, prose.Sentences(byIdleMethod, cpuInterval))
	}
	if byModes {
		notes = append(notes, prose.Sentences(byModesMethod, cpuInterval))
	}
	if own {
		notes = append(notes, ownMethod)
	}
	return notes
}
