package finding

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
)

var sameCPU = Rule{
	ID:    "same-cpu",
	Title: "Both ends share one CPU",
	Doc: "The programs at both ends could use only one CPU, the same one of one host, so they waited for each other. An absolute rule: it reads the affinity masks. " +
		"It must hold in more than half of the blocks, of at least three.",
	Check: measured(func(_ *analysis.Table, r *analysis.Row) []Finding {
		cpu, place := 0, ""
		share, ok := analysis.Mostly(r.Evidence(), func(o analysis.Observed) bool {
			a, b := o.Evidence.Sender, o.Evidence.Receiver
			if a.Host != b.Host || len(a.CPUs) != 1 || !slices.Equal(a.CPUs, b.CPUs) {
				return false
			}
			cpu, place = a.CPUs[0], a.Node
			return true
		})
		if !ok {
			return nil
		}
		return []Finding{{Severity: Warning, Place: place, Number: &Number{lang.T("trials on one CPU"), "1", share},
			Text:       lang.T("both ends could use CPU %d only: they waited for each other", cpu),
			Remedy:     lang.T("give each end a CPU of its own"),
			Untestable: lang.T("weir may use one CPU and cannot give either end another; the study where weir may use two, such as without taskset, is the test")}}
	}),
}
