package finding

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
)

var disturbed = Rule{
	ID:    "disturbed",
	Title: "Something outside the run used the machine",
	Doc: "A trial is disturbed when, together with its neighbors in time, programs outside the run used more than 15 % of the CPUs (0.3 to 1 core), the hypervisor took more than 5 % (0.1 to 0.3 of a core), " +
		"or the CPUs were clocked lower than usual. Disturbed trials do not count if at least two thirds of a comparison's blocks remain and suffice for an interval. Otherwise all count: " +
		"networks are measured in random order within each block, so the disturbance strikes them alike. Its noise widens the interval, and so does an allowance for the effect of a constant load on the ratio itself.",
	Check: func(run *analysis.Run) []Finding {
		var out []Finding
		if run.Kept && run.Disturbed > 0 {
			out = append(out, Finding{Severity: Warning,
				Text: fmt.Sprintf("something outside the run disturbed %d of %d trials; they count like the others", run.Disturbed, run.Trials())})
		}
		if o := run.Others; run.Disturbed > 0 && o != nil && disturbers(*o) != "" {
			f := Finding{Severity: Warning, Text: fmt.Sprintf("something outside the run disturbed %d of %d trials; most CPU time went to %s",
				run.Disturbed, run.Trials(), disturbers(*o)), Evidence: []string{"programs that ran only between two samples are missing"}}
			if run.Kept {
				f.Text, out = f.Text+"; disturbed trials count like the others", nil
			}
			out = append(out, f)
		}
		add := func(d *analysis.Disturbance, c analysis.Cell) {
			if d != nil {
				f := Busy(*d)
				f.Cells = []analysis.Cell{c}
				out = append(out, f)
			}
		}
		for t, r := range run.Rows() {
			add(r.Busy, t.Cell(*r))
		}
		for _, c := range run.Chains {
			for _, s := range c.Spans {
				add(s.Busy, analysis.Cell{Probe: c.Probe, Network: c.Network, Levels: c.Levels})
			}
		}
		return out
	},
}

// disturbers names the programs that used most CPU time, or says that machines hide theirs.
func disturbers(o analysis.Others) string {
	if named := most(o, 3); named != "" || len(o.Machines) == 0 {
		return named
	}
	return "programs that weir cannot see: a container sees only its own"
}

// most names the n programs that used most CPU time, of those that used at least 0.01 core: "firefox
// (pid 4242) 0.61 core, …".
func most(o analysis.Others, n int) string {
	var parts []string
	for _, p := range o.Programs[:min(n, len(o.Programs))] {
		if o.Cores(p) < 0.01 {
			break
		}
		on := ""
		if p.Machine != "" {
			on = " on " + p.Machine
		}
		parts = append(parts, fmt.Sprintf("%s (pid %d%s) %.2f core", p.Name, p.PID, on, o.Cores(p)))
	}
	return strings.Join(parts, ", ")
}

// Busy returns the finding for a row, chain or gap in which disturbed trials count.
func Busy(d analysis.Disturbance) Finding {
	noun := "blocks"
	if d.Pairs {
		noun = "pairs of hosts in all blocks"
	}
	return Finding{Severity: Warning, Text: "disturbed: " + Took(d) + ", and all trials count",
		Evidence: []string{fmt.Sprintf("%d of %d %s were disturbed", d.Blocks, d.Of, noun)},
		Remedy:   "for narrower intervals, stop other programs on the machine"}
}

// Took describes how others used the machine: "others used 0.8 of 2 cores".
func Took(d analysis.Disturbance) string {
	of, on := " core", ""
	if d.CPUs > 0 {
		of = fmt.Sprintf(" of %g cores", d.CPUs)
	}
	if n := len(d.Machines); n > 0 {
		on = " on "
		if d.Pairs { // the amounts are means over the pairs of all machines
			on = " on average over all pairs; disturbed: "
		}
		on += strings.Join(d.Machines[:min(n, mostNamed)], ", ")
		if n > mostNamed {
			on += fmt.Sprintf(" and %d more", n-mostNamed)
		}
	}
	var parts []string
	if d.Others >= 0.05 {
		parts = append(parts, fmt.Sprintf("others used %.1f%s", d.Others, of))
	}
	if d.Steal >= 0.05 {
		parts = append(parts, fmt.Sprintf("the hypervisor took %.1f%s", d.Steal, of))
	}
	if d.Slow > 0 {
		parts = append(parts, "the CPUs ran slower than usual")
	}
	return cmp.Or(strings.Join(parts, " and "), "others used the machine") + on
}

// mostNamed is how many machines a mark names.
const mostNamed = 3
