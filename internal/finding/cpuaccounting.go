package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

var cpuAccounting = Rule{
	ID:    "cpu-accounting",
	Title: "The engine's threads report more CPU time than the machine",
	Doc:   "The time of the engine's own threads is part of the machine's and cannot exceed it.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		own, has := r.Get(record.CPUOwn)
		used, known := r.Get(record.CPUUsed)
		steal, _ := r.Get(record.CPUSteal)
		most := used.Mean + max(0, steal.Mean)
		if !has || !known || own.Mean <= most*(1+unaccounted) {
			return nil
		}
		return []Finding{{Severity: Warning,
			Text:     lang.T("the engine's threads report %.2f cores, all programs together %.2f: trust neither CPU cost", own.Mean, most),
			Evidence: []lang.Text{lang.T("cpu.own: mean %.3f of %d blocks; cpu.used: mean %.3f", own.Mean, own.N, used.Mean)}}}
	}),
}
