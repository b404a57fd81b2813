package experiment

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// Reading returns how the results of a study are read: its comparisons, and the order of networks and
// probes.
func Reading(s study.Study) analysis.Options {
	o := analysis.Options{Baseline: s.Baseline, KeepDisturbed: s.KeepDisturbed, Networks: study.Names(s.Networks), Probes: study.Names(s.Probes)}
	if len(s.Compare) > 0 {
		o.Baseline = ""
	}
	for _, c := range s.Compare {
		x := analysis.Contrast{Of: c.Of, To: c.To, In: c.In, Per: c.Per, Value: record.Quantity(c.Value), Text: c.Text}
		if o.Baseline == "" {
			o.Baseline = x.Baseline()
		}
		o.Contrasts = append(o.Contrasts, x)
	}
	return o
}
