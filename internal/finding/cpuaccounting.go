package finding

import (
	"math"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

// unaccounted is the tolerated error of the sum of CPU modes, as a share of the time of all CPUs.
const unaccounted = 0.02

var cpuAccounting = Rule{
	ID:    "cpu-accounting",
	Title: "The modes of CPU time do not add up",
	Doc: "The modes of /proc/stat should add up to the time of all CPUs. A kernel that takes idle time by the clock but samples the other modes at ticks misses " +
		"work in pieces shorter than a tick, such as many packets. The complement of idle does not miss it. The time of the engine's own threads is part of the machine's and cannot exceed it.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) (out []Finding) {
		// A tick more or less moves a short trial by several percent: the interval must exclude 1.
		if sum, ok := r.Accounted(); ok && math.Abs(1-sum.Center) > unaccounted && sum.Bounded() && !sum.Contains(1) {
			f := Finding{Severity: Warning,
				Text:     lang.T("the modes of CPU time do not add up to the time of all CPUs: trust CPU cost, which is the time that was not idle, but not its split into modes"),
				Evidence: []lang.Text{lang.T("cpu.accounted: mean %.3f [%.3f, %.3f] of %d blocks", sum.Center, sum.Lo, sum.Hi, sum.N)}}
			used, known := r.Get("cpu.used")
			busy, has := r.Get("cpu.busy")
			base, _ := r.Get("cpu.used.baseline")
			if known && has {
				f.Evidence = append(f.Evidence, lang.T("cores beyond idle: %.3f not idle, %.3f in busy modes", used.Mean-base.Mean, busy.Mean))
			}
			out = append(out, f)
		}
		own, has := r.Get("cpu.own")
		used, known := r.Get("cpu.used")
		steal, _ := r.Get("cpu.steal")
		if most := used.Mean + max(0, steal.Mean); has && known && own.Mean > most*(1+unaccounted) {
			out = append(out, Finding{Severity: Warning,
				Text:     lang.T("the engine's threads report %.2f cores, all programs together %.2f: trust neither CPU cost", own.Mean, most),
				Evidence: []lang.Text{lang.T("cpu.own: mean %.3f of %d blocks; cpu.used: mean %.3f", own.Mean, own.N, used.Mean)}})
		}
		return out
	}),
}
