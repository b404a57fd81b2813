package analysis

import (
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// compareUnpaired compares rows with their baselines where no block pairs them: every result is a sample
// of its own, such as an imported file. All ratios hold together.
func (r *Run) compareUnpaired() {
	for t, row := range rowsOf(r.Tables) {
		if row.base != nil && row.series.Len() > 0 && row.base.Values(t.Metric).Len() > 0 {
			r.Comparisons++
		}
	}
	r.Each = stat.Adjust(r.Confidence, max(1, r.Comparisons))
	for i := range r.Tables {
		t := &r.Tables[i]
		var groups [][]float64
		for j := range t.Rows {
			row := &t.Rows[j]
			row.Value = stat.LogMean(row.series.v, single)
			if dropped := row.series.Len() - row.Value.N; dropped > 0 {
				row.Notes = append(row.Notes, Noted{record.NoteNoMean.With(), dropped})
			}
			row.Value.Warnings = nil
			// In the unit of the value, as for other rows.
			row.Value.SE *= row.Value.Center
			groups = append(groups, row.series.v)
		}
		common := stat.ScatterOf(groups...)
		for j := range t.Rows {
			row := &t.Rows[j]
			base, ok := t.baseline()
			if !ok || row.base == nil {
				continue
			}
			row.Base = base.Value
			row.Ratio = stat.Unpaired(row.base.Values(t.Metric).v, row.series.v, common, r.Each)
			row.Same = row.Ratio.Contains(1)
			row.Detectable = row.Ratio.Detectable()
		}
	}
}

// unpaired returns the change between two runs of results that are samples of their own: their standard
// errors already hold what differs between results, if they were taken at different times.
func (s sides) unpaired(of func(CellRun) stat.Interval, confidence float64) Change {
	a, b := of(s.a[0]), of(s.b[0])
	one := func(i stat.Interval) stat.Pooled { return stat.Pooled{Interval: i, K: 1} }
	x := Change{Cell: s.Cell, Metric: s.Metric, Unit: s.Unit, A: one(a), B: one(b), Ratio: stat.Pooled{Interval: stat.Quotient(a, b, confidence), K: 2}}
	return x
}
