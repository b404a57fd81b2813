package finding

import (
	"fmt"

	"github.com/weir-bench/weir/internal/analysis"
)

var disturbed = Rule{
	ID:    "disturbed",
	Title: "Something outside the run used the machine",
	Doc: "A trial is disturbed when, together with its neighbors in time, programs outside the run used more than 0.3 of a core, the hypervisor took more than 0.1, " +
		"or the CPUs were clocked lower than usual. A comparison gets no verdict when more than a third of its blocks are disturbed: the rest does not represent the time measured.",
	Check: func(run *analysis.Run) []Finding {
		var out []Finding
		if run.Kept && run.Disturbed > 0 {
			out = append(out, Finding{Severity: Warning,
				Text: fmt.Sprintf("something outside the run disturbed %d of %d trials; they count like the others", run.Disturbed, run.Trials())})
		}
		add := func(refused string, c analysis.Cell) {
			if refused != "" {
				f := NoVerdict(refused)
				f.Cells = []analysis.Cell{c}
				out = append(out, f)
			}
		}
		for t, r := range run.Rows() {
			add(r.Refused, t.Cell(*r))
		}
		for _, c := range run.Chains {
			for _, s := range c.Spans {
				add(s.Refused, analysis.Cell{Probe: c.Probe, Network: c.Network, Levels: c.Levels})
			}
		}
		return out
	},
}

// NoVerdict returns the finding for a row, chain or gap with too much disturbance.
func NoVerdict(refused string) Finding {
	return Finding{Severity: Serious, Text: refused, Remedy: "stop other programs on the machine, or count these trials with --keep-disturbed"}
}
