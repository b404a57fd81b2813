package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

var distance = Rule{
	ID:    "distance",
	Title: "Hosts are apart",
	Doc: "Packets between hosts were delayed, by netem or, in a kernel without it, by a program that shares the CPUs with both ends. " +
		"How late they left bounds the jitter that the program adds; its limit is not the network's.",
	Check: func(run *analysis.Run) (out []Finding) {
		trials, late := map[string]int{}, 0.0
		for r := range run.Results() {
			trials[record.DelayBy.Of(r.Observed)]++
			if v, ok := r.Get(record.DelayLate); ok {
				late = max(late, v.Value)
			}
		}
		if n := trials["netem"]; n > 0 {
			out = append(out, Finding{Severity: Note, Text: lang.T("netem delayed the packets between hosts in %d of %d trials", n, run.Trials())})
		}
		if n := trials["nfqueue"]; n > 0 {
			out = append(out, Finding{Severity: Note,
				Text: lang.T("a program delayed the packets between hosts in %d of %d trials, because the kernel lacks netem; in the worst trial, 1 %% of them left %s late or more",
					n, run.Trials(), unit.Format(late, "s")),
				Remedy: lang.T("for netem, load its module as root (modprobe sch_netem), or use weir run --in-vm")})
		}
		return out
	},
}
