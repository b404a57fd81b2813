package finding

import (
	"math"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// CPUModes is the ID of the rule about modes that do not add up: only a picture of the modes says so.
const CPUModes = "cpu-modes"

// unaccounted is the tolerated error of the sum of CPU modes, as a share of the time of all CPUs.
const unaccounted = 0.02

var cpuModes = Rule{
	ID:    CPUModes,
	Title: "The modes of CPU time do not add up",
	Doc: "The modes of /proc/stat should add up to the time of all CPUs. A kernel that takes idle time by the clock but samples the other modes at ticks misses " +
		"work in pieces shorter than a tick, such as many packets. The complement of idle does not miss it.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		// A tick more or less moves a short trial by several percent: the interval must exclude 1.
		sum, ok := r.Accounted()
		if !ok || math.Abs(1-sum.Center) <= unaccounted || !sum.Bounded() || sum.Contains(1) {
			return nil
		}
		f := Finding{Severity: Note,
			Text:     lang.T("the modes of CPU time do not add up to the time of all CPUs: trust CPU cost, which is the time that was not idle, but not its split into modes"),
			Evidence: []lang.Text{lang.T("cpu.accounted: mean %.3f [%.3f, %.3f] of %d blocks", sum.Center, sum.Lo, sum.Hi, sum.N)}}
		used, known := r.Get(record.CPUUsed)
		busy, has := r.Get(record.CPUBusy)
		base, _ := r.Get(record.CPUUsedBaseline)
		if known && has {
			f.Evidence = append(f.Evidence, lang.T("cores beyond idle: %.3f not idle, %.3f in busy modes", used.Mean-base.Mean, busy.Mean))
		}
		return []Finding{f}
	}),
}
