package analysis

import (
	"cmp"

	"github.com/weir-bench/weir/internal/stat"
)

// A Spread is how much a cell's ratio differs between the runs of one machine.
type Spread struct {
	Tau  float64 `json:"tau"`          // standard deviation of the log ratio between runs: 0.06 is about 6 %
	Runs int     `json:"runs"`         // behind Tau, at least MinSpread; those with a large error do not count
	DF   float64 `json:"df,omitempty"` // degrees of freedom of Tau, those of weir's expectation among them; 0 means runs - 1
}

// known is the spread as a distribution; without runs there is none.
func (s Spread) known() stat.Spread {
	if s.Runs == 0 {
		return stat.Spread{}
	}
	return stat.Spread{Tau: s.Tau, DF: cmp.Or(s.DF, float64(s.Runs-1))}
}

// MinSpread is the fewest runs from which a Spread is estimated.
const MinSpread = 3

// OtherRuns is what a ratio of a single run says about other runs on this machine.
type OtherRuns struct {
	Spread
	Interval stat.Interval `json:"interval"` // of the long-run ratio; it holds by itself
}

// certain are the degrees of freedom of a spread that is taken for granted.
const certain = 1000

// Likely is what a ratio of a single run says about other runs of an unknown machine, if they differ as much as
// stat.UsualTau. The interval holds by itself.
func (r *Run) Likely(ratio stat.Interval) stat.Interval {
	return stat.PoolKnown([]stat.Interval{ratio}, stat.Spread{Tau: stat.UsualTau, DF: certain}, single).Interval
}

// Learn sets OtherRuns for every row whose spread is known, of tables and of contrasts. Ratio stays as it
// is.
func (r *Run) Learn(spread func(t *Table, row *Row) (Spread, bool), ofContrast func(c Contrast, row ContrastRow) (Spread, bool)) {
	expected := func(ratio stat.Interval, s Spread, known bool) *OtherRuns {
		if !known {
			return nil
		}
		return &OtherRuns{s, stat.PoolKnown([]stat.Interval{ratio}, s.known(), single).Interval}
	}
	for t, row := range r.Rows() {
		if row.Ratio.Center > 0 {
			s, ok := spread(t, row)
			row.OtherRuns = expected(row.Ratio, s, ok)
		}
	}
	for _, c := range r.Contrasts {
		for i := range c.Rows {
			if row := &c.Rows[i]; row.Ratio.Center > 0 {
				s, ok := ofContrast(c.Contrast, *row)
				row.OtherRuns = expected(row.Ratio, s, ok)
			}
		}
	}
}
