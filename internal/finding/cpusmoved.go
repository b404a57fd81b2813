package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/unit"
)

var cpusMoved = Rule{
	ID:    "cpus-moved",
	Title: "The CPUs moved apart",
	Doc: "Each trial measures before and after its traffic how long a cache line takes from one CPU of the machine to another and back. Two such distances in one run mean that a hypervisor moved the CPUs, " +
		"from one cache to two for example: both ends work as before, but what passes from one to the other takes longer. The gap between the distances is the widest one between sorted readings, at least a factor of 1.5, " +
		"with a twentieth of the readings on either side. Ratios compare trials of a block that began at the same distance, unless fewer than two thirds of their blocks remain, or too few for an interval.",
	Check: func(run *analysis.Run) []Finding {
		c := run.Cores
		if c == nil {
			return nil
		}
		return []Finding{{Severity: Note,
			Text: lang.T("the CPUs were near each other in %d trials (a cache line took %s from one to the other and back), far apart in %d (%s), and moved during %d; ratios compare trials that began at the same distance, unless fewer than two thirds of their blocks remain",
				c.NearTrials, unit.Format(c.Near, "s"), c.FarTrials, unit.Format(c.Far, "s"), c.MovedTrials),
			Remedy: lang.T("absolute values mix both distances: give the virtual machine CPUs that share a cache (virsh vcpupin)")}}
	},
}
