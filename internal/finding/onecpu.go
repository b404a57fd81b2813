package finding

import (
	"math"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// busyCPU is the fraction of one CPU that softirqs use when they are the limit. Above it, ksoftirqd
// competes with the programs (__do_softirq, kernel/softirq.c).
const busyCPU = 0.9

const (
	// fullCPU is the largest share of a CPU that softirqs can use, allowing for how clocks differ: the kernel counts ticks, which do
	// not fit a short window.
	fullCPU = 1.02
	// threeBlocks is the fewest blocks that show a limit.
	threeBlocks = 3
)

var oneCPU = Rule{
	ID:    "one-cpu",
	Title: "One CPU processes all packets",
	Doc: "The kernel processes the packets of one flow on one CPU. When softirqs fill that CPU, it limits the network however idle the other CPUs are: " +
		"more flows or receive packet steering (RPS) can go faster. At least three blocks must show 90 % or more, with their mean less two standard errors, and a median above 100 % is one of a clock that is too coarse for the window: it shows nothing.",
	Check: rows(func(t *analysis.Table, r *analysis.Row) []Finding {
		s, ok := r.Get(record.CPUSoftirqBusiest)
		if !ok || s.N < threeBlocks || s.Median < busyCPU || s.Median > fullCPU || s.Mean-2*s.SD/math.Sqrt(float64(s.N)) < busyCPU {
			return nil
		}
		return []Finding{{Severity: Note,
			Text:     lang.T("softirqs filled %.0f %% of one CPU: that CPU was the limit", 100*s.Median),
			Evidence: []lang.Text{lang.T("cpu.softirq.busiest: median %.2f of %d blocks", s.Median, s.N)},
			Remedy:   lang.T("spread the load over several flows or CPUs to measure more than one CPU")}}
	}),
}
