package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
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

// contrastLines has a line for each stated comparison, with the range of its ratios under each probe.
func (s several) contrastLines() (out []Line) {
	for _, c := range s.p.Contrasts {
		var probes groups[string, analysis.PooledRow]
		for _, row := range c.Rows {
			if row.Ratio.N > 0 {
				probes.add(row.Probe, row)
			}
		}
		var parts []string
		for _, p := range probes.keys {
			rows := probes.of[p]
			parts = append(parts, comma(s.words.short(p), c.Value)+" "+s.ratioRange(c.Contrast, rows))
		}
		if parts != nil {
			levels := strings.Join(slices.Sorted(maps.Keys(c.To)), ", ")
			out = append(out, Line{Title: cmp.Or(c.Text, levels), Text: strings.Join(parts, "; ") + "."})
		}
	}
	return out
}

// ratioRange sums up the ratios of one contrast and probe: a ratio, or the range of several.
func (s several) ratioRange(c analysis.Contrast, rows []analysis.PooledRow) string {
	lo, hi, same := rows[0], rows[0], 0
	for _, r := range rows {
		if r.Ratio.Center < lo.Ratio.Center {
			lo = r
		}
		if r.Ratio.Center > hi.Ratio.Center {
			hi = r
		}
		if r.Verdict == analysis.NoDifference {
			same++
		}
	}
	one := func(r analysis.PooledRow) string {
		return fixed(r.Ratio.Center, ratioDigits(r.Ratio.Interval)) + "×" + interval(r.Ratio.Interval, false) +
			" (" + comma(r.Network, comma(c.Name(r.Of), levelText(r.Levels))) + ")"
	}
	switch {
	case len(rows) == 1 && same == 1:
		return "no difference shown ~ " + one(lo)
	case len(rows) == 1:
		return one(lo)
	}
	text := one(lo) + " to " + one(hi)
	if same > 0 {
		text += fmt.Sprintf(", no difference shown ~ in %d of %d", same, len(rows))
	}
	return text
}

// divisor heads a column of ratios.
func (s several) divisor() string {
	if len(s.p.Contrasts) > 0 {
		return "ratio"
	}
	return "÷ " + s.p.Baseline
}

// divides says what the ratios are to.
func (s several) divides() string {
	switch {
	case len(s.p.Contrasts) == 0:
		return s.p.Baseline
	case s.p.Baseline == "":
		return "the cell after ÷"
	}
	return s.p.Baseline + ", or by the cell after ÷,"
}
