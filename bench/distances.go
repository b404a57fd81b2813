package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// writeDistances prints the medians of all runs' trials by how far apart the CPUs were, with the number of trials.
func writeDistances(w io.Writer, s study.Study, runs []run) {
	type cell struct {
		probe, network string
		far            bool
	}
	trials := map[cell][]timed{}
	for _, r := range runs {
		for t := range r.Results() {
			if far, ok := r.Cores.WereFar(t); ok && t.Status == record.OK {
				at := cell{t.Config[analysis.Probe], t.Config[analysis.Network], far}
				trials[at] = append(trials[at], timed{t, r.name})
			}
		}
	}
	if len(trials) == 0 {
		return
	}
	fmt.Fprint(w, "\n## How far apart the CPUs are\n\n"+
		"A hypervisor moves the CPUs of a virtual machine: see [ADR 60](adr/0060-cpus-that-move.md). Ratios compare trials at the same distance.\n"+
		"Here are medians of all trials at either, with their number.\n\n| | tool |")
	for _, n := range s.Networks {
		fmt.Fprintf(w, " %s, near | %s, far | far ÷ near |", n.Name, n.Name)
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|---|---|", len(s.Networks)))
	for _, c := range contests {
		for _, p := range c.contenders {
			row, some := "", false
			for _, n := range s.Networks {
				var middle [2]float64
				for i, far := range []bool{false, true} {
					v := c.among(trials[cell{p.probe, n.Name, far}])
					text := "-"
					if len(v) > 0 {
						middle[i] = stat.Median(v, confidence).Center
						text, some = fmt.Sprintf("%s (%d)", unit.Format(middle[i], c.unit), len(v)), true
					}
					row += fmt.Sprintf(" %s |", text)
				}
				if middle[0] > 0 && middle[1] > 0 {
					row += fmt.Sprintf(" %.2f |", middle[1]/middle[0])
				} else {
					row += " - |"
				}
			}
			if some {
				fmt.Fprintf(w, "| %s | %s |%s\n", c.name, p.name, row)
			}
		}
	}
}

// A timed trial knows in which run it was.
type timed struct {
	*record.Result
	run string
}

// among returns the values of those trials that count in the contest and have it.
func (c contest) among(trials []timed) (values []float64) {
	for _, t := range trials {
		if v, ok := t.Get(cmp.Or(c.value, t.Values[0].Name)); ok && t.run >= c.since {
			values = append(values, v.Value)
		}
	}
	return values
}
