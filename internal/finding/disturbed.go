package finding

import (
	"cmp"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
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
				Text: lang.T("something outside the run disturbed %d of %d trials; they count like the others", run.Disturbed, run.Trials())})
		}
		if o := run.Others; run.Disturbed > 0 && o != nil && disturbers(*o) != "" {
			f := Finding{Severity: Warning, Text: lang.T("something outside the run disturbed %d of %d trials; most CPU time went to %s",
				run.Disturbed, run.Trials(), disturbers(*o)), Evidence: []lang.Text{lang.T("programs that ran only between two samples are missing")}}
			if run.Kept {
				f.Text, out = f.Text+lang.T("; disturbed trials count like the others"), nil
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
func disturbers(o analysis.Others) lang.Text {
	if named := most(o, 3); named != "" || len(o.Machines) == 0 {
		return named
	}
	return lang.T("programs that weir cannot see: a container sees only its own")
}

// most names the n programs that used most CPU time, of those that used at least 0.01 core: "firefox
// (pid 4242) 0.61 core, …".
func most(o analysis.Others, n int) lang.Text {
	var parts []lang.Text
	for _, p := range o.Programs[:min(n, len(o.Programs))] {
		if o.Cores(p) < 0.01 {
			break
		}
		if p.Machine != "" {
			parts = append(parts, lang.T("%s (pid %d on %s) %.2f core", p.Name, p.PID, p.Machine, o.Cores(p)))
		} else {
			parts = append(parts, lang.T("%s (pid %d) %.2f core", p.Name, p.PID, o.Cores(p)))
		}
	}
	return lang.Join(parts, lang.T(", "))
}

// Busy returns the finding for a row, chain or gap in which disturbed trials count.
func Busy(d analysis.Disturbance) Finding {
	evidence := lang.T("%d of %d blocks were disturbed", d.Blocks, d.Of)
	if d.Pairs {
		evidence = lang.T("%d of %d pairs of hosts in all blocks were disturbed", d.Blocks, d.Of)
	}
	return Finding{Severity: Warning, Text: lang.T("disturbed: %s, and all trials count", Took(d)),
		Evidence: []lang.Text{evidence},
		Remedy:   lang.T("for narrower intervals, stop other programs on the machine")}
}

// Took describes how others used the machine: "others used 0.8 of 2 cores".
func Took(d analysis.Disturbance) lang.Text {
	amount := func(cores float64) lang.Text {
		if d.CPUs > 0 {
			return lang.T("%.1f of %g cores", cores, d.CPUs)
		}
		return lang.T("%.1f core", cores)
	}
	var parts []lang.Text
	if d.Others >= 0.05 {
		parts = append(parts, lang.T("others used %s", amount(d.Others)))
	}
	if d.Steal >= 0.05 {
		parts = append(parts, lang.T("the hypervisor took %s", amount(d.Steal)))
	}
	if d.Slow > 0 {
		parts = append(parts, lang.T("the CPUs ran slower than usual"))
	}
	took, n := cmp.Or(lang.Join(parts, lang.T(" and ")), lang.T("others used the machine")), len(d.Machines)
	if n == 0 {
		return took
	}
	machines := lang.Text(strings.Join(d.Machines[:min(n, mostNamed)], ", "))
	if n > mostNamed {
		machines = lang.T("%s and %d more", machines, n-mostNamed)
	}
	if d.Pairs { // the amounts are means over the pairs of all machines
		return lang.T("%s on average over all pairs; disturbed: %s", took, machines)
	}
	return lang.T("%s on %s", took, machines)
}

// mostNamed is how many machines a mark names.
const mostNamed = 3
