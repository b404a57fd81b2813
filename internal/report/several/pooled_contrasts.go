package several

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/section"
)

// contrastCells returns the ratios of the stated comparisons as cells, which name what they compare.
func (s several) contrastCells() (out []analysis.PooledCell) {
	for _, c := range s.p.Contrasts {
		for _, row := range c.Rows {
			row.Compared = c.Name(row.Of)
			out = append(out, row.PooledCell)
		}
	}
	return out
}

// contrastLines answers each stated comparison.
func (s several) contrastLines() (out []string) {
	var stated []analysis.Contrasted
	for _, c := range s.p.Contrasts {
		x := analysis.Contrasted{Contrast: c.Contrast}
		for _, row := range c.Rows {
			x.Rows = append(x.Rows, analysis.ContrastRow{Cell: row.Cell, Of: row.Of, Metric: row.Metric, Unit: row.Unit,
				Ratio: row.Ratio.Interval, Same: row.Verdict == analysis.NoDifference})
		}
		stated = append(stated, x)
	}
	for _, text := range section.Stated(s.words, stated, len(s.p.Networks) > 1) {
		out = append(out, say("%s (%s).", text, s.over(s.p.Runs)))
	}
	return out
}

// divisor heads a column of ratios.
func (s several) divisor() string {
	if len(s.p.Contrasts) > 0 {
		return say("ratio")
	}
	return "÷ " + s.p.Baseline
}

// divides says what the ratios are to.
func (s several) divides() string {
	switch {
	case len(s.p.Contrasts) == 0:
		return s.p.Baseline
	case s.p.Baseline == "":
		return say("the cell after ÷")
	}
	return say("%s, or by the cell after ÷,", s.p.Baseline)
}
