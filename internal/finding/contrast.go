package finding

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// contrast marks the findings that the baseline has to the same degree under the same probe and levels: they explain
// no difference from it.
func contrast(run *analysis.Run, all []Finding) {
	for i := range all {
		f := &all[i]
		if len(f.Cells) != 1 || run.Baseline == "" || f.Cells[0].Network == run.Baseline {
			continue
		}
		f.Shared = f.Shared || slices.ContainsFunc(all, func(g Finding) bool { return atBaseline(run, *f, g) && g.Rule == f.Rule && alike(*f, g) })
	}
}

// atBaseline reports whether g is about the baseline's cell with the probe and levels of f's.
func atBaseline(run *analysis.Run, f, g Finding) bool {
	if len(f.Cells) != 1 || len(g.Cells) != 1 {
		return false
	}
	there := f.Cells[0]
	there.Network = run.Baseline
	return g.Cells[0].String() == there.String()
}

// alike reports whether the numbers of two findings do not differ; of findings without numbers, whether they are about
// the same.
func alike(f, g Finding) bool {
	if f.Number == nil || g.Number == nil {
		return cmp.Or(f.Role, f.Subject) == cmp.Or(g.Role, g.Subject) && f.Place == g.Place
	}
	return !more(f.Number.Value, g.Number.Value)
}

// more reports whether an interval lies above another one.
func more(a, b stat.Interval) bool {
	if !a.Bounded() || !b.Bounded() {
		return a.Center > b.Center
	}
	return a.Lo > b.Hi
}
